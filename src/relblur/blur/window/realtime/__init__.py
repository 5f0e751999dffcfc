"""The real-time engine: ``method="window"`` in float32, streamed through the processor's cache.

``plan``    what can be decided before the first frame
``lanes``   SIMD vectors as numba values
``frames``  frames in, padded, with their least noise
``filters`` blurs and residuals, row by row
``sums``    window sums
``solve``   best node, quartic minimum
``tiles``   a tile from images to answers; the loop of a thread
``reach``   what clipped and invalid pixels reach
``engine``  buffers, threads, passes
"""
