"""``estimate_blur``: a map of relative blur from two images.

``estimate``           the public function
``estimating``         checks of its options, and the request for a pair
``methods``            the table of methods: functions, defaults, engines
``request``            the input and the output of a method
``chunked``            the estimate as Dask tasks, for Dask arrays and files; maps in a Zarr
``paper``              the paper's estimator, and its framework with every weight
``window``             the local, continuous estimator, and ``Stream``
``dense``              the dense estimator, ``method="refined"``
``result``             flags, and the common part of all maps
``blur_map``           the result, BlurMap
``comparable_pair``    a prepared pair of images
``model_warnings``     signs of differences other than defocus
``pixel_curve``        M(sigma) of one pixel, its roots, the cost of its window
``evaluate``           the blurrier image made from the sharper one, and the score of a map
``input_pair``         the input of the functions of a pair, and its conversion to light
``recompressed``       removal of the effect of JPEG compression
``noise``              noise models and their estimation
``tiles``              a method on images of any size, tile by tile
``whole_image``        statistics of a whole image in memory, shared by its tiles
``global_statistics``  the same statistics from patches, for a pair that is read in parts
"""
