"""Dense relative blur: the residuals of a pair and their noise, from which :mod:`relblur.field` computes the map.

``run``         the answer with flags for a checked pair; large images in tiles
``estimate``    one pair or tile: residuals, noise, kernel, map
``planes``      images on one intensity scale, without unusable pixels
``residuals``   residuals at every candidate blur
``noise``       noise of the images and of their residuals
``coherence``   texture that both images show
``family``      Gaussians or discs
``whole``       scale, colours, noise and kernel, shared by the tiles of an image
"""
