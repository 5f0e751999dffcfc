"""Pictures and result folders.

``colours``       numbers to colours
``captions``      what stands above a picture
``score_table``   Table I in words and in files
``panels``        several maps in one picture
``plots``         lines and views in space
``blur_report``   what ``relblur estimate`` leaves
``depth_report``  what ``relblur depth`` leaves
``range_report``  what ``relblur range`` leaves
``key_figures``   what matters most of a map, in words
``html``          pieces of HTML: pictures as data, colour bars, tables
``notebook``      what a notebook shows of a result
``page``          one page that needs no other file (``page.css``, ``page.js``)
``result_pages``  what a page says of blur, depth, range, scores
``result_folder`` folders of results, read back for a page
``read_out``      the numbers behind a picture, packed into a page
``provenance``    where a result comes from
``batch``         many pairs, a folder each, and a table of all
``contact_sheet`` many pairs on one sheet
"""
