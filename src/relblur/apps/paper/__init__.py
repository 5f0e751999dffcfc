"""The paper, figure by figure: what it shows, and what comes out here.

``run``        all of it, or some, into one folder (``relblur reproduce``)
``sections``   a figure or table with its numbers, and the page of all
``claims``     the numbers that the paper states
``ramps``      Fig. 1: known blur
``lens``       Fig. 2: rays and cameras
``matrices``   Fig. 3: the framework
``flow``       Figs. 4 and 5: how an estimate is judged
``pairs``      Figs. 6 and 7, Table I: photographed pairs
``data_sets``  how the two data sets lie on a disk
``stand_ins``  a pair of our own for a data set that is not there
"""
