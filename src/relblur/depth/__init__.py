"""Estimate distances from two images and their camera: ``estimate_depth``.

``estimate``       the public function
``relation``       relation of relative blur and distance
``depth_map``      the result, DepthMap
``camera``         the camera and its files
``psf``            transfer functions of lens blur
``defocus``        synthetic defocused pairs
``equal_blur``     matching with a known shape of blur
``calibration``    camera fields fitted to known depths
``order``          warnings that the two images are swapped
``working_range``  measurable distances and their resolution
``refocus``        all-in-focus and refocused pictures
"""
