"""The paper, figure by figure: its content, and the results of relblur beside it.

``run``        all figures and tables, or some, in one folder (``relblur reproduce``)
``claims``     the paper's numbers, and the page on which ours stand beside them
``ramps``      Fig. 1: known blur
``theory``     Figs. 2 to 4: the lens, the framework, the re-made image
``pairs``      Figs. 5 to 7, Table I: photographed pairs
``data_sets``  the layouts of the two data sets on a disk
"""
