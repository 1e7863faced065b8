"""The forest under test: examined, then loaded once for the ranks of a machine."""

import math
from typing import NamedTuple, Protocol

import numpy as np

from ..comm.communicator import Comm
from ..comm.shared_memory import SharedMemory
from ..graph.order import id_dtype, keys_to_weights, weights_to_keys
from ..host.errors import ConfigError
from ..host.formatting import counted, size_text
from ..host.memory import FREE_MEMORY
from ..io.memory_limit import room
from ..io.names import IdRange, NameSource, escaped
from ..io.results.digest_and_total import ExactSum, PairDigest
from ..io.results.forest_file import ForestFile, differences
from .kernels import build_links, smallest_nodes

LIMIT = 10  # reported problems of one kind

# The text of a problem in pieces; integers among them are vertices.
Problem = tuple[str | int, ...]


def in_words(problem: Problem, names: NameSource | None = None) -> str:
    """Return the text of a problem, with names of vertices if there are any."""

    def word(piece: str | int) -> str:
        # A malformed edge may have ends that are not vertices
        if isinstance(piece, str) or names is None or not 0 <= piece < len(names):
            return str(piece)
        name = escaped(names.take(np.array([piece])).texts()[0])
        return name if isinstance(names, IdRange) else f'"{name}"'

    return "".join(map(word, problem))


class Described(Protocol):
    """The graph or the points of a forest."""

    @property
    def uuid(self) -> str:
        """Its identity in the files that belong to it."""

    @property
    def num_vertices(self) -> int:
        """Number of vertices or points."""

    @property
    def weight_dtype(self) -> np.dtype:
        """The type of weights."""

    @property
    def maximum(self) -> bool:
        """Whether its forest is the maximum one."""


class Examination(NamedTuple):
    """The result of reading a forest file's edges."""

    faults: list[Problem]  # malformed edges, which end the test
    differences: list[str]  # attributes that do not agree with the edges
    digest: str  # computed from the edges
    weight: int | float  # computed from the edges


def examine(graph: Described, forest: ForestFile) -> Examination:
    """Read a forest file once, in pieces, and check that its edges are well formed.

    Raises InputError if the file is damaged.
    """
    digest, total = PairDigest(), ExactSum(forest.weight_dtype)
    malformed: list[Problem] = []
    before = (-1, -1)
    for src, dst, weight in forest.pieces():
        digest.add(src, dst)
        total.add(weight)
        malformed += _malformed(src, dst, weight, before, graph.num_vertices)
        before = (int(src[-1]), int(dst[-1]))
    texts = differences(forest, digest, total)
    return Examination(malformed[:LIMIT], texts, digest.hexdigest(), total.total())


def header_differences(graph: Described, forest: ForestFile) -> list[str]:
    """Return the header fields by which a forest is of another graph.

    They refute most wrong forests before any edge is read.
    """
    texts = []
    if forest.header.graph_uuid != graph.uuid:
        texts.append(
            f"the forest says it is of graph {forest.header.graph_uuid}, "
            f"this graph is {graph.uuid}"
        )
    if forest.header.num_vertices != graph.num_vertices:
        texts.append(
            "the forest is of a graph with "
            f"{counted(forest.header.num_vertices, 'vertex')}, this graph has "
            f"{graph.num_vertices}"
        )
    if forest.header.maximum != graph.maximum:
        kinds = ("minimum", "maximum")
        texts.append(
            f"the forest is a {kinds[forest.header.maximum]} spanning forest, this "
            f"graph is one for {kinds[graph.maximum]} forests"
        )
    if forest.weight_dtype != graph.weight_dtype:
        texts.append(
            f"the forest's weights are {forest.weight_dtype}, "
            f"the graph's are {graph.weight_dtype}"
        )
    return texts


