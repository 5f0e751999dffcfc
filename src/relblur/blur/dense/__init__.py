"""Dense relative blur: the residuals of a pair, their noise, and the map that :mod:`relblur.field` finds for them.

``run``         a checked pair in, an answer with flags out; large images in tiles
``estimate``    one pair or tile: residuals, noise, kernel, map
``planes``      images on one intensity scale, without unusable pixels
``residuals``   residuals at every candidate blur
``noise``       noise of the images and of their residuals
``sensor``      white noise of each image, separated from texture
``coherence``   texture that both images show
``shading``     slow differences of brightness, which blur does not make
``family``      Gaussians or discs
``jumps``       a wide prefilter away from jumps, a narrow one at them
``whole``       quantities that the tiles of one image share
"""
