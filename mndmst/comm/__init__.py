"""Ranks: MPI and its collectives, where ranks run, and what they share."""
