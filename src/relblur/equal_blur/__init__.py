"""Dense depth by equal-blur matching: see :func:`relblur.matching.estimate_depth`."""
