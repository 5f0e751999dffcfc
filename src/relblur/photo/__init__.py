"""Two photographs in, one comparable pair out.

``photograph``        one file as linear light
``tone_curves``       what has to be undone for that
``picture_form``      how a picture made from it is written
``pair``              two of them, checked against each other
``alignment``         one laid on the other
``warps``             motions as matrices, and the simplest that will do
``at_rest``           what moves by itself is left out of it
``exposure``          brought to one exposure
``rough_blur``  what both need first: about equal blur
``resolution``        the factor by which the pair is best decimated
``pipeline``          all of it, in order
"""
