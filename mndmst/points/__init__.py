"""The exact minimum spanning forest of points, and the clusters of HDBSCAN*.

Start at `functions.py` and `estimator.py`; `pairwise_forest.py` computes the forest.

A point is its index in the input. A position is an index in the order in which a search
takes the points: that of a tree's leaves, or a random one.
"""
