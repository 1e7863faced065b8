"""The archive of modules and kernels with which a command starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT

PROGRAM = """
import sys
from pathlib import Path
sys.path.append(sys.argv[1])
from mndmst.host import start_archive
start_archive.install("solve")
import sample.inner, _csv
kept = start_archive.read_kept(Path(sys.argv[1], "kernel.o"))
start_archive.save()
loaders = [type(m.__spec__.loader).__name__ for m in (sample, sample.inner)]
served = "_csv" in start_archive._archive.imported
print(*loaders, sample.inner.VALUE, kept, sample.inner.where(), served)
"""
PLAIN = ["SourceFileLoader", "SourceFileLoader"]
ARCHIVED = ["ArchiveLoader", "ArchiveLoader"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with a package and a file."""
    inner = tmp_path / "lib/sample/inner.py"
    inner.parent.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("")
    (tmp_path / "lib/kernel.o").write_bytes(b"code")
    write(inner, 1)
    (tmp_path / "work").mkdir()
    return tmp_path


def write(inner: Path, value: int) -> None:
    """Write the module, always with the same size, at another time."""
    inner.write_text(f"VALUE = {value}\ndef where(): return __file__\n")
    os.utime(inner, (value * 10_000, value * 10_000))


def run(place: Path, lib: str = "lib", **environment: str) -> list[str]:
    """Return the words that the program prints."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON")
    }
    variables |= {"MNDMST_CACHE_DIR": str(place / "cache"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(place / lib)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=place / "work",
        env={**variables, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def archive(place: Path) -> Path:
    (found,) = (place / "cache/kernels").glob("start-solve-*")
    return found


def test_the_archive_serves_all_that_was_loaded(place: Path) -> None:
    run(place)
    rest = ["1", "b'code'", str(place / "lib/sample/inner.py"), "True"]
    assert run(place) == [*ARCHIVED, *rest]
    before = archive(place).stat()
    assert run(place) == [*ARCHIVED, *rest]
    assert archive(place).stat().st_ino == before.st_ino  # not written again


def test_a_module_that_has_changed_is_read_again(place: Path) -> None:
    run(place)
    inner = place / "lib/sample/inner.py"
    write(inner, 2)
    assert run(place)[:3] == ["ArchiveLoader", "SourceFileLoader", "2"]
    assert run(place)[:3] == [*ARCHIVED, "2"]


def test_an_archive_that_others_can_write_or_that_is_cut_is_not_used(
    place: Path,
) -> None:
    run(place)
    archive(place).chmod(0o666)
    assert run(place)[:2] == PLAIN
    content = archive(place).read_bytes()
    for length in (0, 4, 100, len(content) - 1):
        archive(place).write_bytes(content[:length])
        archive(place).chmod(0o600)
        assert run(place)[:2] == PLAIN
    assert run(place)[:2] == ARCHIVED


@pytest.mark.parametrize(
    "environment", [{"PYTHONDONTWRITEBYTECODE": "1"}, {"PMI_RANK": "1"}]
)
def test_other_ranks_and_runs_without_bytecode_write_none(
    place: Path, environment: dict[str, str]
) -> None:
    run(place, **environment)
    assert not list(place.glob("cache/kernels/start-*"))


def test_another_search_path_has_another_archive(place: Path) -> None:
    run(place)
    (place / "lib/other").mkdir()
    assert run(place)[:2] == PLAIN
    assert len(list(place.glob("cache/kernels/start-*"))) == 2


def test_modules_beside_the_users_files_are_left_out(place: Path) -> None:
    (place / "lib/sample").rename(place / "work/sample")
    run(place, lib="work")
    assert run(place, lib="work")[:2] == PLAIN
    assert run(place, lib="work")[-1] == "True"
