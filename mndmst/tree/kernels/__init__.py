"""Kernels of dendrograms."""
