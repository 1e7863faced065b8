"""An index over a forest: Kruskal's tree, the rooted forest, and queries of both."""
