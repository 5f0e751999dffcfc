"""Pictures, pages and result folders.

``panels``       several maps in one picture, contact sheets, with Pillow
``summary``      results as text and numbers, ``summary.json``, tables of scores
``result_files`` the files of ``relblur estimate``, ``depth``, ``range`` and ``stack``
``full_size``    files at the size of the photographs, heights
``batch``        many pairs: one folder for each, one table for all
``html``         elements, tables and the frame of a page (``style.css``)
``embedded``     maps inside a page: small pictures, colour bars, histograms, values of pixels
``page``         the page of a map, or of several (``page.js``)
``saved``        saved results as entries of a page, and their origin
``notebook``     maps in a notebook
``io``           ``imread``, ``save``, ``load``
"""
