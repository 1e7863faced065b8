"""`python -m mndmst.docs`: write the reference of all commands, `commands.md`."""

from pathlib import Path

from .reference import reference

Path(__file__).with_name("commands.md").write_text(reference())
