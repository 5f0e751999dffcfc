"""Estimate depth by equal blur, for a known shape of blur.

``task``         options and noise
``candidates``   residuals at each depth
``match``        estimate of the inverse depth
``edges``        depth edges moved to the outlines in the picture
"""
