"""Strategies by which parts merge, and the choice between them."""
