"""``estimate_blur``: two images in, a map of relative blur out.

``estimate``           the public function: checks
``methods``            the table of methods: functions, defaults, engines
``request``            the input and the output of a method
``chunked``            the same as Dask tasks, for Dask arrays and files; maps read from a Zarr
``paper``              the paper's estimator, and its framework to the letter
``window``             the local, continuous one, and ``Stream``
``dense``              the dense one, ``method="refined"``
``result``             flags, and the common part of all maps
``blur_map``           the result, BlurMap
``comparable_pair``    a pair that is ready for the estimate
``model_warnings``     signs of differences other than defocus
``pixel_curve``        M(sigma) of one pixel, its roots, the cost of its window
``evaluate``           re-making the blurrier image, and the score of a map
``stored_values``      arrays that are not linear light
``recompressed``       JPEG compression, done again
``noise``              noise models and their estimation
``tiles``              a method on images of any size, tile by tile
``whole_image``        statistics of a whole image in memory that its tiles share
``global_statistics``  the same, of a pair that is read in parts
"""
