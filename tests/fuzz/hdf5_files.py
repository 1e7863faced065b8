"""The project's own files: shards, forests, labels, clusters and models.

The first byte of an input names the file and the second the command. Edits of the file
follow, each with a kind, two bytes that pick the place, and a value: bytes are
replaced, an attribute or an entry of a dataset gets another value, or a dataset gets
another length and type.
"""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import h5py
import numpy as np

from mndmst.__main__ import main
from mndmst.host.formatting import printable

EDGES = "source,target,weight\n0,1,5\n1,2,3\n2,3,4\n3,0,9\n4,5,1\n"
COMMANDS = (
    "partition g.csv G -q", "solve G -o forest.h5 --labels -q",
    "components G -o labels.h5 -q", "cluster forest.h5 --count 2 -o clusters.h5 -q",
    "hdbscan points.npy --min-cluster-size 5 -o model.h5 --prediction-data -q",
    "linkage points.npy -o tree.h5 -q",
    "predict model.h5 points.npy -o predicted.h5 -q",
)  # fmt: skip
FILES = (
    "G/index.h5", "G/part-00000.h5", "forest.h5", "labels.h5", "clusters.h5",
    "model.h5", "tree.h5", "predicted.h5",
)  # fmt: skip
GRAPH = ("info G", "solve G -q", "verify G forest.h5", "convert G out.gr")
READINGS = {
    "G/index.h5": GRAPH,
    "G/part-00000.h5": GRAPH,
    "forest.h5": (
        "info forest.h5", "verify G forest.h5", "convert forest.h5 out.csv",
        "convert forest.h5 out.nwk --dendrogram", "cluster forest.h5 --count 2",
    ),
    "model.h5": (
        "info model.h5", "predict model.h5 points.npy", "convert model.h5 out.nwk",
        "hdbscan --model model.h5 --insert more.npy -o out.h5",
        "convert model.h5 out.csv",
    ),
    "labels.h5": ("info labels.h5", "convert labels.h5 out.csv"),
    "clusters.h5": ("info clusters.h5", "convert clusters.h5 out.csv"),
    "tree.h5": ("info tree.h5", "convert tree.h5 out.nwk", "convert tree.h5 out.csv"),
    "predicted.h5": ("info predicted.h5", "convert predicted.h5 out.csv"),
}  # fmt: skip
KINDS = BYTES, ATTRIBUTE, ENTRY, WHOLE = range(4)
TYPES = ("i8", "u4", "f8", "f4", "u1", "S3", "i4", "u8")
EDIT = 12  # bytes
VALUES: tuple[object, ...] = (
    np.array([], np.int64), np.array([b"a" * 64]), h5py.Empty("f8"), 1.5, np.nan,
    np.int64(1 << 62), np.int64(-1), b"\xff\xfe", "other", np.int64(0), np.uint8(3),
    np.uint64(2**64 - 1), np.bytes_(b"other"), np.bytes_(b"\x1b[2J\n"), np.bool_(True),
    np.bytes_(b"{}"), np.bytes_(b'{"p": -1}'), np.bytes_(b"null"), np.float64(np.inf),
)  # fmt: skip
_whole: dict[str, bytes] = {}


def _make_files() -> None:
    Path("g.csv").write_text(EDGES)
    random = np.random.default_rng(1)
    np.save("points.npy", random.random((40, 2)))
    np.save("more.npy", random.random((3, 2)))
    for words in COMMANDS:
        assert main(words.split()) == 0, words
    for name in FILES:
        _whole[name] = Path(name).read_bytes()


def one_input(data: bytes) -> None:
    """Edit a file and read it: an answer, or one line that refuses it."""
    if not _whole:
        _make_files()
    name = FILES[data[0] % len(FILES) if data else 0]
    readings = READINGS[name]
    command = readings[data[1] % len(readings) if len(data) > 1 else 0]
    content = bytearray(_whole[name])
    edits = [data[i : i + EDIT] for i in range(2, len(data) - EDIT + 1, EDIT)]
    for edit in edits:
        if edit[0] % len(KINDS) == BYTES:
            at = int.from_bytes(edit[1:5], "little") % len(content)
            content[at : at + 1 + edit[5] % 6] = edit[6 : 7 + edit[5] % 6]
    path = Path(name)
    path.write_bytes(content)
    try:
        for edit in edits:
            if edit[0] % len(KINDS) != BYTES:
                _edit(path, edit)
        _read(command)
    finally:
        path.write_bytes(_whole[name])
        for made in Path().glob("out.*"):
            made.unlink()


def _edit(path: Path, edit: bytes) -> None:
    """Give an attribute or a dataset another content, where HDF5 can."""
    kind, which, what, value = edit[0] % len(KINDS), edit[1], edit[2], edit[3:]
    try:
        with h5py.File(path, "r+") as file:
            objects = [file, *_members(file)]
            target = objects[which % len(objects)]
            if kind == ATTRIBUTE and len(target.attrs):
                name = sorted(target.attrs)[what % len(target.attrs)]
                target.attrs[name] = VALUES[value[0] % len(VALUES)]
            elif not isinstance(target, h5py.Dataset) or not target.ndim:
                return
            elif kind == ENTRY and len(target):
                number = np.frombuffer(value[:8], "<i8")[0]
                target[what % len(target)] = number.astype(target.dtype)
            elif kind == WHOLE:
                shape = (value[1] % 50, *target.shape[1:])
                data = np.resize(target[()], shape).astype(TYPES[what % len(TYPES)])
                name = target.name
                del file[name]
                stored = {"chunks": shape, "fletcher32": True} if data.size else {}
                file.create_dataset(name, data=data, **stored)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError):
        return  # the bytes that were replaced, or another type


def _members(file: h5py.File) -> list[h5py.Group | h5py.Dataset]:
    found: list = []
    file.visititems(lambda _, member: found.append(member))
    return found


def _read(command: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(command.split())
    said = err.getvalue()
    refuted = "VERDICT refuted" in out.getvalue()
    errors = [line for line in said.splitlines() if line.startswith("mndmst: error: ")]
    fine = bool(status) == (len(errors) == 1 or refuted)
    for shown in (said, out.getvalue()):  # a file moves no cursor
        fine = fine and shown == printable(shown)
    if not fine or "bug in mndmst" in said or "Traceback" in said:
        sys.stderr.write(said)
        raise AssertionError(f"mndmst {command}: {said[-300:]}")


def seeds() -> list[bytes]:
    """Return an edit of each kind for each file and command."""
    edits = (
        b"", bytes([ATTRIBUTE, 0, 3, 5] + [0] * 8), bytes([ENTRY, 2, 1] + [255] * 9),
        bytes([WHOLE, 3, 2, 0, 7] + [0] * 7),
        bytes([BYTES, 40, 1, 0, 0, 2, 9, 9, 9, 0, 0, 0]),
    )  # fmt: skip
    return [
        bytes([file, command]) + edit
        for file, name in enumerate(FILES)
        for command in range(len(READINGS[name]))
        for edit in edits
    ]
