"""``method="window"``: the local, continuous estimate.

``method``    the readable implementation
``answer``    the estimate for a request, with flags, in either engine
``realtime``  the estimate in compiled code
``stream``    ``Stream``, for video
``rig``       correction of a fixed misalignment and gain of two cameras
"""
