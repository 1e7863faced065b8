"""A sharded graph on disk: headers, bounds of parts, row pointers, names.

docs/files.md describes the files: each undirected edge stands twice, in the rows of
both its ends, and the ids within a row ascend. Headers are checked against the datasets
before any memory is taken for them. `row_reading` reads the arcs.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from ...graph.order import WEIGHT_DTYPES, KeyRule, key_rule, keys_to_weights
from ...graph.tuning import Tuning
from ...host.errors import InputError
from ...kernels.threads import ALONE, Threads, each_range
from ..edge_file import MAX_VERTICES
from ..file_access import (
    ascends,
    check_version,
    count_attribute,
    flag_attribute,
    open_hdf5,
    read_attribute,
    reading,
    text_attribute,
)
from ..hdf5_reader import ChunkReader, checked_dataset, read_dataset, read_names
from ..kernels.chunk_reading import move_ascending
from ..names import IdRange, NameKind, Names, joined_names
from ..output_kinds import INDEX_NAME
from .graph_directory import (
    GRAPH_FORMAT,
    MAXIMUM,
    NAMES,
    ORIGINAL_VERTICES,
    SHARD_FORMAT,
    VERSION,
    read_first_id,
)

# Parts that are open at once, so that threads need not wait at the end of each part.
OPEN_PARTS = 32
# Other files of this program, in messages
_OWN_FORMAT = re.compile("mndmst-[a-z]+")

# The shipped graph in a checkout, and below the prefix of an installation; see
# pyproject.toml.
DEMO = Path("partitions", "demo")
INSTALLED_DEMO = Path("share", "mndmst", "demo")


@dataclass(frozen=True)
class ShardedGraph:
    """A graph on disk; a read takes memory for the requested range only."""

    path: Path  # the index, or the one shard
    uuid: str
    weight_dtype: np.dtype
    # int64 [parts + 1]: first vertex and first arc of every part
    vtxdist: np.ndarray
    arcdist: np.ndarray
    parts: tuple[Path, ...]  # the files
    # Whether the vertices had other ids at first, see `read_original_ids`
    reordered: bool = False
    # The number of original vertices; 0 if it equals the present number
    original_vertices: int = 0
    # The least id of the graph's file: 1 if the file counts vertices from 1
    first_id: int = 0
    # The kind of the vertices' names, where the graph keeps any; see `read_names`
    names: NameKind | None = None
    # Whether the forest of the graph is its maximum forest: keys descend with weights,
    # and of parallel edges it has the heaviest
    maximum: bool = False
    _checked: dict[int, object] = field(default_factory=dict, repr=False, compare=False)

    @property
    def num_vertices(self) -> int:
        """Vertices of the whole graph."""
        return int(self.vtxdist[-1])

    @property
    def num_arcs(self) -> int:
        """Arcs of the whole graph; every undirected edge is two."""
        return int(self.arcdist[-1])

    @property
    def key_rule(self) -> KeyRule:
        """The map of the bits of weights to keys, which descend if `maximum`."""
        return key_rule(self.weight_dtype, self.maximum)

    def weights(self, keys: np.ndarray) -> np.ndarray:
        """Return keys that rows of this graph have as weights, in a new array."""
        return keys_to_weights(keys, self.weight_dtype, self.maximum)

    @property
    def num_parts(self) -> int:
        """Number of files the rows are spread over."""
        return len(self.parts)

    @property
    def location(self) -> Path:
        """The path that opens the graph: its directory, or the one shard."""
        return self.path.parent if self.path.name == INDEX_NAME else self.path

    @property
    def has_names(self) -> bool:
        """Whether vertices have names, or had other ids in the graph's file."""
        return self.reordered or self.first_id > 0 or self.names is not None

    @property
    def id_range(self) -> IdRange | None:
        """The ids of the vertices, where these are consecutive integers not from 0."""
        if self.first_id == 0 or self.reordered or self.names is not None:
            return None
        return IdRange(self.first_id, self.num_vertices)

    def has_few_arcs(self, tuning: Tuning = Tuning.default) -> bool:
        """Return whether the graph is worth no compilation; see `Tuning.few_arcs`."""
        return self.num_vertices + self.num_arcs <= tuning.few_arcs

    def read_indptr(self, begin: int, end: int, threads: Threads = ALONE) -> np.ndarray:
        """Return the row pointers of rows (int64 [rows + 1]) in the whole graph."""
        indptr = np.empty(end - begin + 1, np.int64)
        for parts in _read_at_once(list(self.overlap(begin, end))):
            targets = [indptr[low - begin : high - begin + 1] for _, low, high in parts]
            self._read_pointers(parts, targets, threads)
            for (part, low, high), target in zip(parts, targets, strict=True):
                first, arcs = self.vtxdist[part], self._arcs(part)
                whole = (low > first or target[0] == 0) and (
                    high < self.vtxdist[part + 1] or target[-1] == arcs
                )
                fine = whole and 0 <= target[0] <= target[-1] <= arcs
                if not (fine and _move(target, int(self.arcdist[part]), threads)):
                    raise self.wrong(
                        part, "its row pointers do not ascend from 0 to the end"
                    )
        return indptr

    def _read_pointers(
        self,
        parts: list[tuple[int, int, int]],
        targets: list[np.ndarray],
        threads: Threads,
    ) -> None:
        """Read the row pointers of some parts' rows as they are stored."""

        def read(reader: ChunkReader, begin: int, target: np.ndarray) -> None:
            with reading(reader.path):
                reader.read(begin, target)

        pieces = []
        with ExitStack() as files:
            for (part, low, _), target in zip(parts, targets, strict=True):
                dataset = files.enter_context(self.open(part))["graph/indptr"]
                first = low - int(self.vtxdist[part])
                last = first + len(target)
                reader = ChunkReader(self.parts[part], dataset, first, last)
                pieces += [
                    (reader, begin, target[begin - first : end - first])
                    for begin, end in reader.cut(threads.count)
                ]
            threads.map(read, pieces)

    def pieces(
        self, most_rows: int, most_arcs: int, threads: Threads = ALONE
    ) -> Iterator[tuple[int, int]]:
        """Yield ranges of vertices that cover the graph, of one row or of few arcs."""
        for first in range(0, self.num_vertices, most_rows):
            last = min(first + most_rows, self.num_vertices)
            indptr, low = self.read_indptr(first, last, threads), 0
            while low < last - first:
                end = np.searchsorted(indptr, indptr[low] + most_arcs, side="right")
                high = max(low + 1, min(int(end) - 1, last - first))
                yield first + low, first + high
                low = high

    def read_original_ids(self, begin: int, end: int) -> np.ndarray:
        """Return the ids that the vertices [begin, end) had in the graph's file."""
        ids = np.arange(begin + self.first_id, end + self.first_id)
        for part, low, high in self.overlap(begin, end) if self.reordered else ():
            first, last = self.vtxdist[part : part + 2].tolist()
            with self.open(part) as file:
                path, name = self.parts[part], "original-id"
                dataset = checked_dataset(path, file, name, last - first)
                rows = slice(low - begin, high - begin)
                ids[rows] = read_dataset(path, dataset, low - first, high - first)
        end_id = self.first_id + (self.original_vertices or self.num_vertices)
        if len(ids) and (ids.min() < self.first_id or ids.max() >= end_id):
            raise InputError(
                f"{self.path}: an original id is out of range. Make the graph again."
            )
        return ids

    def read_names(self, begin: int, end: int) -> Names:
        """Return the names of the vertices [begin, end) of a graph that keeps names."""
        if self.names is None:
            raise ValueError("the graph keeps no names")
        names = []
        for part, low, high in self.overlap(begin, end):
            first, last = self.vtxdist[part : part + 2].tolist()
            rows = range(low - first, high - first)
            with self.open(part) as file:
                path, count = self.parts[part], last - first
                names.append(read_names(path, file, self.names, count, rows))
        return joined_names(names)

    def text_bytes(self) -> int:
        """Return the bytes of the letters of all names, of a graph with texts."""
        total = 0
        for part, path in enumerate(self.parts):
            with self.open(part) as file:
                total += len(checked_dataset(path, file, "names/text"))
        return total

    @contextmanager
    def open(self, part: int) -> Iterator[h5py.File]:
        """Open a part, compared with the index the first time, and unchanged since."""
        path = self.parts[part]
        with reading(path), open_hdf5(path) as file:
            status = os.fstat(file.id.get_vfd_handle())
            state = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
            if part not in self._checked:
                self._check(part, file)
                self._checked[part] = state
            if self._checked[part] != state:
                raise InputError(
                    f"{path}: has changed since it was first read. Leave the graph "
                    "alone until the run has ended, and start again."
                )
            yield file

    def _check(self, part: int, file: h5py.File) -> None:
        begin, end = self.vtxdist[part : part + 2].tolist()
        expected = {
            "format": SHARD_FORMAT,
            "version": VERSION,
            "graph-uuid": self.uuid,
            "num_vertices": self.num_vertices,
            "num_arcs": self._arcs(part),
            "num_parts": self.num_parts,
            "part": part,
            "vertex_begin": begin,
            "vertex_end": end,
        }
        for name, value in expected.items():
            stored = read_attribute(file, name)
            if stored != value or isinstance(stored, np.floating | np.bool_):
                raise InputError(
                    f"{self.parts[part]}: belongs to another graph ({name} is "
                    f"{stored}, {self.path.name} expects {value}). Put the part there "
                    "that was made with the others, or make the graph again."
                )
        where = self.parts[part]
        indices = checked_dataset(where, file, "graph/indices", self._arcs(part))
        if indices.dtype not in (np.int32, np.int64):
            raise self.wrong(part, f"ids of type {indices.dtype}, not int32 or int64")
        self._check_names(part, file)
        indptr = checked_dataset(where, file, "graph/indptr", end - begin + 1)
        data = checked_dataset(where, file, "graph/data", self._arcs(part))
        if indptr.dtype != np.int64 or data.dtype != self.weight_dtype:
            raise self.wrong(part, "indptr or data is not of the type it should be")

    def _check_names(self, part: int, file: h5py.File) -> None:
        """Compare the types of a part's names with the index."""
        stored = read_attribute(file, NAMES)
        if stored != (None if self.names is None else self.names.value):
            raise self.wrong(part, f"its names are {stored}, not {self.names}")
        if self.names is None:
            return
        types = {"names/text": np.uint8, "names/begins": np.int64}
        if self.names.is_integer:
            types = {"names/integers": np.dtype(self.names.value).type}
        for name, dtype in types.items():
            stored = checked_dataset(self.parts[part], file, name).dtype
            if stored != dtype:
                raise self.wrong(part, f"{name} has type {stored}")

    def _arcs(self, part: int) -> int:
        return int(self.arcdist[part + 1] - self.arcdist[part])

    def overlap(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the parts that [begin, end) touches, at least one, and their rows."""
        first = int(np.searchsorted(self.vtxdist, begin, "right")) - 1
        first = min(first, self.num_parts - 1)
        last = max(int(np.searchsorted(self.vtxdist, end, "left")), first + 1)
        for part in range(first, last):
            low, high = self.vtxdist[part : part + 2].tolist()
            yield part, max(begin, low), min(end, high)

    def wrong(self, part: int, what: str) -> InputError:
        """Return an error about a part's contents."""
        return InputError(f"{self.parts[part]}: {what}. Make the graph again.")


def _read_at_once(
    parts: list[tuple[int, int, int]],
) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the parts of `overlap` in groups whose row pointers have no common entry.

    A part's last entry and the next part's first one have the same position.
    """
    filled = [part for part in parts if part[1] < part[2]]
    for some in (filled[::2], filled[1::2]):
        for i in range(0, len(some), OPEN_PARTS):
            yield some[i : i + OPEN_PARTS]
    yield from ([part] for part in parts if part[1] == part[2])


def _move(numbers: np.ndarray, shift: int, threads: Threads) -> bool:
    """Add to numbers; return whether they ascended."""
    if len(numbers) <= threads.tuning.few_arcs:  # no kernel need be compiled for them
        ascending = bool((numbers[:-1] <= numbers[1:]).all())
        numbers += shift
        return ascending
    bounds = threads.bounds(len(numbers))
    seams = bounds[1:-1]
    ascend = (numbers[seams - 1] <= numbers[seams]).all()
    moved = threads.run(move_ascending, numbers, *each_range(bounds), shift)
    return bool(ascend and moved.all())


def open_graph(path: str | Path, check: bool = True) -> "ShardedGraph":
    """Open a graph: a directory of shards, its index, or a shard that is all of it.

    `check` compares every part with the index now; of many ranks one is enough to do
    so.
    """
    path = Path(path)
    file = path / INDEX_NAME if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise InputError(
            f"{path}: has no {INDEX_NAME}, so it is not a graph, or its making was cut "
            "off. Make the graph again."
        )
    with reading(file), open_hdf5(file) as opened:
        readers: dict[object, Callable[[Path, h5py.File], ShardedGraph]] = {
            GRAPH_FORMAT: _from_index, SHARD_FORMAT: _from_shard
        }  # fmt: skip
        kind = read_attribute(opened, "format")
        reader = readers.get(kind)
        if reader is None:
            own = f" of format {kind}" * bool(_OWN_FORMAT.fullmatch(str(kind)))
            raise InputError(
                f"{file}: is HDF5{own}, but neither the index nor a shard of a graph. "
                'Give the graph, which "mndmst partition" makes.'
            )
        check_version(file, opened, VERSION, "Make the graph again")
        graph = reader(file, opened)
    if check:
        for part in range(graph.num_parts):
            with graph.open(part):
                pass
    return graph


def _from_index(path: Path, file: h5py.File) -> ShardedGraph:
    num_parts = count_attribute(file, "num_parts")
    if not 1 <= num_parts <= path.stat().st_size:
        raise InputError(f"{path}: names {num_parts} parts. Make the graph again.")
    names = read_dataset(path, checked_dataset(path, file, "parts", num_parts))
    return _with_header(
        path,
        file,
        read_attribute(file, "weight_dtype"),
        _read_bounds(path, file, "vtxdist", "num_vertices"),
        _read_bounds(path, file, "arcdist", "num_arcs"),
        tuple(path.parent / Path(name.decode()).name for name in names),
    )


def _from_shard(path: Path, file: h5py.File) -> ShardedGraph:
    num_parts = count_attribute(file, "num_parts")
    if num_parts != 1:
        raise InputError(
            f"{path}: is one part of {num_parts}. Open {INDEX_NAME} or the directory "
            "instead."
        )
    weights = checked_dataset(path, file, "graph/data").dtype.name
    totals = (count_attribute(file, name) for name in ("num_vertices", "num_arcs"))
    vtxdist, arcdist = (np.array([0, total], np.int64) for total in totals)
    return _with_header(path, file, weights, vtxdist, arcdist, (path,))


def _with_header(
    path: Path,
    file: h5py.File,
    weights: object,
    vtxdist: np.ndarray,
    arcdist: np.ndarray,
    parts: tuple[Path, ...],
) -> ShardedGraph:
    """Return a graph with the facts that an index and a shard have in common."""
    dtype = next((d for d in WEIGHT_DTYPES if d.name == weights), None)
    if dtype is None:
        raise InputError(
            f"{path}: has weights of type {weights}; supported are "
            f"{', '.join(dtype.name for dtype in WEIGHT_DTYPES)}. Make the graph again."
        )
    bound = 0
    if ORIGINAL_VERTICES in file.attrs:
        bound = count_attribute(file, ORIGINAL_VERTICES)
    if bound > MAX_VERTICES:
        raise InputError(
            f"{path}: was made of {bound} vertices; at most 2^48 can be numbered. Make "
            "the graph again."
        )
    names = read_attribute(file, NAMES)
    if names is not None and names not in list(NameKind):
        raise InputError(
            f"{path}: has names of the kind {names}; known are {', '.join(NameKind)}. "
            "Make the graph again."
        )
    return ShardedGraph(
        path,
        uuid=text_attribute(file, "graph-uuid"),
        weight_dtype=dtype,
        vtxdist=vtxdist,
        arcdist=arcdist,
        parts=parts,
        reordered=flag_attribute(file, "reordered"),
        original_vertices=bound,
        first_id=read_first_id(file),
        names=None if names is None else NameKind(str(names)),
        maximum=bool(read_attribute(file, MAXIMUM)),
    )


def _read_bounds(path: Path, file: h5py.File, name: str, total: str) -> np.ndarray:
    dataset = checked_dataset(path, file, name, count_attribute(file, "num_parts") + 1)
    bounds = read_dataset(path, dataset).astype(np.int64)
    ends = [0, count_attribute(file, total)]
    if bounds[[0, -1]].tolist() != ends or not ascends(bounds):
        raise InputError(
            f"{path}: {name} does not ascend from 0 to {total}. Make the graph again."
        )
    return bounds


def demo_graph(module: Path = Path(__file__)) -> Path:
    """Return the directory of the shipped graph, found from the path of a module.

    It is in the current directory or the checkout, or below the prefix of the
    installation, as pip puts it there with `--prefix`, `--target` and `--user`, too.
    """
    names = [Path.cwd() / DEMO, module.parents[3] / DEMO]
    names += [parent / INSTALLED_DEMO for parent in module.parents]
    for folder in names:
        if folder.is_dir():
            return folder
    raise InputError(
        "partitions/demo: the demonstration graph is neither here nor where the "
        'program was installed. Make a graph with "mndmst generate road grid/ '
        '--side 100" and run "mndmst solve grid/".'
    )
