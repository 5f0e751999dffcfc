"""Programs on top of the library.  Each package defines its commands; deleting one removes only those.

``cli``      the command line, and the commands of the library
``terminal`` printing, options and help, shared by all commands
``demo``     ``relblur demo`` and ``bench``: a synthetic pair, and speed on this machine
``paper``    ``relblur reproduce``: the experiments of the paper
``cluster``  ``relblur batch``, and pairs larger than memory
``video``    ``relblur video``: clips and cameras
``view``     ``relblur view``: a viewer in the browser, served on this machine
"""
