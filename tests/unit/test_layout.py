"""The shape of the repository."""

import re

from processes import ROOT


def test_no_two_test_files_have_one_name() -> None:
    """Pytest imports them by name alone."""
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_strategies_and_portions_are_typed() -> None:
    """No part of the machine that merges ranks passes `Any`."""
    sources = [ROOT / "mndmst/pipeline.py", *(ROOT / "mndmst/merging").glob("*.py")]
    assert len(sources) > 8
    assert [p.name for p in sources if re.search(r"\bAny\b", p.read_text())] == []
