"""``estimate_blur``: two images in, a map of relative blur out.

``estimate``      the public function: checks
``methods``       the table of methods: what runs each, defaults, engines
``request``       what is asked of a method, and what it answers
``chunked``       the same as Dask tasks, for Dask arrays and files; maps read from a Zarr
``paper``         the paper's estimator, and its framework to the letter
``window``        the local, continuous one, and ``Stream``
``dense``         the dense one, ``method="refined"``
``blur_map``      what comes out: BlurMap, Flag, PairScore
``doubts``        does a pair differ by something else than defocus? in words
``pixel_curve``   what one pixel says: M(sigma), its roots, the cost of its window
``evaluate``      how well a map re-makes the blurrier image
``stored_values`` arrays that hold no light yet
``noise``         noise models and how noise is found
``flags``         which pixels a bad one reaches
``tiles``         a method on images of any size, tile by tile
``whole_image``   figures of a whole image in memory that its tiles share
``global_statistics``  the same, of a pair that is read in parts
"""
