"""Compiled kernels are kept apart for every state of the sources."""

import os
import re
from pathlib import Path

import pytest
from numba import config

from mndmst.kernels import cache


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may point Numba elsewhere; kernels that exist keep their place."""
    monkeypatch.setattr(config, "CACHE_DIR", config.CACHE_DIR)


def place(monkeypatch: pytest.MonkeyPatch, base: Path) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(base))
    cache.use_cache_of_these_sources()
    return Path(config.CACHE_DIR)


def test_a_change_of_any_source_is_another_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    sources = [
        package / name
        for name in (
            "kernels/one.py", "backends/cpu/two.py", "io/kernels/three.py",
            "verify/kernels.py",
        )
    ]  # fmt: skip
    for source in sources:
        source.parent.mkdir(parents=True)
        source.write_text("x = 1\n")
    monkeypatch.setattr(cache, "PACKAGE", package)
    places = [place(monkeypatch, tmp_path)]
    assert places[0].parent == tmp_path
    assert place(monkeypatch, tmp_path) == places[0]
    for source in sources:
        os.utime(source, (1, 1))
        places.append(place(monkeypatch, tmp_path))
        source.with_name("kernels_too.py").write_text("")
        if source.parent.name != "verify":  # one file is all of its kernels
            places.append(place(monkeypatch, tmp_path))
    assert len(set(places)) == len(places) == 8


def test_every_file_with_kernels_counts() -> None:
    """Numba is imported in these files alone, or a change would go unseen."""
    importing = re.compile(r"^ *(from|import) (numba|\S*\bjit)\b", re.MULTILINE)
    package = Path(cache.__file__).parents[1]
    having = {p for p in package.rglob("*.py") if importing.search(p.read_text())}
    assert len(having) > 30
    assert having <= set(cache.kernel_files(package)) | {package / "backends/warmup.py"}


def test_where_nothing_can_be_written_another_place_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("MNDMST_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    cache.use_cache_of_these_sources()
    assert Path(config.CACHE_DIR).parent == tmp_path / "home/mndmst/numba"


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "MNDMST_CACHE_DIR"])
def test_where_others_can_write_above_another_place_serves(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    variable: str,
) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    shared.chmod(0o777)
    for name in ("NUMBA_CACHE_DIR", "MNDMST_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(shared / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    cache.use_cache_of_these_sources()
    assert Path(config.CACHE_DIR).parent == tmp_path / "home/mndmst/numba"
    assert not list((shared / "mine").iterdir())
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"others can change {shared};" in message


def test_where_no_place_is_private_a_fresh_one_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tmp_path.chmod(0o777)
    for name in ("NUMBA_CACHE_DIR", "MNDMST_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cache.use_cache_of_these_sources()
    assert Path(config.CACHE_DIR).name.startswith("mndmst-cache-")
    assert tmp_path not in Path(config.CACHE_DIR).parents
