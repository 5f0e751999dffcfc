"""Bytes on disk to arrays and back; no science.

Reading:

``budget``         what reading one file may cost
``reading``        files as bytes, looked at before they are read; decoders in a child process
``images``         image files to arrays: the table of formats
``decoders``       each format but TIFF to pixels
``tiff``           TIFF, whole or in parts
``zarr_arrays``    Zarr arrays in parts
``stored``         what a file says about its numbers
``exif``           tags that a picture made from a photograph keeps
``shot``           how a photograph was taken: aperture and focus
``compression``    what JPEG has done to the pixels
``jpeg_traces``    whether pixels show that they were compressed
``archives``       NPZ files of relblur

Writing:

``replacing``      a file appears whole or not at all
``staging``        folders of results, too
``made_from``      the manifest of a folder of results
``targets``        what a command is about to write, looked at before its work
``disk``           arrays into files: NPZ, TIFF, PNG, JPEG, NPY
``map_formats``    blur maps: NPZ, OpenEXR, TIFF, NPY, PNG
``depth_formats``  depth for other programs: PNG in mm, PFM, EXR, PLY
``labelled``       maps as datasets of xarray
"""
