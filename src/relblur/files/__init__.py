"""Bytes on disk to arrays and back; no science.

``disk``           arrays into files: NPZ, TIFF, PNG, JPEG, NPY
``budget``         what reading one file may cost
``reading``        files as bytes, looked at before they are read
``replacing``      a file or folder appears whole or not at all
``images``         image files to arrays: which format, and who decodes it
``stored``         what a file says about its numbers
``containers``     where PNG, JPEG and WebP keep their pixels
``boxes``          ... and HEIC, AVIF and JPEG 2000
``boxed_pictures`` these to pixels
``plain_formats``  PGM, PPM, GIF
``compression``    what JPEG has done to the pixels
``jpeg_traces``    whether pixels show that they were compressed
``exif``           tags that a picture made from a photograph keeps
``shot``           how a photograph was taken: aperture and focus
``raw``            camera raw
``map_formats``    blur maps: NPZ, OpenEXR, TIFF, NPY, PNG
``zarr_arrays``    Zarr arrays, chunk by chunk
``labelled``       maps as datasets of xarray
``depth_formats``  depth for other programs: PNG in mm, PFM, EXR, PLY
"""
