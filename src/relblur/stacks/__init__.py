"""Focal stacks: which of many frames is in focus where, how far that is, and one picture sharp everywhere.

``frames``      read one at a time, laid on each other, of one exposure
``order``       in which order they were focused
``law``         how fast their blur grows
``joint``       a few frames: the likelihood of all of them together
``symmetric``   many frames: the place about which they are symmetric
``found``       what either gives back
``fuse``        one picture from all
``stack_map``   the result
``estimate``    ``estimate_stack``: all of it
"""
