"""`python -m mndmst.cli`: write the reference of all commands, pages of the docs."""

from pathlib import Path

from .reference import pages

DOCS = Path(__file__).parents[1] / "docs"

for name, text in pages().items():
    (DOCS / name).write_text(text)
