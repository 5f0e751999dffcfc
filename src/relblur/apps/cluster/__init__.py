"""More than fits one memory, or one machine: pictures read in rectangles, and data sets, on Dask.

``runners``   who runs the tasks: this process, processes beside it, a cluster
``stores``    Zarr and TIFF read in rectangles
``slides``    two of them made comparable without holding either
``map_store`` the map of two as a Zarr that viewers open, written chunk by chunk
``large``     ``relblur estimate A.zarr B.zarr -o OUT.zarr``: the tasks of ``blur.chunked``, written
``pairs``     which pairs a data set holds
``batch``     ``relblur batch``: all of them measured and scored
``scores``    their scores as tables
``summary``   ... and on a page
"""
