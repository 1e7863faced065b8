"""MPI and its collectives, placement of ranks, and memory that ranks share."""
