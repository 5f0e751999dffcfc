"""Focal stacks: which of many frames is in focus where, how far that is, and one picture sharp everywhere.

``images``      the given images and their options, checked
``order``       the order of focus
``frames``      the images aligned, with one exposure; ``saved_alignment`` is the file of their motions
``law``         the growth of the blur
``few``         few frames: the joint likelihood of all of them
``many``        many frames: the place about which they are symmetric; ``plate`` is its prior
``refocus``     two frames, focused elsewhere
``choice``      the sharpest frame at every pixel, by its detail
``fuse``        one picture from all
``stack_map``   the result
``topography``  heights: tilt and roughness
``estimate``    ``estimate_stack``: all of it
"""
