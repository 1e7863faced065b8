"""Points dealt to MPI ranks, and points owned by other ranks."""
