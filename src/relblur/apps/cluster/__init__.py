"""Programs on Dask: pairs larger than memory, and data sets of many pairs.

``large``    ``relblur estimate A.zarr B.zarr -o OUT.zarr``: a lazy map, written chunk by chunk
``slides``   preparation of two Zarr pictures, rectangle by rectangle
``batch``    ``relblur tools batch``: all pairs of a data set
``pairs``    pairs of a data set
``summary``  scores as a table and on a page
``runners``  Dask's workers: processes on this machine, or a cluster
"""
