"""Words that every layer shares; no algorithms.

``errors``      what can go wrong, in one line each
``settings``    the defaults, for the API and the command line alike
``_typing``     names of array types
``arguments``   numbers and words that users pass, checked
``tone``        tone curves: from stored numbers to light and back
``pixels``      what the numbers in an image mean: full scale, clipped, missing
``bad_pixels``  values that are no light
``shown``       results that show themselves
``array_kinds``  arrays of other packages, told apart
``inputs``      images that users pass become plain arrays, checked once
"""
