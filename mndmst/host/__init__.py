"""The machine and Python: errors, memory, cores, signals, progress; the version."""

__version__ = "0.1.0"
