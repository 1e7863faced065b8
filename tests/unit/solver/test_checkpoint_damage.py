"""Checkpoints that are damaged, of another graph or version, or that lie."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from checkpoints import COMM, GRAPH, VTXDIST, N, keep, part, read, same, state
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mndmst.host.errors import InputError
from mndmst.solver.checkpoint import file_digest, load
from mndmst.solver.checkpoint.manifest import MANIFEST, _digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    keep(tmp_path, state())
    return tmp_path


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
    digest = file_digest(path)
    rewrite(folder, lambda content: content["parts"][0].update(digest=digest))
    with pytest.raises(InputError, match=path.name):
        read(folder)
