"""A part that is lost, cut or replaced while its graph is being read."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import random, write_graph

from mndmst.host.errors import InputError
from mndmst.io.shards.row_reading import PartArcs, ReadInProgress, StoredRows, read_rows
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph
from mndmst.kernels.arc_inspection import ArcFacts

N = 20_000
PART = 1


def lose(part: Path) -> None:
    part.unlink()


def cut(part: Path) -> None:
    os.truncate(part, part.stat().st_size // 3)


def empty(part: Path) -> None:
    os.truncate(part, 0)


def replace(part: Path) -> None:
    Path(shutil.copy(part, part.with_name("copy"))).rename(part)


def overwrite(part: Path) -> None:
    content = part.read_bytes()
    part.write_bytes(content)
    os.utime(part, ns=(0, 0))


CHANGES = [
    (lose, "no such file"),
    (cut, "damaged or cut short"),
    (empty, "damaged or cut short"),
    (replace, "has changed since it was first read"),
    (overwrite, "has changed since it was first read"),
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("changes") / "graph"
    return write_graph(folder, random(N, 15 * N, seed=4), parts=2)


@pytest.fixture
def graph(original: Path, tmp_path: Path) -> Iterator[ShardedGraph]:
    yield open_graph(shutil.copytree(original, tmp_path / "graph"))


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_before_it_is_read(
    graph: ShardedGraph, change: Callable[[Path], None], words: str
) -> None:
    change(graph.parts[PART])
    with pytest.raises(InputError, match=rf"{graph.parts[PART].name}: .*{words}"):
        read_rows(graph, 0, N)


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_between_row_pointers_and_arcs(
    graph: ShardedGraph, change: Callable[[Path], None], words: str
) -> None:
    arcs = ReadInProgress(graph, 0, N)
    change(graph.parts[PART])
    with pytest.raises(InputError, match=rf"{graph.parts[PART].name}: .*{words}"):
        arcs.read()


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_between_two_looks_at_rows_that_stay_in_their_file(
    graph: ShardedGraph, change: Callable[[Path], None], words: str
) -> None:
    stored = StoredRows(graph, [0, N // 2, N])
    assert sum(rows.num_arcs for rows in stored) > 0
    pieces = iter(stored)
    next(pieces)
    change(graph.parts[PART])
    with pytest.raises(InputError, match=rf"{graph.parts[PART].name}: .*{words}"):
        list(pieces)


@pytest.mark.parametrize("change", [lose, replace])
def test_while_arcs_are_read_the_open_file_counts(
    original: Path, graph: ShardedGraph, monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
) -> None:  # fmt: skip
    expected = read_rows(open_graph(original), 0, N)
    _change_at_the_first_look(monkeypatch, graph, change)
    for one, other in zip(read_rows(graph, 0, N), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("change", [cut, empty])
def test_while_arcs_are_read_it_is_cut(
    graph: ShardedGraph, monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
) -> None:  # fmt: skip
    _change_at_the_first_look(monkeypatch, graph, change)
    with pytest.raises(InputError, match="damaged or cut short"):
        read_rows(graph, 0, N)


def _change_at_the_first_look(
    monkeypatch: pytest.MonkeyPatch,
    graph: ShardedGraph,
    change: Callable[[Path], None],
) -> None:
    """Change a part when its first arcs are about to be read."""
    changed = []
    read_parts = ReadInProgress._read_parts

    def read(self: ReadInProgress, parts: list[PartArcs], check: Any) -> list[ArcFacts]:
        if graph.parts[PART] in [part.path for part in parts] and not changed:
            changed.append(PART)
            change(graph.parts[PART])
        return read_parts(self, parts, check)

    monkeypatch.setattr(ReadInProgress, "_read_parts", read)
