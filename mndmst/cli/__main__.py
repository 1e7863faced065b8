"""`python -m mndmst.cli`: write the reference of all commands, `commands.md`."""

from pathlib import Path

from .reference import reference

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"

PAGE.write_text(reference())
