"""Pictures and result folders.

``colours``       numbers to colours
``panels``        several maps in one picture
``plots``         lines and views in space
``blur_report``   what ``relblur estimate`` leaves
``depth_report``  what ``relblur depth`` leaves
``batch``         many pairs, a folder each
"""
