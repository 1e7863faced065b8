"""Vertices of a graph: a number set by the user, or the ids that occur in edges.

The ids are found in bounded memory: every process sorts the ids of its share in runs
that fit its memory, and writes the runs; one process merges the runs of all processes
into a memory-mapped file in the working directory. An id's position in that file
is its new number.

Number named vertices in ascending order of their names, in bounded memory.

Every process sorts the names of its share, some at a time, and writes each batch as a
run. One process merges the runs into one list of all names on disk. The position of a
name in this list is the vertex's number. The list is memory-mapped while edges are read
again; texts are found in it by bisection.

New numbers for vertices, so that neighbours are near each other in memory.

Kolganov (2016) numbers well-connected vertices next to each other, for a GPU's cache.
`bfs` numbers them as a breadth-first search meets them, `rcm` by the reverse of Cuthill
and McKee's order (1969; George, 1971), the same search with vertices of least degree
first. `degree` puts vertices with many neighbours first: their data is used most, and
is then close together. It takes 8 bytes a vertex and process while it counts; for the
others one process reads the whole graph into memory.

Both maps between numbers are memory-mapped files in the working directory.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...graph.order import id_dtype, stored_id_dtype
from ...host.errors import ConfigError, InputError
from ...host.memory import free_bytes
from ..edge_file import EdgeFile, EdgeFileOver, Edges, as_ids, checked_edges
from ..file_access import writing
from ..kernels.csr_conversion import both_directions, upper_triangle
from ..kernels.partitioner import add_degrees, breadth_first
from ..named_edge_file import KEY_BYTES, EdgesByName, NamedEdgeFile, no_names
from ..names import (
    IntegerNames,
    NameKind,
    Names,
    TextNames,
    ascending_names,
    distinct_names,
    joined_names,
)
from .bucket_plan import check_vertices
from .builders import Builders
from .edge_survey import share
from .partition_run import NAMES, NAMES_KIND, NEW_IDS, ORDER, VERTICES, write_json

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


# Bytes of names that are held at once, and how often they are copied while sorted.
FEWEST_BYTES, MOST_BYTES, COPIES = 1 << 20, 1 << 30, 4
SLICE = 1 << 17  # edges whose names are looked up at once


class Numbered(EdgeFile):
    """An edge file whose vertices have the positions of their names as numbers.

    Parameters
    ----------
    work : Path
        The directory that `save_names` has put the names in.
    """

    def __init__(self, file: NamedEdgeFile, work: Path) -> None:
        self.file = file
        self.name, self.length = file.name, file.length
        self.num_entries, self.weight_dtype = file.num_entries, file.weight_dtype
        self.seekable, self.rereadable = file.seekable, False
        self.vertices_asked = True
        self.names: Names = load_names(work / NAMES, file.kind)
        self.num_vertices: int = len(self.names)

    def identity(self) -> dict[str, object]:
        """Return facts that identify the file."""
        return self.file.identity()

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file with numbers; see `EdgeFile`."""
        for piece in _slices(self.file.named_pieces(begin, end)):
            wanted, positions = distinct_names(joined_names([piece.src, piece.dst]))
            numbers = self.names.find(wanted)
            if (numbers < 0).any():
                raise InputError(
                    f"{self.name}: has changed while it was read. Run the command "
                    "again."
                )
            src, dst = np.split(numbers[positions], 2)
            yield checked_edges(
                self.name, self.num_vertices, src, dst, piece.weight, directed=True
            )


