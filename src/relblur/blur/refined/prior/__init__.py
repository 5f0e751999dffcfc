"""What neighbours say.

``prior``        piecewise affine with jumps
``slope``        the slopes, found together with the map
``coordinate``   the quantity in which the map is affine
``strength``     how stiff the data allow the prior to be
``stationary``   where the data are silent the map does as it does elsewhere
"""
