"""Number named vertices in ascending order of their names, in bounded memory.

Every process sorts the names of its share, some at a time, and writes each batch as a
run. One process merges the runs into one list of all names on disk. The position of a
name in this list is the vertex's number. The list is memory-mapped while edges are read
again; texts are found in it by bisection.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...host.errors import InputError
from ..edge_file import EdgeFile
from ..edges import Edges, checked_edges
from ..file_errors import writing
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
from .builders import Builders
from .restart import write_json
from .work_directory import NAMES, NAMES_KIND

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
