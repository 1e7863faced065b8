"""Nearest neighbours and lightest edges: by a k-d tree, or by matrix products."""
