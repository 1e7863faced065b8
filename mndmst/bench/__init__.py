"""`python -m mndmst bench`: the kernels timed beside what else a user could run."""
