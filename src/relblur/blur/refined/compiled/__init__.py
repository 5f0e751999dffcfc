"""The hot loops of the refined estimator, compiled.

``loops``       functions of whole arrays, shared out among threads
``row_loops``   arithmetic on rows, inlined everywhere
``vcycle``      the linear solver
``grid``        its memory, and its threads
``evidence`` ``prior`` ``labels`` ``coordinate``   the loops of the modules of these names
"""
