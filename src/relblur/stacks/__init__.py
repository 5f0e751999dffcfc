"""Focal stacks: which of many frames is in focus where, how far that is, and one picture sharp everywhere.

``task``        what a user asks, checked
``frames``      read one at a time, laid on each other, of one exposure
``order``       in which order they were focused
``aligned``     an alignment as a file, and another channel laid by it
``law``         how fast their blur grows
``few``         a few frames: the likelihood of all of them together
``symmetric``   many frames: the place about which they are symmetric
``found``       what either gives back
``two``         two images: the estimators of pairs
``fuse``        one picture from all
``stack_map``   the result
``doubts``      what makes one doubt it
``topography``  heights: tilt, roughness, profiles
``estimate``    ``estimate_stack``: all of it
"""
