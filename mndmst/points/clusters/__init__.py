"""Clusters of a forest of points.

The edges of a minimum spanning forest in ascending order are the single-linkage
dendrogram (Gower and Ross, Applied Statistics 1969). Condensing it gives the clusters
of HDBSCAN*.
"""
