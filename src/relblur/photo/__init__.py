"""Two photographs in, one comparable pair out.

``photograph``    photographs as linear light: single ones, and pairs with their checks
``tone_curves``   the choice of the tone curve to undo
``picture_form``  the format of pictures made from photographs
``alignment``     registration of the second image on the first
``warps``         motions as matrices, and the simplest sufficient one
``static_mask``   exclusion of moving objects
``exposure``      one exposure for both
``rough_blur``    rough relative blur for alignment, exposure and resolution
``resolution``    the factor by which the pair is decimated
``pipeline``      ``prepare_pair``: all steps in order
"""
