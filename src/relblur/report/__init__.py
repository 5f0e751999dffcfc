"""Pictures and result folders.

``colours``       numbers to colours
``captions``      what stands above a picture
``score_table``   Table I in words and in files
``panels``        several maps in one picture
``plots``         lines and views in space
``blur_report``   what ``relblur estimate`` leaves
``depth_report``  what ``relblur depth`` leaves
``range_report``  what ``relblur range`` leaves
``batch``         many pairs, a folder each, and a table of all
``contact_sheet`` many pairs on one sheet
"""
