"""Reproduce the paper figure by figure, with the results of relblur beside its numbers.

``run``        all figures and tables, or some, in one folder (``relblur paper reproduce``)
``claims``     the paper's numbers, and the page that compares them with ours
``ramps``      Fig. 1: known blur
``theory``     Figs. 2 to 4: the lens, the framework, the evaluation
``pairs``      Figs. 5 to 7, Table I: photographed pairs
``data_sets``  the layouts of the two data sets on a disk
"""
