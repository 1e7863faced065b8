"""Kernels of the service."""
