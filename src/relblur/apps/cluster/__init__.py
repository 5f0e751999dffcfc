"""More than fits one memory, or one machine: pictures read in rectangles, and data sets, on Dask.

``large``    ``relblur estimate A.zarr B.zarr -o OUT.zarr``: the tasks of ``blur.chunked``, written chunk by chunk
``slides``   two Zarr or TIFF, made comparable without holding either
``batch``    ``relblur batch``: all pairs or stacks of a data set
``pairs``    which pairs a data set holds
``stacks``   which focal stacks a data set holds
``summary``  their scores as tables and on a page
``runners``  who runs the tasks: this process, processes beside it, a cluster
"""
