"""Programs on top of the library.  Each brings its commands; without its folder the others work.

``cli``      the command line, and the commands of the library
``demo``     ``relblur demo`` and ``bench``: a pair that the program makes itself, and speed on this machine
``paper``    ``relblur reproduce``: the experiments of the paper
``cluster``  ``relblur batch``, and pairs larger than memory
``video``    ``relblur video``: clips and cameras
``view``     ``relblur view``: a page on this machine
"""
