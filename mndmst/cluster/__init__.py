"""Clusters from a forest.

The edges of a minimum spanning forest in ascending order are the single-linkage
dendrogram (Gower and Ross, Applied Statistics 1969). A threshold gives flat clusters;
condensing gives the clusters of HDBSCAN*.
"""
