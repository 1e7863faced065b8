"""Kernels that search trees of points."""
