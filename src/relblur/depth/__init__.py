"""``estimate_depth``: two images and their camera in, metres out.

``estimate``       the public function
``relation``       blur and depth: s is affine in 1/z
``depth_map``      the result, DepthMap
``camera``         the camera and its files
``psf``            shapes of blur, and ``defocus`` pictures made with them
``equal_blur``     matching with a known shape of blur
``calibration``    camera fields fitted to known depths
``order``          signs that the two images are swapped
``working_range``  measurable distances and their resolution
``refocus``        all-in-focus and refocused pictures
"""
