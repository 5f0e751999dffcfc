"""Make a comparable pair of two photographs.

``photograph``    photographs as linear light: single ones, and pairs with their checks
``tone_curves``   the choice of the tone curve to undo
``picture_form``  the format of pictures made from photographs
``alignment``     registration of the second image on the first
``warps``         motions as matrices, and the simplest sufficient one
``equal_bands``   the pair at equal blur and exposure, and the chessboard on which motions are tested
``bending``       residual motion, affine or bent
``exposure``      correction of the second image to the exposure of the first
``rough_blur``    rough relative blur for alignment, exposure and resolution
``resolution``    the factor by which the pair is decimated
``pipeline``      ``prepare_pair``: all steps in order
"""
