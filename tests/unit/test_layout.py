"""The shape of the repository: how long files are."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import ROOT

LONGEST = 300
MOST_PARAMETERS = 7
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


def parameters(source: str) -> Iterator[tuple[str, int]]:
    """Yield the functions in a source and how many parameters each has.

    An object's own, and what `*args` and `**options` collect, do not count.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            names = [a.arg for a in given.posonlyargs + given.args + given.kwonlyargs]
            yield node.name, len(names) - (names[:1] in (["self"], ["cls"]))


def test_no_function_has_many_parameters(files: list[Path]) -> None:
    counts = {
        f"{file}: {name}": count
        for file in files
        if file.parts[0] == "mndmst"
        and file.suffix == ".py"
        and "bench" not in file.parts
        for name, count in parameters((ROOT / file).read_text())
    }
    assert len(counts) > 1000
    assert {f: n for f, n in counts.items() if n > MOST_PARAMETERS} == {}
    assert list(parameters("class A:\n def f(self, a, /, b, *c, d=1, **e): ...")) == [
        ("f", 3)
    ]


def test_no_two_test_files_have_one_name() -> None:
    """Pytest imports them by name alone."""
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