def _malformed(
    src: np.ndarray,
    dst: np.ndarray,
    weight: np.ndarray,
    before: tuple[int, int],
    num_vertices: int,
) -> list[Problem]:
    """Return the first malformed edges of a piece."""
    last_src = np.concatenate(([before[0]], src[:-1]))
    last_dst = np.concatenate(([before[1]], dst[:-1]))
    same = src == last_src
    kinds = {
        "out of range": (src < 0) | (dst < 0) | (np.maximum(src, dst) >= num_vertices),
        "not written with src < dst": src >= dst,
        "there twice": same & (dst == last_dst),
        "not sorted by (src, dst)": (src < last_src) | (same & (dst < last_dst)),
        "of weight NaN": weight != weight,
    }
    return [
        ("edge (", int(src[edge]), ", ", int(dst[edge]), f") is {kind}")
        for kind, wrong in kinds.items()
        for edge in np.flatnonzero(wrong)[:LIMIT]
    ]


class Candidate(NamedTuple):
    """A forest in memory; nodes are its vertices, numbered in the order of ids."""

    # uint32 or int64: the ids of the nodes. The last node, without edges, represents
    # all vertices that are not in the forest; its id is arbitrary. Empty if every
    # vertex of the graph is the node with its id.
    vertices: np.ndarray
    # uint32 or int64, shape (edges,): the ends of the edges as nodes, in the order of
    # the file
    a: np.ndarray
    b: np.ndarray
    key: np.ndarray  # uint32 or uint64, shape (edges,): the keys, in the same order
    ranked: np.ndarray  # the keys in ascending order
    # uint32 or int64: see `certificate.kernels.build_links`
    edge: np.ndarray
    link: np.ndarray
    closing: (
        np.ndarray
    )  # int64: edges that close a cycle with earlier ones in the order
    # uint32 or int64: the smallest node of each node's tree; empty if the file has no
    # labels
    smallest: np.ndarray

    def nodes(self, ids: np.ndarray) -> np.ndarray:
        """Return vertices, in the graph's id type, as nodes."""
        if len(self.vertices) == 0:
            return ids
        nodes = np.searchsorted(self.vertices[:-1], ids)
        nodes[self.vertices[nodes] != ids] = len(self.vertices) - 1
        return nodes.astype(self.a.dtype)

    def ids(self, nodes: np.ndarray) -> np.ndarray:
        """Return the vertices of nodes."""
        return self.vertices[nodes] if len(self.vertices) else nodes

    def describe(self, edge: int, order: "WeightOrder") -> Problem:
        """Return the text of an edge."""
        ends = self.ids(np.array([self.a[edge], self.b[edge]]))
        return order.edge(ends, self.key[edge])


class WeightOrder(NamedTuple):
    """The type of weights, and whether larger weights come first."""

    dtype: np.dtype
    maximum: bool

    def weight(self, key: np.ndarray) -> int | float:
        """Return the weight of one key as a Python number."""
        return keys_to_weights(key[np.newaxis], *self)[0].item()

    def edge(self, ends: np.ndarray, key: np.ndarray) -> Problem:
        """Return the text of an edge."""
        u, v = ends.tolist()
        return "edge (", u, ", ", v, f") weight {self.weight(key)}"


def load(forest: ForestFile) -> Candidate:
    """Load a well-formed forest and link its components in the order of its edges.

    The result takes 28 to 36 bytes per edge and vertex, or 56 beyond 2**32 vertices;
    the peak is about 20 bytes more.
    """
    num_vertices, num_edges = forest.header.num_vertices, forest.num_edges
    a, b = (np.empty(num_edges, id_dtype(num_vertices)) for _ in range(2))
    weights = np.empty(num_edges, forest.weight_dtype)
    begin = 0
    for src, dst, weight in forest.pieces():
        piece = slice(begin, begin + len(src))
        a[piece], b[piece], weights[piece] = src, dst, weight
        begin = piece.stop
    key = weights_to_keys(weights, forest.header.maximum)
    # Vertices are renumbered only if this saves much memory, because it slows the test
    # of arcs.
    vertices, num_nodes = a[:0], num_vertices
    if num_vertices > 4 * num_edges + 1024:
        ends = np.unique(np.concatenate((a, b)))
        vertices, num_nodes = np.append(ends, ends.dtype.type(0)), len(ends) + 1
        a, b = (np.searchsorted(ends, x).astype(id_dtype(num_nodes)) for x in (a, b))
    numbers = id_dtype(max(num_nodes, num_edges) + 1)
    edge = np.argsort(key, kind="stable").astype(numbers)
    link, closes = np.empty((num_nodes, 2), numbers), np.empty(num_edges, np.bool_)
    build_links(a, b, edge, link, closes)
    smallest = np.empty(num_nodes if forest.has_labels else 0, numbers)
    if forest.has_labels:
        smallest_nodes(link, smallest)
    closing = np.flatnonzero(closes)
    return Candidate(vertices, a, b, key, key[edge], edge, link, closing, smallest)


