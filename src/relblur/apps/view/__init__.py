"""``relblur view``: a viewer in the browser for a pair or a stack and its maps.

``serve``       the server on 127.0.0.1: prints its address, ends when no page is open
``guard``       access control: Host, Origin, the cookie of a one-time address, headers of every response
``routes``      requests of the page
``session``     the images shown: reading, measurement, results
``content``     the state of the page, as a record and as JSON
``files``       images and results: from the command line, uploaded, the example
``choices``     settings, their checks, and the equivalent commands
``workers``     worker processes
``tasks``       the functions that these processes run
``planes``      maps and pictures as bytes, with units and colours
``inspection``  numbers of a pixel, a box, a line
``retouch``     strokes of a brush on the fused picture
``exports``     the files that the command line writes
``static``      the page: ES modules, no build step, no external resources

WebGL draws the maps; charts are SVG.
"""
