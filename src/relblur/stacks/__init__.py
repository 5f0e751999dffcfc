"""Focal stacks: the frame in focus at every pixel, its distance, and an all-in-focus image.

``images``      the input images and their options
``order``       the order of focus
``frames``      the images aligned, with one exposure; ``saved_alignment`` is the file of their motions
``law``         the growth of the blur
``few``         few frames: their joint likelihood
``many``        many frames: the place about which they are symmetric, with the prior ``plate``
``refocus``     two frames at another focus
``choice``      the sharpest frame at every pixel, by its detail
``fuse``        the all-in-focus image
``stack_map``   the result
``topography``  heights: tilt and roughness
``estimate``    ``estimate_stack``
"""
