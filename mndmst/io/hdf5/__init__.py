"""HDF5 files: checked reading, and writing that survives a full disk."""
