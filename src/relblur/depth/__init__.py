"""``estimate_depth``: two images and their camera in, metres out.

``estimate``       the public function
``relation``       blur and depth: one is affine in the inverse of the other
``depth_map``      what comes out: DepthMap
``camera``         a camera, and ``camera_file`` its files
``psf``            shapes of blur, and ``defocus`` pictures made with them
``equal_blur``     matching with a known shape of blur
``calibration``    what the data sheet does not say, and ``disc_calibration`` the same for a known shape of blur
``order``          signs that the two images are swapped
``working_range``  what a camera can measure
``refocus``        all-in-focus and refocused pictures
"""
