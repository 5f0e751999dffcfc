"""Dense relative blur: the residuals of a pair, their noise, and the map that :mod:`relblur.field` finds for them.

``run``         a checked pair in, an answer with flags out; large images in tiles
``estimate``    one pair or tile: residuals, noise, kernel, map
``planes``      images on one intensity scale, without unusable pixels
``residuals``   residuals at every candidate blur
``noise``       noise of the images and of their residuals
``coherence``   texture that both images show
``family``      Gaussians or discs
``whole``       scale, colours, noise and kernel, which the tiles of one image share
"""
