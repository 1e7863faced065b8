"""Numbers of vertices: bounded by the user, positions of their names, or a new order.

*Names* (`NumberedFile`) and *ids without gaps* (`CompactFile`): the ascending order of
the names, or the ids, that occur in edges numbers the vertices. Memory is bounded:
every process sorts the names of its share, some at a time, and writes each batch as a
run; one process merges all runs into one list in the working directory. The list is
memory-mapped while edges are read again.

*A new order* (`ReorderedFile`) puts neighbours near each other in memory. Kolganov
(2016) numbers well-connected vertices next to each other, for a GPU's cache. `bfs`
numbers them as a breadth-first search meets them, `rcm` by the reverse of Cuthill and
McKee's order (1969; George, 1971), the same search with vertices of least degree first.
`degree` puts vertices with many neighbours first: their data is used most, and is then
close together. It takes 8 bytes a vertex and process while it counts; for the others
one process reads the whole graph into memory. Both maps between numbers are
memory-mapped files.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from ...comm.communicator import Comm
from ...graph.order import id_dtype, stored_id_dtype
from ...host.errors import ConfigError, InputError
from ...host.formatting import size_text
from ...host.memory import free_bytes
from ...host.memory_costs import NAME_KEY_BYTES, SORTED_NAMES_COPIES
from ..edge_file import (
    EdgeFile,
    Edges,
    WrappedEdgeFile,
    as_ids,
    changed_meanwhile,
    checked_edges,
    without_negative_zero,
)
from ..file_access import writing
from ..kernels.csr_conversion import both_directions, upper_triangle
from ..kernels.partitioner import add_degrees, breadth_first
from ..named_edge_file import EdgesByName, NamedEdgeFile
from ..names import (
    IntegerNames,
    NameIndex,
    NameKind,
    Names,
    TextNames,
    ascending_names,
    joined_names,
    names_of_keys,
)
from .arc_buckets import check_vertices
from .edge_survey import SIZES, BufferSizes, bound_and_total, share, share_pieces
from .partition_run import NAMES, NAMES_KIND, NEW_IDS, ORDER, VERTICES, write_json

DEGREE_BYTES = 8
ORDERS = ("none", "degree", "bfs", "rcm")


class BoundedFile(WrappedEdgeFile):
    """An edge file with the user's number of vertices."""

    def __init__(self, file: EdgeFile, num_vertices: int) -> None:
        super().__init__(file)
        self.num_vertices: int = num_vertices
        self.vertices_given = True

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file; InputError for an id beyond the vertices."""
        bound = self.num_vertices
        ids = id_dtype(bound)
        for piece in self.file.pieces(begin, end):
            for ends, others in ((piece.src, piece.dst), (piece.dst, piece.src)):
                if len(ends) and ends.max() >= bound:
                    at, first = int(ends.argmax()), self.first_id
                    raise InputError(
                        f"{self.name}: an edge joins the vertices {ends[at] + first} "
                        f"and {others[at] + first}, but with --num-vertices {bound} "
                        f"ids run from {first} to {first + bound - 1}. Fix the edge, "
                        "or give more vertices."
                    )
            src, dst = as_ids(piece.src, ids), as_ids(piece.dst, ids)
            yield Edges(bound, src, dst, piece.weight, piece.directed)


class CompactFile(WrappedEdgeFile):
    """An edge file whose ids get numbers without gaps, by `save_vertices`."""

    def __init__(
        self, file: EdgeFile, work: Path, slice_edges: int = SIZES.slice_edges
    ) -> None:
        super().__init__(file)
        self.slice_edges = slice_edges
        self.ids = load_names(work / VERTICES, NameKind.INT64)
        self.num_vertices: int = len(self.ids)

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file with new ids; see `EdgeFile`."""
        pieces = _slices(_by_id(self.file.pieces(begin, end)), self.slice_edges)
        return _numbered(self.name, pieces, self.ids)


