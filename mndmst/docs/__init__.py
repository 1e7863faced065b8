"""The documentation.

`commands.md` is made from the parser (`python -m mndmst.cli`).
"""