def save_names(builders: Builders, file: NamedEdgeFile, work: Path, room: int) -> None:
    """Save the names that occur in a file, ascending, each once. Collective.

    Parameters
    ----------
    room : int
        Bytes that may be taken.

    Raises
    ------
    InputError
        If the file is damaged.
    OutputError
        If the names cannot be written.
    """
    most = min(max(room // COPIES, FEWEST_BYTES), MOST_BYTES)
    with builders.raise_on_all():
        runs = _write_runs(builders, file, work, most)
    counts = builders.allgather(runs)
    with builders.raise_on_all():
        if builders.rank == 0:
            paths = [
                _run(work, rank, run)
                for rank, count in enumerate(counts)
                for run in range(count)
            ]
            with writing(work):
                _merge(paths, work / NAMES, file.kind, most)
                write_json(work / NAMES_KIND, file.kind.value)


def saved_kind(work: Path) -> NameKind:
    """Return the kind of the names that a run has saved."""
    with writing(work):
        return NameKind(json.loads((work / NAMES_KIND).read_text()))


def load_names(path: Path, kind: NameKind) -> Names:
    """Return names mapped from the files that begin with a path."""
    with writing(path):
        if kind.is_integer:
            return IntegerNames(_mapped(path, "integers", np.dtype(kind.value)))
        text = _mapped(path, "text", np.dtype(np.uint8))
        return TextNames(kind, text, _mapped(path, "begins", np.dtype(np.int64)))


def _write_runs(builders: Builders, file: NamedEdgeFile, work: Path, most: int) -> int:
    """Write the names of this rank's share as runs; return their number."""
    held: list[Names] = []
    runs = 0
    for names in _own_names(builders, file):
        held.append(names)
        if sum(map(_cost, held)) > most:
            held = [ascending_names(joined_names(held))]
            if _cost(held[0]) > most // 2:
                _save(_run(work, builders.rank, runs), [held.pop()], file.kind)
                runs += 1
    if held:
        _save(
            _run(work, builders.rank, runs),
            [ascending_names(joined_names(held))],
            file.kind,
        )
        runs += 1
    return runs


def _own_names(builders: Builders, file: NamedEdgeFile) -> Iterator[Names]:
    """Yield the names of each piece of this rank's share, ascending, each once."""
    begin, end = 0, file.length
    if file.seekable:
        begin = file.length * builders.rank // builders.size
        end = file.length * (builders.rank + 1) // builders.size
    elif builders.rank:
        begin = end
    for piece in _slices(file.named_pieces(begin, end) if begin < end else iter(())):
        yield ascending_names(joined_names([piece.src, piece.dst]))


def _merge(runs: list[Path], target: Path, kind: NameKind, most: int) -> None:
    """Merge runs into one list, and remove them."""
    _save(target, _merged([load_names(run, kind) for run in runs], most), kind)
    for run in runs:
        for path in run.parent.glob(f"{run.name}-*"):
            path.unlink()


def _merged(runs: list[Names], most: int) -> Iterator[Names]:
    """Yield the names of ascending runs in order, each once, some at a time."""
    left = [(run, 0) for run in runs if len(run)]
    while left:
        share = most // len(left)
        blocks = []
        for run, first in left:
            average = 1 + _cost(run) // len(run)
            last = min(first + max(1, share // average), len(run))
            blocks.append(run.take(slice(first, last)))
        # Below the least last name of all blocks no name is missing
        end = min(block.keys()[-1] for block in _last_names(blocks))
        counts = [block.count_through(end) for block in blocks]
        taken = [b.take(slice(0, n)) for b, n in zip(blocks, counts, strict=True)]
        yield ascending_names(joined_names(taken))
        moved = ((r, at + n) for (r, at), n in zip(left, counts, strict=True))
        left = [(run, first) for run, first in moved if first < len(run)]


def _last_names(blocks: list[Names]) -> Iterator[Names]:
    """Yield the last name of each block."""
    for block in blocks:
        yield block.take(slice(len(block) - 1, len(block)))


def _slices(pieces: Iterator[EdgesByName]) -> Iterator[EdgesByName]:
    """Yield pieces that take little memory to sort."""
    for piece in pieces:
        if len(piece) <= SLICE:
            yield piece
            continue
        for low in range(0, len(piece), SLICE):
            yield piece.part(low, min(low + SLICE, len(piece)))


def _cost(names: Names) -> int:
    """Return the bytes that names take while they are sorted, without copies."""
    return names.nbytes + (0 if names.kind.is_integer else KEY_BYTES * len(names))


def _run(work: Path, rank: int, run: int) -> Path:
    return work / f"{NAMES}-{rank}-{run}"


def _save(path: Path, lists: Iterator[Names] | list[Names], kind: NameKind) -> None:
    """Write concatenated lists of names, each array to its own file."""
    empty = no_names(kind).columns()
    files = {name: _array_file(path, name).open("xb") for name in empty}
    total = 0
    with writing(path):
        try:
            if "begins" in files:
                files["begins"].write(np.zeros(1, np.int64).data)
            for names in lists:
                columns = names.columns()
                if "begins" in columns:
                    columns["begins"] = columns["begins"][1:] + total
                    total += len(columns["text"])
                for name, file in files.items():
                    file.write(columns[name].data)
        finally:
            for file in files.values():
                file.close()


def _array_file(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}-{name}.bin")


def _mapped(path: Path, name: str, dtype: np.dtype) -> np.ndarray:
    file = _array_file(path, name)
    length = file.stat().st_size // dtype.itemsize
    if length == 0:  # which the system does not map
        return np.empty(0, dtype)
    return np.memmap(file, dtype, "r", shape=(length,))


DEGREE_BYTES = 8
ORDERS = ("none", "degree", "bfs", "rcm")


class Renumbered(EdgeFileOver):
    """An edge file with new ids.

    Parameters
    ----------
    file : EdgeFile
        With the original ids.
    work : Path
        Where `save_order` has put the maps.
    """

    def __init__(self, file: EdgeFile, work: Path) -> None:
        super().__init__(file)
        self.work = work
        self.num_vertices = len(load_ids(work / ORDER))

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file with new ids; see `EdgeFile`."""
        new_id = load_ids(self.work / NEW_IDS)
        for piece in self.file.pieces(begin, end):
            yield _renamed(piece, new_id)


def save_order(builders: Builders, file: EdgeFile, order: str, work: Path) -> None:
    """Compute one of `ORDERS` of the vertices, and save its maps. Collective.

    Raises
    ------
    ConfigError
        If there is not the memory to count the edges of every vertex.
    InputError
        If the file is damaged, or has far more vertices than its edges name.
    OutputError
        If the maps cannot be written.
    """
    with builders.raise_on_all():
        counted, entries = _own_degrees(builders, file)
    bounds, all_entries = zip(*builders.allgather((len(counted), entries)), strict=True)
    num_vertices = max(bounds)
    with builders.raise_on_all():
        check_vertices(file, num_vertices, sum(all_entries))
    degrees = builders.sum(np.pad(counted, (0, num_vertices - len(counted))))
    with builders.raise_on_all():
        if builders.rank == 0:
            ordered = _ordered(file, order, degrees).astype(
                stored_id_dtype(num_vertices)
            )
            with writing(work):
                for name, ids in ((ORDER, ordered), (NEW_IDS, _inverse(ordered))):
                    with (work / name).open("xb") as target:
                        np.save(target, ids)


def _ordered(file: EdgeFile, order: str, degrees: np.ndarray) -> np.ndarray:
    if order == "degree":
        return np.argsort(-degrees, kind="stable")
    edges = file.read()
    lowest_first = np.arange(len(degrees))
    if order == "rcm":
        lowest_first = np.argsort(degrees, kind="stable")
        edges = _renamed(edges, _inverse(lowest_first.astype(edges.src.dtype)))
    indptr, indices, weight = upper_triangle(
        len(degrees), edges.src, edges.dst, edges.weight
    )
    indptr, indices, _ = both_directions(indptr, indices, weight)
    found = lowest_first[breadth_first(indptr, indices)]
    return found[::-1] if order == "rcm" else found


def _own_degrees(builders: Builders, file: EdgeFile) -> tuple[np.ndarray, int]:
    """Return the degrees of the vertices that occur, counted in this rank's share.

    Returns
    -------
    degrees : ndarray of int64
    entries : int
        Of the share.
    """
    num_vertices, entries = file.num_vertices or 0, 0
    _check_room(file.name, num_vertices, num_vertices)
    degrees = np.zeros(num_vertices, np.int64)
    begin, end = share(builders, file)
    for piece in file.pieces(begin, end) if begin < end else ():
        entries += len(piece)
        num_vertices = max(num_vertices, piece.num_vertices)
        if num_vertices > len(degrees):
            _check_room(file.name, 2 * num_vertices, num_vertices)
            fewer = degrees
            degrees = np.zeros(2 * num_vertices, np.int64)  # taken when written
            degrees[: len(fewer)] = fewer
        add_degrees(piece.src, piece.dst, degrees)
    return degrees[:num_vertices], entries


def _check_room(name: str, counts: int, num_vertices: int) -> None:
    """Check that the memory limit allows an array of degrees."""
    free = free_bytes()
    if counts * DEGREE_BYTES > free:
        raise ConfigError(
            f"{name}: to order its vertices takes {counts * DEGREE_BYTES:,} bytes in "
            f"every process, and {free:,} are free. It has a vertex id, counted from "
            f"0, of {num_vertices - 1}, and every number up to it is a vertex: if that "
            "id is wrong, fix it; else use fewer processes, or no --reorder."
        )


def _renamed(edges: Edges, new_id: np.ndarray) -> Edges:
    ids = id_dtype(len(new_id))
    src, dst = as_ids(new_id[edges.src], ids), as_ids(new_id[edges.dst], ids)
    return Edges(len(new_id), src, dst, edges.weight, edges.directed)


def _inverse(order: np.ndarray) -> np.ndarray:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order), dtype=order.dtype)
    return inverse
