"""The shape of the repository."""

from processes import ROOT


def test_no_two_test_files_have_one_name() -> None:
    """Pytest imports them by name alone."""
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
