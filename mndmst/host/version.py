"""The version of the program, which its files name."""

__version__ = "0.1.0"
