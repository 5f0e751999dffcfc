"""Foundations of all layers: errors, settings, checks of arguments; no algorithms.

``errors``     the classes of errors
``settings``   choices of options, and numbers that several packages share
``options``    options of functions and commands, with defaults and help texts
``deprecated`` warnings of old names
``_typing``    names of types
``arguments``  checks of values: numbers, words, arrays of other packages
``pixels``     values of pixels: full scale, clipping, values that are not light
``tone``       tone curves: from stored numbers to light and back
``inputs``     checks of images, and their conversion to plain arrays
``shown``      results as figures, text, JSON and CSV
``children``   functions in child processes with limits
"""
