"""Which files an output replaces: earlier results of its kind, and no others."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import pytest

from mndmst.host.errors import OutputError
from mndmst.io.atomic_output import (
    AtomicOutput,
    check_outputs,
    whole_file,
    write_picture_file,
)
from mndmst.io.file_access import write_attributes
from mndmst.io.output_kinds import (
    CLUSTERS,
    CREATOR,
    FOREST,
    FOREST_PICTURE,
    LABELS,
    PAGE,
    PICTURE,
    POINTS,
    REPORT,
    TRACE,
    Kind,
    check_replaceable,
    is_earlier_result,
    json_mark,
)


def state_of(path: Path) -> tuple[int, ...]:
    """Return what a write changes; following a link changes the time of access."""
    found = path.lstat()
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns


def hdf5(path: Path, **attributes: str) -> None:
    # Its own lock would wait for that of `AtomicOutput`
    with h5py.File(path, "w", locking=False) as file:
        write_attributes(file, attributes)


def picture(path: Path, kind: Kind) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    figure.add_subplot().plot([1, 2])
    with AtomicOutput() as files:
        write_picture_file(figure, files, path, kind)


@pytest.mark.parametrize("kind", [FOREST, LABELS, CLUSTERS], ids=str)
def test_an_hdf5_file_says_its_format(tmp_path: Path, kind: Kind) -> None:
    path = tmp_path / "a.h5"
    hdf5(path, format=kind.format)
    kinds = {k.name for k in (FOREST, LABELS, CLUSTERS) if is_earlier_result(path, k)}
    assert kinds == {kind.name}


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
@pytest.mark.parametrize("kind", [PICTURE, FOREST_PICTURE, PAGE], ids=str)
def test_a_picture_of_our_own_is_replaced_on_request_alone(
    tmp_path: Path, kind: Kind, suffix: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    picture(path, kind)
    assert CREATOR.encode() in path.read_bytes()
    with pytest.raises(OutputError, match=f"a .{suffix} file does not prove which"):
        check_outputs([], [(path, kind)])
    check_outputs([], [(path, kind)], overwrite=True)


@pytest.mark.parametrize("indent", [None, 1])
def test_json_begins_with_its_mark(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(json_mark(REPORT) | {"seconds": 1}, indent=indent))
    assert is_earlier_result(path, REPORT)
    assert not is_earlier_result(path, TRACE)


STRANGERS: dict[str, bytes] = {
    "empty": b"",
    "text": b"my notes\n",
    "json": b'{"seconds": 1, "format": "mndmst-report", "creator": "mndmst 1"}',
    "json of another": b'{"format": "mndmst-report", "creator": "a person"}',
    "header of a table": b"vertex,label,probability\n0,0,1.0\n",
    "half a signature": b"\x89HDF",
    "damaged HDF5": b"\x89HDF\r\n\x1a\n" + bytes(100),
    "name of the creator": CREATOR.encode(),
    "page of ours": b"<!DOCTYPE html><meta name='generator' content='mndmst 1'>",
}


@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize("kind", [FOREST, CLUSTERS, PICTURE, PAGE, REPORT], ids=str)
def test_a_file_without_proof_stays(tmp_path: Path, name: str, kind: Kind) -> None:
    path = tmp_path / f"a{kind.endings[0]}"
    path.write_bytes(STRANGERS[name])
    with pytest.raises(OutputError, match=r"a\.\w+: exists, .* --overwrite"):
        check_replaceable(path, kind, overwrite=False)
    check_replaceable(path, kind, overwrite=True)


def test_hdf5_of_others_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes.h5"
    for attributes in ({}, {"format": "mndmst"}, {"format": "mndmst-forest "}):
        hdf5(path, **attributes)
        with pytest.raises(OutputError, match="is not a forest that mndmst has"):
            check_outputs([], [(path, FOREST)])


@pytest.mark.parametrize(
    ("name", "kind"), [("labels.csv", CLUSTERS), ("points.npy", POINTS)]
)
def test_formats_without_a_place_for_proof(
    tmp_path: Path, name: str, kind: Kind
) -> None:
    (tmp_path / name).write_text("vertex,label\n")
    with pytest.raises(OutputError, match="does not prove which program wrote it"):
        check_outputs([], [(tmp_path / name, kind)])
    check_outputs([], [(tmp_path / name, kind)], overwrite=True)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read every file")
def test_a_file_that_cannot_be_read_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    hdf5(path, format=FOREST.format)
    path.chmod(0)
    with pytest.raises(OutputError, match="--overwrite"):
        check_outputs([], [(path, FOREST)])


def to_nowhere(path: Path) -> None:
    path.symlink_to("nowhere")


def to_file(path: Path) -> None:
    path.with_name("real").touch()
    path.symlink_to("real")


def to_device(path: Path) -> None:
    path.symlink_to("/dev/null")


def to_folder(path: Path) -> None:
    path.symlink_to(path.parent)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (to_nowhere, "symbolic link"),
        (to_file, "symbolic link"),
        (to_device, "device or a pipe"),
        (to_folder, "directory"),
        (Path.mkdir, "directory"),
        (os.mkfifo, "device or a pipe"),
    ],
)
def test_only_ordinary_files_are_ever_replaced(
    tmp_path: Path, make: Callable[[Path], None], words: str, overwrite: bool
) -> None:
    path = tmp_path / "a.h5"
    make(path)
    before = state_of(path)
    with pytest.raises(OutputError, match=rf"a\.h5: is a .*{words}"):
        check_outputs([], [(path, FOREST)], overwrite=overwrite)
    with (
        pytest.raises(OutputError, match=words),
        whole_file(path, FOREST, overwrite),
    ):
        pass
    assert state_of(path) == before


def test_devices_are_no_files() -> None:
    for name in ("/dev/null", "/dev/stdout"):
        with pytest.raises(OutputError, match=f"{name}: is a "):
            check_outputs([], [(Path(name), FOREST)], overwrite=True)


@pytest.fixture
def inputs(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "in.h5").write_text("precious")
    yield tmp_path / "in.h5"
    assert (tmp_path / "in.h5").read_text() == "precious"


def test_no_input_is_replaced_under_any_name(tmp_path: Path, inputs: Path) -> None:
    (tmp_path / "hard.h5").hardlink_to(inputs)
    (tmp_path / "soft.h5").symlink_to(inputs)
    names = ("in.h5", "hard.h5", "soft.h5", f"../{tmp_path.name}/in.h5")
    for name in names:
        with pytest.raises(OutputError, match="is read by this command"):
            check_outputs([inputs], [(tmp_path / name, FOREST)], overwrite=True)


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    check_outputs([], [(path, FOREST)])
    with (
        pytest.raises(OutputError, match="is not a forest that"),
        whole_file(path, FOREST) as temporary,
    ):
        hdf5(temporary, format=FOREST.format)
        path.write_text("precious")
    assert [p.name for p in tmp_path.iterdir()] == ["a.h5"]
    assert path.read_text() == "precious"
