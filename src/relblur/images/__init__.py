"""Image files to arrays and back; no estimation.

Reading:

``reading``        files as bytes, within a budget; decoders in a child process
``images``         image files to arrays: the table of formats
``decoders``       each format but TIFF to pixels
``tiff``           TIFF to pixels
``planes``         several pictures in one file
``zarr_arrays``    Zarr arrays, in parts; images of OME-Zarr
``stored``         the numbers of an image file and their metadata
``exif``           tags that a picture made from a photograph keeps; aperture and focus
``compression``    effects of JPEG on the pixels, from its table or from traces
``archives``       NPZ files of relblur

Writing:

``disk``           arrays into files, each complete or absent: NPZ, TIFF, PNG, JPEG, NPY
``results``        folders of results, their manifests, and the rules of replacement
``scaled``         OME-TIFF and OME-Zarr
``map_formats``    blur maps: NPZ, OpenEXR, TIFF, NPY, PNG
``depth_formats``  depth for other programs: PNG in mm, PFM, EXR, PLY
``labelled``       maps as datasets of xarray
"""
