"""The shape of the repository: what lies at its top, and how long files are."""

import subprocess
from pathlib import Path

import pytest
from processes import ROOT

TOP = {
    *("pyproject.toml", "README.md", "ARCHITECTURE.md", "LICENSE", "CITATION.cff"),
    *("mndmst", "launch", "partitions", "tests", "docker", "slurm"),
}
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


def test_the_top_level_is_as_designed(files: list[Path]) -> None:
    top = {file.parts[0] for file in files}
    assert {name for name in top if not name.startswith(".")} == TOP
    assert Path(".ci/run") in files


def test_no_file_is_long(files: list[Path]) -> None:
    lengths = {
        str(file): len((ROOT / file).read_text().splitlines())
        for file in files
        if file.suffix in SOURCES and (ROOT / file).exists()
    }
    assert len(lengths) > 20
    assert {f: lines for f, lines in lengths.items() if lines > LONGEST} == {}
