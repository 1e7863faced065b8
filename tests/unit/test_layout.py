"""The shape of the repository: how long files are."""

import subprocess
from pathlib import Path

import pytest
from processes import ROOT

LONGEST = 300
SOURCES = {".py", ".cu", ".cuh", ".sh", ".sbatch", ".toml", ".md"}


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """The files of the repository, by git where this is a checkout."""
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [Path(name) for name in listing.stdout.split("\0") if name]


def test_no_file_is_long(files: list[Path]) -> None:
    lengths = {
        str(file): len((ROOT / file).read_text().splitlines())
        for file in files
        if file.suffix in SOURCES and (ROOT / file).exists()
    }
    assert len(lengths) > 20
    assert {f: lines for f, lines in lengths.items() if lines > LONGEST} == {}
