"""The paper.

``method``     its estimator
``answer``     runs it for a request
``framework``  its two layers with every weight
``circles``    means over circles as weights
"""
