"""What every layer shares; no algorithms.

``errors``     what can go wrong, in one line each
``settings``   the defaults, for Python and the command line alike
``_typing``    names of types
``arguments``  values that users pass: numbers, words, arrays of other packages
``pixels``     values of pixels: full scale, clipped, no light
``tone``       tone curves: from stored numbers to light and back
``inputs``     images that users pass become plain arrays, checked once
``shown``      results as figures, text, JSON and CSV
``children``   functions in child processes with limits
"""
