"""Depth by equal blur.

``task``         what is asked
``candidates``   residuals at each depth
``match``        the best depth
``edges``        outlines
"""
