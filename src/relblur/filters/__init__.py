"""Filters on the pixel grid: Gaussians, discs, sampling, sharpness.

``kernels``        sampled and band-limited Gaussians, and the levels of relative blur
``discs``          the filter from one disc to a larger one
``bank``           an image blurred with many Gaussians: M(sigma) of the paper for whole images
``sharpness``      the paper's 3 x 3 standard deviation, and the energy of detail
``guided``         enlargement of a small map along the edges of a picture
``decimation``     reduction of the resolution: equation 25, and means over blocks
``resampling``     interpolation of an image at other positions
``variable_blur``  a blur that changes from pixel to pixel
"""
