"""``method="window"``: the local, continuous estimate.

``method``    written to be read
``answer``    runs it for a request
``realtime``  the same in compiled code
``stream``    frame after frame
``rig``       what is the same in every frame, undone
"""
