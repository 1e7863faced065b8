"""The machine and Python: errors, memory, cores, signals, progress; the version."""

from pathlib import Path

__version__ = "1.0.0"
# The directory from which Python imports this package.
PACKAGE_PARENT = Path(__file__).parents[2]
