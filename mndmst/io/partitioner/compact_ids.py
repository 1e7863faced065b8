"""Vertices of a graph: a number set by the user, or the ids that occur in edges.

The ids are found in bounded memory: every process sorts the ids of its share in runs
that fit its memory, and writes the runs; one process merges the runs of all processes
into a memory-mapped file in the working directory. An id's position in that file
is its new number.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype, stored_id_dtype
from ...host.errors import InputError
from ..edge_file import EdgeFile, EdgeFileOver
from ..edges import Edges
from ..file_errors import writing
from .builders import Builders
from .survey import share
from .work_directory import VERTICES

ID = np.dtype(np.int64)
# Ids in memory at once: fewer would make many files, and more would take memory from
# the page cache. Sorting copies them.
FEWEST_HELD, MOST_HELD, ID_COPIES = 1 << 16, 1 << 26, 6
ID_SLICE = 1 << 17  # entries whose ids are looked up at once


class Bounded(EdgeFileOver):
    """An edge file with the user's number of vertices."""

    def __init__(self, file: EdgeFile, num_vertices: int) -> None:
        super().__init__(file)
        self.num_vertices: int = num_vertices
        self.vertices_asked = True

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file; see `EdgeFile`.

        Raises
        ------
        InputError
            If an id is beyond the vertices.
        """
        bound = self.num_vertices
        for piece in self.file.pieces(begin, end):
            for ends, others in ((piece.src, piece.dst), (piece.dst, piece.src)):
                if len(ends) and ends.max() >= bound:
                    at = int(ends.argmax())
                    raise InputError(
                        f"{self.name}: an edge joins the vertices {ends[at]} and "
                        f"{others[at]} (counted from 0), but --num-vertices says that "
                        f"there are {bound}. Fix the edge, or give more vertices."
                    )
            yield _retyped(piece, bound, piece.src, piece.dst)


class Compact(EdgeFileOver):
    """An edge file whose ids are numbered in ascending order, without gaps.

    Parameters
    ----------
    file : EdgeFile
        With the original ids.
    work : Path
        Where `save_vertices` has put them.
    """

    def __init__(self, file: EdgeFile, work: Path) -> None:
        super().__init__(file)
        self.work = work
        self.num_vertices: int = len(load_ids(work / VERTICES))

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file with new ids; see `EdgeFile`."""
        vertices = load_ids(self.work / VERTICES)
        for piece in _id_slices(self.file.pieces(begin, end)):
            # In ascending order they are looked up where others were just before
            ends = np.concatenate((piece.src, piece.dst))
            named, place = np.unique(ends, return_inverse=True)
            new = np.searchsorted(vertices, named.astype(vertices.dtype))
            if (new == len(vertices)).any() or (vertices[new] != named).any():
                raise InputError(
                    f"{self.name}: has changed while it was read. Run the command "
                    "again."
                )
            src, dst = np.split(new[place], 2)
            yield _retyped(piece, len(vertices), src, dst)


def load_ids(path: Path) -> np.ndarray:
    """Return ids mapped from a file."""
    with writing(path):
        ids: np.ndarray = np.load(path, mmap_mode="r")
    return ids


def save_vertices(builders: Builders, file: EdgeFile, work: Path, room: int) -> None:
    """Save the ids that occur in a file, ascending, each once. Collective.

    Parameters
    ----------
    room : int
        Bytes that may be taken.

    Raises
    ------
    InputError
        If the file is damaged.
    OutputError
        If the ids cannot be written.
    """
    most = min(max(room // (ID_COPIES * ID.itemsize), FEWEST_HELD), MOST_HELD)
    with builders.raise_on_all():
        runs, largest = _own_ids(builders, file, work, most)
    found = builders.allgather((runs, largest))
    with builders.raise_on_all():
        if builders.rank == 0:
            paths = [
                _id_run(work, rank, run)
                for rank, (count, _) in enumerate(found)
                for run in range(count)
            ]
            bound = 1 + max(largest for _, largest in found)
            with writing(work):
                _id_merge(paths, work / VERTICES, stored_id_dtype(bound), most)


def _own_ids(
    builders: Builders, file: EdgeFile, work: Path, most: int
) -> tuple[int, int]:
    """Write the ids of this rank's share; return the file count and the largest id."""
    held: list[np.ndarray] = []
    runs, largest = 0, -1
    for named in _named_ids(builders, file):
        held.append(named)
        largest = max(largest, int(named[-1]))
        if sum(map(len, held)) > most:
            held = [np.unique(np.concatenate(held))]
            if len(held[0]) > most // 2:
                runs += _save_run(work, builders.rank, runs, held.pop())
    if held:
        runs += _save_run(work, builders.rank, runs, np.unique(np.concatenate(held)))
    return runs, largest


def _named_ids(builders: Builders, file: EdgeFile) -> Iterator[np.ndarray]:
    """Yield the ids of each piece of this rank's share, ascending, each once."""
    begin, end = share(builders, file)
    for piece in _id_slices(file.pieces(begin, end) if begin < end else iter(())):
        if len(piece):
            yield np.unique(np.concatenate((piece.src, piece.dst))).astype(ID)


def _save_run(work: Path, rank: int, run: int, ids: np.ndarray) -> int:
    with writing(work), _id_run(work, rank, run).open("xb") as file:
        np.save(file, ids)
    return 1


def _id_run(work: Path, rank: int, run: int) -> Path:
    return work / f"vertices-{rank}-{run}.npy"


def _id_merge(runs: list[Path], target: Path, dtype: np.dtype, most: int) -> None:
    """Merge ascending ids of many files, and remove these."""
    total = 0
    for ids in _id_merged(runs, most):
        total += len(ids)
    with target.open("xb") as file:
        header = {"descr": dtype.str, "fortran_order": False, "shape": (total,)}
        np.lib.format.write_array_header_1_0(file, header)
        for ids in _id_merged(runs, most):
            file.write(ids.astype(dtype).data)
    for path in runs:
        path.unlink()


def _id_merged(runs: list[Path], most: int) -> Iterator[np.ndarray]:
    """Yield the ids of many files, ascending, each once, some at a time."""
    left = [ids for path in runs if len(ids := load_ids(path))]
    while left:
        block = max(1, most // len(left))
        # Up to the least last id of their blocks nothing is missing
        end = min(int(ids[:block][-1]) for ids in left)
        cuts = [int(np.searchsorted(ids[:block], end, "right")) for ids in left]
        taken = [ids[:cut] for ids, cut in zip(left, cuts, strict=True)]
        yield np.unique(np.concatenate(taken))
        rest = (ids[cut:] for ids, cut in zip(left, cuts, strict=True))
        left = [ids for ids in rest if len(ids)]


def _id_slices(pieces: Iterator[Edges]) -> Iterator[Edges]:
    """Yield pieces that take little memory to sort."""
    for piece in pieces:
        for low in range(0, len(piece), ID_SLICE):
            held = slice(low, low + ID_SLICE)
            yield Edges(
                piece.num_vertices,
                piece.src[held],
                piece.dst[held],
                piece.weight[held],
                piece.directed,
            )


def _retyped(
    piece: Edges, num_vertices: int, src: np.ndarray, dst: np.ndarray
) -> Edges:
    ids = id_dtype(num_vertices)
    src, dst = src.astype(ids, copy=False), dst.astype(ids, copy=False)
    return Edges(num_vertices, src, dst, piece.weight, piece.directed)
