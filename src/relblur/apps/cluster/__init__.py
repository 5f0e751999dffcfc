"""Programs on Dask: pictures larger than memory, which are read in rectangles, and data sets of many pairs or stacks.

``large``    ``relblur estimate A.zarr B.zarr -o OUT.zarr``: the tasks of ``blur.chunked``, written chunk by chunk
``slides``   preparation of two Zarr or TIFF pictures, rectangle by rectangle
``batch``    ``relblur tools batch``: all pairs or stacks of a data set
``pairs``    pairs of a data set
``stacks``   focal stacks of a data set
``summary``  scores as tables and on a page
``runners``  places where tasks run: this process, other processes on this machine, a cluster
"""
