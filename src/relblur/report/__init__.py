"""Pictures and result folders.

``colours``       numbers to colours
``score_table``   Table I in words
``panels``        several maps in one picture
``plots``         lines and views in space
``blur_report``   what ``relblur estimate`` leaves
``depth_report``  what ``relblur depth`` leaves
``range_report``  what ``relblur range`` leaves
``batch``         many pairs, a folder each
"""
