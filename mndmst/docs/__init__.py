"""The documentation.

`commands.md` and `benchmarks.md` are made from the parser (`python -m mndmst.cli`).
"""
