"""The paper, figure by figure: what it shows, what comes out here, and where it errs.

``run``        all of it, or some, into one folder (``relblur reproduce``)
``sections``   what a figure has to tell, whoever draws it
``claims``     the numbers that the paper states
``slips``      where it errs, each with the number that shows it
``ramps``      Fig. 1: known blur
``lens``       Fig. 2: rays and cameras
``matrices``   Fig. 3: the framework
``diagrams``   boxes and arrows
``flow``       Figs. 4 and 5: how an estimate is judged
``pairs``      Figs. 6 and 7, Table I: photographed pairs
``data_sets``  how the two data sets lie on a disk
``stand_ins``  small data sets of our own, in the same layouts
``page``       everything on one page
"""
