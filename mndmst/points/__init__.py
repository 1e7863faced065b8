"""The exact minimum spanning forest of points, found by their near neighbours."""
