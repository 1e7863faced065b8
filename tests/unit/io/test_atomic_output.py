"""Files that appear whole, together or not at all, and touch no others."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi4py import MPI

from mndmst.comm.communicator import Comm
from mndmst.host.errors import OutputError
from mndmst.io.atomic_output import (
    AtomicOutput,
    check_outputs,
    check_writable,
    whole_file,
)
from mndmst.io.output_kinds import EDGES
from mndmst.io.owned_files import OwnFile

COMM = Comm(MPI.COMM_SELF)


def listing(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def write(target: Path, text: str = "new") -> None:
    with whole_file(target) as temporary:
        assert temporary.parent == target.parent
        temporary.write_text(text)


def test_a_file_replaces_the_one_before(tmp_path: Path) -> None:
    write(tmp_path / "a", "old")
    write(tmp_path / "a")
    assert listing(tmp_path) == {"a": "new"}


@pytest.mark.parametrize(
    "name", ["tmp-a", "a.tmp", "a.tmp-report", "a.tmp.npy", ".a.tmp"]
)
@pytest.mark.parametrize("fail", [False, True])
def test_files_with_suggestive_names_stay(
    tmp_path: Path, name: str, fail: bool
) -> None:
    (tmp_path / name).write_text("precious")
    if fail:
        with pytest.raises(OutputError, match="No space"), whole_file(tmp_path / "a"):
            raise OSError(28, os.strerror(28))
    else:
        write(tmp_path / "a")
    assert listing(tmp_path) == {name: "precious"} | ({} if fail else {"a": "new"})


def test_nothing_is_written_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "guessed").symlink_to("precious")
    with pytest.raises(FileExistsError):
        OwnFile.make(tmp_path / "guessed")
    monkeypatch.setattr("secrets.token_hex", lambda _: "known")
    with AtomicOutput() as output:
        known = output.begin(tmp_path / "a").name
        output.discard()
    (tmp_path / known).symlink_to("precious")
    with pytest.raises(OutputError, match="File exists"):
        write(tmp_path / "a")
    assert set(listing(tmp_path)) == {"precious", "guessed", known}
    assert set(listing(tmp_path).values()) == {"precious"}


def test_the_file_of_a_killed_command_is_removed_and_that_of_a_living_one_stays(
    tmp_path: Path,
) -> None:
    killed = AtomicOutput()
    left = killed.begin(tmp_path / "a")
    killed.discard()  # as a kill does, this ends the lock
    left.write_text("of a killed command")
    others = [left.name[:-1] + "x", left.name[:-8], left.name + "0"]
    for name in others:
        (tmp_path / name).write_text("precious")
    with AtomicOutput() as living:
        present = living.begin(tmp_path / "b")
        assert not left.exists()
        write(tmp_path / "a", "of another command")
        present.write_text("of the living one")
    assert listing(tmp_path) == dict.fromkeys(others, "precious") | {
        "a": "of another command",
        "b": "of the living one",
    }


def link(path: Path) -> None:
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("make", "words"),
    [(link, "symbolic link"), (Path.mkdir, "directory"), (os.mkfifo, "pipe")],
)
def test_only_ordinary_files_are_replaced(
    tmp_path: Path, make: Callable, words: str
) -> None:
    target = tmp_path / "a"
    make(target)
    before = target.lstat()[:6], target.lstat().st_mtime_ns
    for attempt in (
        lambda: write(target),
        lambda: check_outputs([], [(target, EDGES)]),
        lambda: check_writable(COMM, target),
    ):
        with pytest.raises(OutputError, match=rf"a: is a .*{words}"):
            attempt()
    assert (target.lstat()[:6], target.lstat().st_mtime_ns) == before
    assert len(list(tmp_path.iterdir())) == 1


def test_what_has_taken_the_place_of_a_temporary_file_stays(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match="has been removed or replaced"),
        whole_file(tmp_path / "a") as temporary,
    ):
        (tmp_path / "other").write_text("precious")
        (tmp_path / "other").replace(temporary)
    assert list(listing(tmp_path).values()) == ["precious"]


@pytest.mark.parametrize("shared", [False, True])
def test_all_files_of_a_command_or_none(tmp_path: Path, shared: bool) -> None:
    def begin() -> AtomicOutput:
        return AtomicOutput(COMM) if shared else AtomicOutput()

    with pytest.raises(OSError, match="unforeseen"), begin() as files:
        files.begin(tmp_path / "forest").write_text("one")
        files.begin(tmp_path / "report")
        raise OSError("unforeseen")
    assert listing(tmp_path) == {}
    with begin() as files:
        files.begin(tmp_path / "forest").write_text("one")
        files.begin(tmp_path / "report").write_text("two")
        assert not (tmp_path / "forest").exists()
    assert listing(tmp_path) == {"forest": "one", "report": "two"}


def test_the_first_file_is_named_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    replace = Path.replace

    def noted(path: Path, target: Path) -> Path:
        names.append(target.name)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", noted)
    with AtomicOutput() as files:
        for name in ("forest", "report", "more"):
            files.begin(tmp_path / name)
    assert names == ["more", "report", "forest"]


@pytest.mark.parametrize("at", [1, 2])
def test_no_forest_where_another_file_cannot_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Neither if the report cannot be put on disk, nor if it cannot be renamed."""

    def refuse(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    if at == 1:
        monkeypatch.setattr(os, "fsync", refuse)
    else:
        monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OutputError, match="No space"), AtomicOutput(COMM) as outputs:
        outputs.begin(tmp_path / "forest")
        outputs.begin(tmp_path / "report")
    assert listing(tmp_path) == {}


def test_nothing_lies_where_checkpoints_are_kept(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    (tmp_path / "link").symlink_to("kept")
    for inside in (kept / "forest", tmp_path / "link" / "deep" / "forest", kept):
        for given in (([inside], []), ([], [(inside, EDGES)])):
            with pytest.raises(OutputError, match=r"kept.*--checkpoint a directory"):
                check_outputs(*given, kept)
    check_outputs([tmp_path / "graph"], [(tmp_path / "kept-forest", EDGES)], kept)
