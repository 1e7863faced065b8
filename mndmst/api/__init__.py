"""The Python interface: arrays, sparse matrices, forests, NetworkX."""
