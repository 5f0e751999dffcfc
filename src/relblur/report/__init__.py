"""Pictures, pages and result folders.

``panels``       several maps in one picture, contact sheets, with Pillow
``summary``      summaries as text and numbers, ``summary.json``, tables of scores
``result_files`` the files of ``relblur estimate``, ``depth``, ``range`` and ``stack``
``full_size``    files at the size of the photographs, heights
``steps``        a picture of each stage of an estimate
``batch``        many pairs: one folder for each, one table for all
``html``         elements, tables and the frame of a page (``style.css``)
``embedded``     maps inside a page: small pictures, colour bars, histograms, values of pixels
``page``         the page of a result, or of several (``page.js``, ``points.js``)
``result_pages`` the content of the pages of maps, ranges and scores
``saved``        saved results as pages, and their origin
``notebook``     results in a notebook
``io``           ``imread``, ``save``, ``load``
"""
