"""``relblur view``: a page on this machine to look at a pair or a stack and its maps.

``serve``       the server on 127.0.0.1: prints the address, runs until no page is open any more
``guard``       access control: Host, Origin, the cookie of a one-time address, headers of every response
``routes``      requests of the page
``session``     reads and measures what is looked at
``content``     what a page shows, and all of it as JSON
``files``       images and results: named, uploaded, the example
``choices``     settings, their checks, and the command line with the same effect
``workers``     processes that do the arithmetic and can be stopped
``tasks``       the work of these processes
``planes``      maps and pictures as bytes, with units and colours
``inspection``  numbers of a pixel, a box, a line
``retouch``     strokes of a brush on the fused picture
``exports``     files of the command line
``static``      the page: ES modules, no build step, nothing from elsewhere

The browser's WebGL draws the page; charts are SVG.
"""
