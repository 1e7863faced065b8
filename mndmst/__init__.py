"""Minimum spanning forests of graphs larger than one machine."""

__version__ = "0.1.0"
