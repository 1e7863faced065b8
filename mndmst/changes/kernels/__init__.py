"""Kernels of a forest that follows changes."""
