"""Kernels of reading, checking, sorting and generating files."""
