"""The data model: the order of edges, rows, edge lists and reduced graphs."""
