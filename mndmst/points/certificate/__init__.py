"""Proofs that a forest file is the minimum spanning forest of points."""
