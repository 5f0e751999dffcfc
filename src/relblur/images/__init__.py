"""Bytes on disk to arrays and back; no science.

Reading:

``reading``        files as bytes, within a budget; decoders in a child process
``images``         image files to arrays: the table of formats
``decoders``       each format but TIFF to pixels
``tiff``           TIFF, whole or in parts
``planes``         several pictures in one file
``zarr_arrays``    Zarr arrays in parts
``stored``         an image file as numbers, and what it states about them
``exif``           tags that a picture made from a photograph keeps; aperture and focus
``compression``    what JPEG has done to the pixels, by its table or by its traces
``archives``       NPZ files of relblur

Writing:

``disk``           arrays into files, each complete or absent: NPZ, TIFF, PNG, JPEG, NPY
``results``        folders of results, their manifests, and what may be replaced
``scaled``         OME-TIFF and OME-Zarr
``map_formats``    blur maps: NPZ, OpenEXR, TIFF, NPY, PNG
``depth_formats``  depth for other programs: PNG in mm, PFM, EXR, PLY
``labelled``       maps as datasets of xarray
"""
