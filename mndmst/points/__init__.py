"""The exact minimum spanning forest of points, and the clusters of HDBSCAN*.

Start at `functions.py` and `estimator.py`; `pairwise_forest.py` computes the forest.
"""
