"""`python -m tests.benchmarks`: the kernels timed beside what else a user could run."""
