"""Kernels and device code that only measurements use."""
