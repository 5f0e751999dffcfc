"""Gaussians and sampling on the pixel grid.

``borders``        what lies beyond the border: mirrors
``blocks``         means over blocks of pixels
``kernels``        sampled and band-limited Gaussians
``blur_levels``    the levels of relative blur
``bank``           one image at many blurs: M(sigma) of the paper for whole images
``sharpness``      the paper's 3 x 3 standard deviation
``detail``         which of several images has the detail at a pixel
``guided``         a small map at the size of a picture
``decimation``     equation 25
``resampling``     an image at other places
``variable_blur``  a blur that changes from pixel to pixel
"""
