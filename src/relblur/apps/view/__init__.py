"""``relblur view``: a page on this machine to look at a pair and its maps.

``serve``       binds to 127.0.0.1, prints the address, runs until nobody looks any more
``routes``      what the page may ask for
``guard``       who may ask: Host, Origin, the cookie that a one-time address sets, headers of every answer
``uploads``     files that the page sends, bounded while they stream
``session``     the one pair that is looked at, and what has been made of it
``source``      where a pair or a result comes from
``choices``     what the page may set, and the command line that does the same
``workers``     processes that do the arithmetic, and can be stopped
``tasks``       what these processes do
``planes``      maps and pictures as bytes for the page, with their units and colours
``pixel``       the curve of one pixel, its costs, and why it is flagged
``regions``     a box and a line
``live``        a clip while it is measured
``exports``     the files that the command line writes
``static``      the page: ES modules, no build step, nothing from elsewhere

The page is drawn by the browser's WebGL; charts are SVG. Nothing is vendored.
"""
