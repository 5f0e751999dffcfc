"""What the images say.

``stack``        residuals of the pair at every candidate blur
``likelihood``   information and score, pixel by pixel
``noise``        the noise of the pair as the residuals see it
``sensor``       the noise of each image by itself
``family``       which kind of Gaussian blurred the pair
"""
