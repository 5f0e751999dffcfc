"""The paper.

``method``     the estimator
``answer``     the estimator for a request
``framework``  the two layers with every weight, and means over circles as weights
"""
