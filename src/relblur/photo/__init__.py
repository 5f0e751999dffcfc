"""Two photographs in, one comparable pair out.

``photograph``    photographs as linear light: one, and two that are checked against each other
``tone_curves``   the choice of the tone curve to undo
``picture_form``  the format of pictures made from photographs
``alignment``     registration of the second image on the first
``warps``         motions as matrices, and the simplest sufficient one
``static_mask``   exclusion of moving objects
``exposure``      one exposure for both
``rough_blur``    rough relative blur, shared by alignment, exposure and resolution
``resolution``    the factor by which the pair is decimated
``pipeline``      all steps in order
"""