def _loading_bytes(forest: ForestFile) -> int:
    """Return the bytes that `load` takes at its peak."""
    ends = id_dtype(forest.header.num_vertices).itemsize
    weights = forest.weight_dtype.itemsize
    # a, b, edge; weights, key, ranked; the result of the sort, and the mask of cycles
    edge = 3 * ends + 3 * weights + 8 + 1
    return forest.num_edges * edge + forest.header.num_vertices * 2 * ends


def load_on_machine(node: Comm, forest: ForestFile) -> Candidate:
    """Load a forest once for all ranks of a machine.

    Raises InputError if the file is damaged; ConfigError if the machine lacks memory to
    load it, or to share it between the ranks.
    """
    arrays: list[np.ndarray] = []
    with node.raise_on_all():
        if node.rank == 0:
            require(_loading_bytes(forest), node.size)
            arrays = list(load(forest))
    return Candidate(*share_arrays(node, arrays))


def share_arrays(node: Comm, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return rank 0's arrays on every rank of a machine (`Comm.node`). Collective.

    `arrays` is empty on other ranks. On rank 0 the call empties it, to free each array
    after its copy. The ranks share one copy, which none may change, and which is freed
    when no rank refers to it. If the system hides ranks from each other, as in some
    containers, each rank gets a copy. Raises ConfigError on every rank if the machine
    lacks memory.
    """
    if node.size == 1:
        return arrays
    kinds = node.bcast([(array.shape, array.dtype) for array in arrays])
    memory = SharedMemory(node)
    shared = [
        _share(memory, arrays.pop(0) if arrays else None, *kind) for kind in kinds
    ]
    node.barrier()
    return shared


def _share(
    memory: SharedMemory,
    source: np.ndarray | None,
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> np.ndarray:
    node, length = memory.comm, math.prod(shape)
    # Checked before, because the system kills a process that touches too much memory.
    _check_memory(node, length * dtype.itemsize)
    try:
        (shared,) = memory.arrays((length, dtype))
    except ConfigError:  # on all ranks
        _check_memory(node, (node.size - 1) * length * dtype.itemsize)
        return _copy(node, source).reshape(shape)
    if source is not None:
        shared[:] = source.ravel()
    return shared.reshape(shape)


def _copy(node: Comm, source: np.ndarray | None) -> np.ndarray:
    """Return rank 0's array on rank 0, and a copy on the other ranks."""
    if source is None:
        return node.recv(0)[0]
    for rank in range(1, node.size):
        node.send([source.ravel()], rank)
    return source


def require(nbytes: int, ranks: int) -> None:
    """Raise a ConfigError if a rank of a machine may not allocate some bytes."""
    if nbytes > room(FREE_MEMORY):
        holder = f"the {ranks} ranks of a machine have" if ranks > 1 else "there is"
        raise ConfigError(
            f"{holder} no room for {size_text(nbytes)} more of the forest; "
            f"{size_text(room(FREE_MEMORY))} are free. Use a machine with more memory"
            + (", or start one rank on each." if ranks > 1 else ".")
        )


def _check_memory(node: Comm, nbytes: int) -> None:
    """Raise an error on all ranks if one of them may not allocate some bytes."""
    with node.raise_on_all():
        require(nbytes, node.size)
