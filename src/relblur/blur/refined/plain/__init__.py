"""The loops of the refined estimator in NumPy and OpenCV: written to be read, they define the answer.

``loops``        all of them together
``evidence``     the residual stack, read at a map and weighed
``coordinate``   from the map to ``s``, and steps of the map
``labels``       costs of all levels, and paths through them
``prior``        edges, windows and blocks of the pixel grid
``slopes``       the slopes, on cells
``solver``       multigrid-preconditioned conjugate gradients
``reading``      between levels: of the stack, and of tables
``bands``        a few rows at a time
"""
