"""Checkpoints on disk: whole or refused, whatever has happened to them."""

import errno
import json
import os
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mpi4py import MPI

from mndmst.checkpoint import Checkpoint, files
from mndmst.checkpoint.files import State, load, save
from mndmst.checkpoint.folder import LOCK, Folder
from mndmst.checkpoint.manifest import MANIFEST, _digest
from mndmst.comm import Comm
from mndmst.errors import ConfigError, InputError, OutputError
from mndmst.graph import EdgeList

COMM = Comm(MPI.COMM_SELF)
N = 500
GRAPH = {"uuid": "one", "num_vertices": N, "num_arcs": 2400, "weight_dtype": "float32"}
VTXDIST = np.array([0, N])


def state(edges: int = 200, done: int | None = 77) -> State:
    random = np.random.default_rng(edges)
    columns = [random.integers(0, N, edges).astype(np.uint32) for _ in range(3)]
    return State(done, np.arange(N, dtype=np.uint32) // 7 * 7, EdgeList(*columns))


def same(one: State, other: State) -> bool:
    arrays = [(s.parent, s.fixed.u, s.fixed.v, s.fixed.key) for s in (one, other)]
    fine = all(map(np.array_equal, *arrays))
    return fine and one.done == other.done


def read(folder: Path) -> State:
    return load(COMM, folder, GRAPH, VTXDIST)


def keep(path: Path, saved: State) -> int:
    """Save a state in a directory, as a run of its own; return the bytes."""
    folder = Folder(COMM, path)
    try:
        return save(folder, GRAPH, VTXDIST, saved)
    finally:
        folder.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    keep(tmp_path, state())
    return tmp_path


def part(folder: Path) -> Path:
    (path,) = folder.glob("*.h5")
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("edges", [0, 200])
@pytest.mark.parametrize("done", [None, 0, (1 << 32) - 1])
def test_what_is_saved_is_loaded(tmp_path: Path, edges: int, done: int | None) -> None:
    saved = state(edges, done)
    nbytes = keep(tmp_path, saved)
    assert nbytes == part(tmp_path).stat().st_size
    assert same(read(tmp_path), saved)


def killed(folder: Path) -> Path:
    """Leave a file of a checkpoint that was killed."""
    kept = Folder(COMM, folder)
    path = folder / f"{kept.new_token()}-00003.h5"
    path.touch()
    kept.close()
    return path


def test_the_next_one_replaces_it(folder: Path) -> None:
    before, left = part(folder), killed(folder)
    assert same(read(folder), state())
    keep(folder, state(100))
    assert not before.exists()
    assert not left.exists()
    assert names(folder) == {MANIFEST, LOCK, part(folder).name}
    assert same(read(folder), state(100))
    Checkpoint(COMM, folder).remove()
    assert names(folder) == {LOCK}
    assert (folder / LOCK).read_text().count("\n") == 0


STRANGERS = (
    *("lock", "manifest.json", "notes.json", "old-forest.h5", "x-00000.h5"),
    *("0123456789ab-00000.h5", "0123456789ab.json", f"{MANIFEST}.tmp"),
)


def test_files_of_others_stay(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    folder = tmp_path / "kept"
    folder.mkdir()
    for name in STRANGERS:
        (folder / name).write_text(name)
        (folder / f"link-{name}").symlink_to(precious)
    before = names(folder)
    keep(folder, state())
    killed(folder)
    keep(folder, state(100))
    assert same(read(folder), state(100))
    Checkpoint(COMM, folder).remove()
    assert names(folder) == before | {LOCK}
    assert all((folder / name).read_text() == name for name in STRANGERS)
    assert precious.read_text() == "precious"


def test_a_manifest_knows_its_files_without_the_lock(folder: Path) -> None:
    before = part(folder)
    (folder / LOCK).unlink()
    keep(folder, state(100))
    assert not before.exists()


@pytest.mark.parametrize("name", [LOCK, MANIFEST])
@pytest.mark.parametrize("content", ["{}", "mine", '["mndmst-checkpoint"]', "\0"])
def test_files_of_others_with_our_names_are_refused(
    tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=rf"{name}: is no .*Rename it.*--checkpoint"):
        Checkpoint(COMM, tmp_path)
    assert (tmp_path / name).read_text() == content


@pytest.mark.parametrize("name", [LOCK, MANIFEST])
def test_links_with_our_names_are_refused(tmp_path: Path, name: str) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "kept"
    precious.touch()
    folder.mkdir()
    (folder / name).symlink_to(precious)
    with pytest.raises(OutputError, match=rf"{name}: is a symbolic link"):
        Checkpoint(COMM, folder)
    assert (folder / name).is_symlink()
    assert precious.stat().st_size == 0


@pytest.mark.parametrize("length", [0, 10])
def test_a_lock_whose_maker_was_killed_is_made_whole(folder: Path, length: int) -> None:
    os.truncate(folder / LOCK, length)
    keep(folder, state(100))
    assert names(folder) == {MANIFEST, LOCK, part(folder).name}


@pytest.mark.parametrize("failing", ["_write", "settle", "file_digest", "Manifest"])
def test_one_that_fails_leaves_the_one_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    before = names(folder)
    monkeypatch.setattr(files, failing, full)
    with pytest.raises(OutputError, match="No space left"):
        keep(folder, state(100))
    monkeypatch.undo()
    assert names(folder) == before
    assert same(read(folder), state())


def on_directories(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Let fsync fail for directories."""
    fsync = os.fsync

    def picky(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(error, os.strerror(error))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", picky)


def test_a_file_system_that_cannot_settle_directories(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_directories(monkeypatch, errno.EINVAL)
    keep(folder, state(100))
    assert same(read(folder), state(100))


def test_a_directory_that_fails_last_leaves_the_new_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_directories(monkeypatch, errno.EIO)
    with pytest.raises(OutputError, match="cannot be written"):
        keep(folder, state(100))
    assert same(read(folder), state(100))


def flip(path: Path, place: int, mask: int = 0x10) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= mask
    path.write_bytes(content)


@pytest.mark.parametrize("which", ["part", "manifest"])
@settings(
    max_examples=40,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(place=st.integers(0, 1 << 16), mask=st.integers(1, 255), cut=st.booleans())
def test_no_damage_goes_unseen(
    folder: Path, which: str, place: int, mask: int, cut: bool
) -> None:
    path = part(folder) if which == "part" else folder / MANIFEST
    whole = path.read_bytes()
    if cut:
        path.write_bytes(whole[: place % len(whole)])
    else:
        flip(path, place, mask)
    try:
        assert same(read(folder), state())  # a blank of the JSON text
        assert which == "manifest"
    except InputError as error:
        assert str(path) in str(error)
        assert "--resume" in str(error) or "--checkpoint" in str(error)
    finally:
        path.write_bytes(whole)


def test_a_part_that_is_missing(folder: Path) -> None:
    part(folder).unlink()
    with pytest.raises(InputError, match=r"00000\.h5: .*missing.*without --resume"):
        read(folder)


@pytest.mark.parametrize("name", GRAPH)
def test_a_checkpoint_of_another_graph(folder: Path, name: str) -> None:
    other = {**GRAPH, name: "int64" if name == "weight_dtype" else 7}
    with pytest.raises(InputError, match=r"another graph.*--checkpoint"):
        load(COMM, folder, other, VTXDIST)


def rewrite(folder: Path, change: Callable[[dict], Any]) -> None:
    """Change the manifest, and its digest with it."""
    content = json.loads((folder / MANIFEST).read_text())
    content.pop("digest")
    change(content)
    content["digest"] = _digest(content)
    (folder / MANIFEST).write_text(json.dumps(content))


def test_a_checkpoint_of_another_version(folder: Path) -> None:
    rewrite(folder, lambda content: content.update(version=2))
    with pytest.raises(InputError, match=r"version 2.*reads .*version 1"):
        read(folder)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats()
    | st.sampled_from(["", "../../etc/passwd", "/etc/passwd", "int32", "lock", "\0"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "edges", "digest"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_manifest_that_lies(folder: Path, data: st.DataObject) -> None:
    whole = (folder / MANIFEST).read_text()
    places = ["graph", "done", "vtxdist", "parts", "format", "name", "edges", "digest"]
    place, value = data.draw(st.sampled_from(places)), data.draw(ANYTHING)

    def lie(content: dict) -> None:
        inside = place in ("name", "edges", "digest")
        (content["parts"][0] if inside else content)[place] = value

    rewrite(folder, lie)
    tracemalloc.start()
    try:
        found = read(folder)
        assert place == "done"
        assert found.done is None or type(found.done) is int
    except InputError as error:
        assert str(folder) in str(error)
    finally:
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
        tracemalloc.stop()
        (folder / MANIFEST).write_text(whole)


@pytest.mark.parametrize(
    ("name", "values"),
    [("parent", np.full(N, N, np.uint32)), ("u", np.full(200, N, np.uint32)),
     ("u", np.zeros(200, np.int64)), ("v", np.zeros(199, np.uint32)),
     ("key", np.zeros((200, 2), np.uint32)), ("key", None)],
)  # fmt: skip
def test_a_part_that_lies(folder: Path, name: str, values: np.ndarray | None) -> None:
    path = part(folder)
    with h5py.File(path, "r+") as file:
        del file[name]
        if values is not None:
            file[name] = values
    digest = files.file_digest(path)
    rewrite(folder, lambda content: content["parts"][0].update(digest=digest))
    with pytest.raises(InputError, match=path.name):
        read(folder)


def test_one_run_for_each_folder(tmp_path: Path) -> None:
    one = Checkpoint(COMM, tmp_path / "new" / "kept")
    with pytest.raises(ConfigError, match=r"another run.*--checkpoint"):
        Checkpoint(COMM, tmp_path / "new" / "kept")
    one.remove()
    Checkpoint(COMM, tmp_path / "new" / "kept").remove()


def test_a_folder_that_cannot_be_made() -> None:
    with pytest.raises(OutputError, match="/proc/kept"):
        Checkpoint(COMM, Path("/proc/kept"))


def test_resume_needs_a_folder() -> None:
    with pytest.raises(ConfigError, match="--checkpoint DIR"):
        Checkpoint(COMM, resume=True)
