"""``method="paper"``: the estimator of the paper, and its framework.

``method``     the estimator on arrays
``answer``     the estimator for a request, with flags
``framework``  the two layers with every weight, or with weights of means over circles
"""
