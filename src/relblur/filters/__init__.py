"""Gaussians and sampling on the pixel grid.

``kernels``        sampled and band-limited Gaussians, and the levels of relative blur
``discs``          the filter from one disc to a larger one
``bank``           one image at many blurs: M(sigma) of the paper for whole images
``sharpness``      the paper's 3 x 3 standard deviation, and which of several images has the detail
``guided``         a small map at the size of a picture
``decimation``     fewer pixels: equation 25, and means over blocks
``resampling``     an image at other places
``variable_blur``  a blur that changes from pixel to pixel
"""