class NumberedFile(EdgeFile):
    """An edge file that numbers its vertices by their names, from `save_names`."""

    def __init__(
        self, file: NamedEdgeFile, work: Path, slice_edges: int = SIZES.slice_edges
    ) -> None:
        self.file, self.slice_edges = file, slice_edges
        self.copy_facts(file)
        self.rereadable, self.vertices_given = False, True
        self.names: Names = load_names(work / NAMES, file.kind)
        self.num_vertices: int = len(self.names)

    def identity(self) -> dict[str, object]:
        """Return facts that identify the file."""
        return self.file.identity()

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file with numbers; see `EdgeFile`."""
        pieces = _slices(self.file.named_pieces(begin, end), self.slice_edges)
        return _numbered(self.name, pieces, self.names)


def save_vertices(
    comm: Comm,
    file: EdgeFile,
    work: Path,
    room: int,
    sizes: BufferSizes = SIZES,
) -> None:
    """Save the ids that occur in a file; see `save_names`. Collective."""
    pieces = _by_id(share_pieces(comm, file))
    _save_merged(comm, pieces, NameKind.INT64, work / VERTICES, room, sizes)


def save_names(
    comm: Comm,
    file: NamedEdgeFile,
    work: Path,
    room: int,
    sizes: BufferSizes = SIZES,
) -> None:
    """Save the names that occur in a file, ascending, each once. Collective."""
    begin, end = share(comm, file)
    pieces = file.named_pieces(begin, end) if begin < end else ()
    _save_merged(comm, pieces, file.kind, work / NAMES, room, sizes)
    with comm.raise_on_all():
        if comm.rank == 0:
            write_json(work / NAMES_KIND, file.kind.value)


def saved_kind(work: Path) -> NameKind:
    """Return the kind of the names that a run has saved."""
    with writing(work):
        return NameKind(json.loads((work / NAMES_KIND).read_text()))


def has_saved_vertices(work: Path) -> bool:
    """Return whether a run has saved ids that are numbered without gaps."""
    return _array_file(work / VERTICES, "integers").exists()


def load_vertices(work: Path) -> np.ndarray:
    """Return the ids of vertices without gaps, mapped from a file (int64)."""
    return load_names(work / VERTICES, NameKind.INT64).columns()["integers"]


def load_names(path: Path, kind: NameKind) -> Names:
    """Return names mapped from the files that begin with a path."""
    with writing(path):
        if kind.is_integer:
            return IntegerNames(_mapped(path, "integers", np.dtype(kind.value)))
        text = _mapped(path, "text", np.dtype(np.uint8))
        return TextNames(kind, text, _mapped(path, "begins", np.dtype(np.int64)))


def _by_id(pieces: Iterable[Edges]) -> Iterator[EdgesByName]:
    """Yield edges whose ids are taken for names."""
    for piece in pieces:
        src, dst = IntegerNames(piece.src), IntegerNames(piece.dst)
        yield EdgesByName(src, dst, piece.weight)


def _numbered(
    source: str, pieces: Iterator[EdgesByName], names: Names
) -> Iterator[Edges]:
    """Yield edges by the positions of their ends in a list of all names."""
    index = NameIndex(names)
    for piece in pieces:
        numbers = index.find(joined_names([piece.src, piece.dst]))
        if (numbers < 0).any():
            raise changed_meanwhile(source)
        src, dst = np.split(numbers, 2)
        yield checked_edges(source, len(names), src, dst, piece.weight)


def _save_merged(
    comm: Comm,
    pieces: Iterable[EdgesByName],
    kind: NameKind,
    target: Path,
    room: int,
    sizes: BufferSizes,
) -> None:
    """Save the names of all ranks' pieces, ascending, each once. Collective."""
    most = min(max(room // SORTED_NAMES_COPIES, sizes.fewest_names), sizes.most_names)
    with comm.raise_on_all():
        pieces = _slices(pieces, sizes.slice_edges)
        runs = _write_runs(pieces, kind, target, comm.rank, most)
    counts = comm.gather(runs)
    with comm.raise_on_all():
        if counts is not None:
            paths = [
                _run(target, rank, run)
                for rank, count in enumerate(counts)
                for run in range(count)
            ]
            _save(target, _merged([load_names(run, kind) for run in paths], most), kind)
            with writing(target):
                for run in paths:
                    for path in run.parent.glob(f"{run.name}-*"):
                        path.unlink()


def _write_runs(
    pieces: Iterable[EdgesByName], kind: NameKind, target: Path, rank: int, most: int
) -> int:
    """Write the names of this rank's pieces as runs; return their number."""
    names: list[Names] = []
    runs = 0
    for piece in pieces:
        names.append(ascending_names(joined_names([piece.src, piece.dst])))
        if sum(map(_cost, names)) > most:
            names = [ascending_names(joined_names(names))]
            if _cost(names[0]) > most // 2:
                _save(_run(target, rank, runs), [names.pop()], kind)
                runs += 1
    if names:
        _save(_run(target, rank, runs), [ascending_names(joined_names(names))], kind)
        runs += 1
    return runs


def _merged(runs: list[Names], most: int) -> Iterator[Names]:
    """Yield the names of ascending runs in order, each once, some at a time."""
    unread = [(run, 0) for run in runs if len(run)]
    while unread:
        room = most // len(unread)
        blocks = []
        for run, first in unread:
            average = 1 + _cost(run) // len(run)
            last = min(first + max(1, room // average), len(run))
            blocks.append(run.take(slice(first, last)))
        # Below the least last name of all blocks no name is missing
        end = min(b.take(slice(len(b) - 1, len(b))).keys()[0] for b in blocks)
        counts = [block.count_through(end) for block in blocks]
        taken = [b.take(slice(0, n)) for b, n in zip(blocks, counts, strict=True)]
        yield ascending_names(joined_names(taken))
        moved = ((r, at + n) for (r, at), n in zip(unread, counts, strict=True))
        unread = [(run, first) for run, first in moved if first < len(run)]


def _slices(pieces: Iterable[EdgesByName], most: int) -> Iterator[EdgesByName]:
    """Yield pieces that take little memory to sort."""
    for piece in pieces:
        for low in range(0, len(piece), most):
            yield piece.part(low, min(low + most, len(piece)))


def _cost(names: Names) -> int:
    """Return the bytes that names take while they are sorted, without copies."""
    is_integer = isinstance(names, IntegerNames)
    return names.nbytes + (0 if is_integer else NAME_KEY_BYTES * len(names))


def _run(target: Path, rank: int, run: int) -> Path:
    return target.with_name(f"{target.name}-{rank}-{run}")


def _save(path: Path, lists: Iterable[Names], kind: NameKind) -> None:
    """Write concatenated lists of names, each array to its own file."""
    empty = names_of_keys(kind, []).columns()
    total = 0
    with writing(path), ExitStack() as stack:
        files = {
            name: stack.enter_context(_array_file(path, name).open("xb"))
            for name in empty
        }
        if "begins" in files:
            files["begins"].write(np.zeros(1, np.int64).data)
        for names in lists:
            columns = names.columns()
            if "begins" in columns:
                columns["begins"] = columns["begins"][1:] + total
                total += len(columns["text"])
            for name, file in files.items():
                file.write(columns[name].astype(empty[name].dtype, copy=False).data)


def _array_file(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}-{name}.bin")


def _mapped(path: Path, name: str, dtype: np.dtype) -> np.ndarray:
    file = _array_file(path, name)
    length = file.stat().st_size // dtype.itemsize
    if length == 0:  # which the system does not map
        return np.empty(0, dtype)
    return np.memmap(file, dtype, "r", shape=(length,))


class ReorderedFile(WrappedEdgeFile):
    """An edge file whose vertices have the order that `save_order` has saved."""

    def __init__(self, file: EdgeFile, work: Path) -> None:
        super().__init__(file)
        self.work = work
        self.num_vertices = len(load_ids(work / ORDER))

    def pieces(self, begin: int, end: int) -> Iterator[Edges]:
        """Yield the pieces of the file with new ids; see `EdgeFile`."""
        new_id = load_ids(self.work / NEW_IDS)
        for piece in self.file.pieces(begin, end):
            yield _renamed(piece, new_id)


def save_order(comm: Comm, file: EdgeFile, order: str, work: Path) -> int | None:
    """Compute one of `ORDERS` of the vertices, and save its maps. Collective.

    Returns the smallest end of all edges; None if there is no edge.
    """
    with comm.raise_on_all():
        counted, entries = _degrees_of_share(comm, file)
    facts = len(counted), entries
    num_vertices, all_entries = comm.combine(facts, bound_and_total)
    with comm.raise_on_all():
        check_vertices(file, num_vertices, all_entries)
    degrees = comm.sum(np.pad(counted, (0, num_vertices - len(counted))))
    with comm.raise_on_all():
        if comm.rank == 0:
            stored = stored_id_dtype(num_vertices)
            ordered = _ordered(file, order, degrees).astype(stored)
            with writing(work):
                for name, ids in ((ORDER, ordered), (NEW_IDS, _inverse(ordered))):
                    with (work / name).open("xb") as target:
                        np.save(target, ids)
    has_edge = degrees > 0
    return int(has_edge.argmax()) if has_edge.any() else None


def _ordered(file: EdgeFile, order: str, degrees: np.ndarray) -> np.ndarray:
    if order == "degree":
        return np.argsort(-degrees, kind="stable")
    edges = file.read()
    lowest_first = np.arange(len(degrees))
    if order == "rcm":
        lowest_first = np.argsort(degrees, kind="stable")
        edges = _renamed(edges, _inverse(lowest_first.astype(edges.src.dtype)))
    indptr, indices, _ = symmetric_rows(edges)
    ordered = lowest_first[breadth_first(indptr, indices)]
    return ordered[::-1] if order == "rcm" else ordered


def symmetric_rows(edges: Edges) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the CSR rows of a graph as `partition` writes them."""
    weight = without_negative_zero(edges.weight)
    return both_directions(
        *upper_triangle(edges.num_vertices, edges.src, edges.dst, weight)
    )


def _degrees_of_share(comm: Comm, file: EdgeFile) -> tuple[np.ndarray, int]:
    """Return the degrees (int64) and the number of entries in this rank's share."""
    num_vertices, entries = file.num_vertices or 0, 0
    _check_room(file, num_vertices, num_vertices)
    degrees = np.zeros(num_vertices, np.int64)
    for piece in share_pieces(comm, file):
        entries += len(piece)
        num_vertices = max(num_vertices, piece.num_vertices)
        if num_vertices > len(degrees):
            _check_room(file, 2 * num_vertices, num_vertices)
            fewer = degrees
            degrees = np.zeros(2 * num_vertices, np.int64)  # taken when written
            degrees[: len(fewer)] = fewer
        add_degrees(piece.src, piece.dst, degrees)
    return degrees[:num_vertices], entries


def _check_room(file: EdgeFile, counts: int, num_vertices: int) -> None:
    """Check that the memory limit allows an array of degrees."""
    free = free_bytes()
    if counts * DEGREE_BYTES > free:
        raise ConfigError(
            f"{file.name}: to order its vertices takes "
            f"{size_text(counts * DEGREE_BYTES)} in every process, and "
            f"{size_text(free)} are free. Its largest vertex id is "
            f"{file.first_id + num_vertices - 1}, and every number up to it is a "
            "vertex: if that id is wrong, fix it; else use fewer processes, or no "
            "--reorder."
        )


def _renamed(edges: Edges, new_id: np.ndarray) -> Edges:
    ids = id_dtype(len(new_id))
    src, dst = as_ids(new_id[edges.src], ids), as_ids(new_id[edges.dst], ids)
    return Edges(len(new_id), src, dst, edges.weight, edges.directed)


def _inverse(order: np.ndarray) -> np.ndarray:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order), dtype=order.dtype)
    return inverse


def load_ids(path: Path) -> np.ndarray:
    """Return ids mapped from a file."""
    with writing(path):
        ids: np.ndarray = np.load(path, mmap_mode="r")
    return ids
