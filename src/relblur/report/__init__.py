"""Pictures, pages and result folders.

``panels``        several maps in one picture, with Pillow
``contact_sheet`` the maps of many pairs on one sheet
``full_size``     pictures at the size of the photographs
``summary``       a result in words and numbers
``score_table``   scores in words and in files
``blur_report``   the files of ``relblur estimate``
``depth_report``  the files of ``relblur depth``
``range_report``  the files of ``relblur range``
``stack_report``  the files of ``relblur stack``
``batch``         many pairs, a folder each, and a table of all
``html``          elements, tables and the frame of a page (``style.css``)
``map_views``     maps inside a page: small pictures, colour bars, histograms
``page``          the page of a result, or of several (``page.js``, ``points.js``)
``read_out``      the numbers of a map, packed into a page
``result_pages``  the pages of blur, depth, range and scores
``result_folder`` folders of results, read back for a page
``provenance``    inputs, command and versions behind a page
``notebook``      results in a notebook
"""
