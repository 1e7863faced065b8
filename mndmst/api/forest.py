"""A minimum spanning forest in memory: queries, and conversions for other packages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..host.errors import ConfigError, InputError, InputTypeError, optional, shown
from ..host.formatting import counted
from .inputs import as_column, as_flag, as_number, as_path
from .vertex_names import VertexNames

if TYPE_CHECKING:
    import networkx
    import pandas
    from scipy.sparse import csr_array

    from ..io.names import Names
    from ..io.results.forest_file import ForestFile
    from ..tree.index import ForestIndex
    from .input_edges import ForestColumns, InputEdges
    from .rooted_forest import RootedForest


# Edges that iteration makes into Python's numbers at a time, and that a notebook shows.
PIECE, SHOWN = 1 << 16, 5


@dataclass(frozen=True, eq=False)
class Forest:
    """The minimum (or maximum) spanning forest of a graph.

    Its length is the number of edges; to iterate over it gives (src, dst, weight) of
    each, as Python's numbers.

    Vertices `u` and `v` of queries are numbers, or names in a `NamedForest`; arrays of
    them ask many queries at once, and return arrays. A query of an array takes a few
    nanoseconds to a microsecond, a single one mostly the time of the interpreter. Edges
    are answered as positions in `src`, `dst` and `weight`. A vertex that does not exist
    raises InputError; a threshold that is not a number raises ConfigError. A maximum
    forest takes `above` for `below` and `path_min` for `path_max`; it refuses the other
    word by a ConfigError. The first query builds an index, in about the time of a sort.
    The index takes 20 bytes a vertex, and up to 28 more with labels and paths.

    Attributes
    ----------
    src, dst : ndarray of int64, shape (edges,)
        Ends of the edges, src < dst, sorted by (src, dst).
    weight : ndarray, shape (edges,)
        Of the type the graph's weights have.
    labels : ndarray of int64, shape (num_vertices,)
        For each vertex the smallest vertex of its tree. Read-only if they take no
        memory, as the zeros of one tree of points do.
    graph_uuid : str
        The graph on disk that it is of; empty for the forest of arrays.
    given : InputEdges or None
        The edges that the forest was computed from, for `edge_ids` and `ties`; None for
        the forest of a file, of points or of a service.
    maximum : bool
        Whether it is a maximum spanning forest.
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    labels: np.ndarray
    graph_uuid: str = ""
    given: "InputEdges | None" = field(default=None, repr=False)
    maximum: bool = False

    def __len__(self) -> int:
        return len(self.src)

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return len(self.labels)

    @property
    def num_trees(self) -> int:
        """Number of trees; an isolated vertex is a tree."""
        return self.num_vertices - len(self)

    @cached_property
    def index(self) -> "ForestIndex":
        """The query index, built on first use.

        Raises InputError if the edges close a cycle (a damaged file), or there are 2^32
        vertices or more.
        """
        from ..tree.index import ForestIndex

        return ForestIndex(
            self.num_vertices, self.src, self.dst, self.weight, self.maximum
        )

    def connected(self, u: object, v: object) -> bool | np.ndarray:
        """Return whether two vertices are in the same tree (bool)."""
        one, *pair = self._pair(u, v)
        answer = self.index.connected(*pair)
        return answer[0].item() if one else answer

    def path_max(self, u: object, v: object) -> int | np.ndarray:
        """Return the heaviest edge on the path between two vertices.

        In a minimum spanning forest it is the bottleneck: on every path of the graph
        between them some edge weighs as much, or more. Its position is -1 if both are
        the same vertex, or in different trees. Raises ConfigError in a maximum forest.
        """
        if self.maximum:
            raise ConfigError(
                "the bottleneck of a maximum spanning forest is the lightest edge of a "
                "path; ask path_min"
            )
        return self._bottleneck(u, v)

    def path_min(self, u: object, v: object) -> int | np.ndarray:
        """Return the lightest edge on the path between two vertices.

        In a maximum spanning forest it is the bottleneck: on every path of the graph
        between them some edge weighs as little, or less. Its position is -1 if both
        are the same vertex, or in different trees. Raises ConfigError in a minimum
        forest.
        """
        if not self.maximum:
            raise ConfigError(
                "the bottleneck of a minimum spanning forest is the heaviest edge of a "
                "path; ask path_max"
            )
        return self._bottleneck(u, v)

    def _bottleneck(self, u: object, v: object) -> int | np.ndarray:
        one, *pair = self._pair(u, v)
        position = self.index.bottleneck(*pair)
        return position[0].item() if one else position

    def path(self, u: object, v: object) -> np.ndarray:
        """Return the edges on the path from one vertex to another.

        Returns
        -------
        ndarray of int64
            Positions of the edges, in the order of the path; empty if both are the
            same vertex, or in different trees. `index.path` takes many pairs.
        """
        _, *pair = self._pair(u, v)
        return self.index.path(*pair)[1].astype(np.int64)

    def cut(
        self, below: int | float | None = None, *, above: int | float | None = None
    ) -> np.ndarray:
        """Label the components formed by edges on one side of a threshold.

        Weights are compared exactly, integers beyond 2^53 as well.

        Parameters
        ----------
        below : int or float
            Of a minimum forest: edges that weigh less join components.
        above : int or float
            Of a maximum forest: edges that weigh more join components.

        Returns
        -------
        ndarray of int64, shape (num_vertices,)
            For each vertex the smallest vertex of its component.
        """
        threshold = self._threshold(below, above)
        if threshold is None:
            raise ConfigError(f"give a threshold: {self._side}=")
        return self._names(self.index.cut(threshold).astype(np.int64))

    def component_sizes(
        self, below: int | float | None = None, *, above: int | float | None = None
    ) -> np.ndarray:
        """Return the number of vertices of each tree.

        Parameters
        ----------
        below, above : int or float, optional
            Count the components that `cut` makes in place of the trees.

        Returns
        -------
        ndarray of int64, shape (components,)
            In the order of their smallest vertices.
        """
        labels = self._labels(below, above)
        first = labels == np.arange(len(labels))
        return self.index.component_sizes(labels)[first]

    def components(
        self, below: int | float | None = None, *, above: int | float | None = None
    ) -> list[np.ndarray]:
        """Return the vertices of each tree, or of each component that `cut` makes.

        Returns
        -------
        list of ndarray
            In the order of their smallest vertices; each in ascending order.
        """
        labels = self._labels(below, above)
        order = np.argsort(labels, kind="stable")
        bounds = np.cumsum(self.component_sizes(below, above=above))[:-1]
        return np.split(self._names(order), bounds) if len(order) else []

    def _labels(
        self, below: int | float | None, above: int | float | None
    ) -> np.ndarray:
        threshold = self._threshold(below, above)
        return self.index.labels if threshold is None else self.index.cut(threshold)

    @property
    def _side(self) -> str:
        """The name of the threshold whose edges come first in the order."""
        return "above" if self.maximum else "below"

    def _threshold(
        self, below: int | float | None, above: int | float | None
    ) -> int | float | None:
        """Return the threshold that is given; refuse that of the other kind."""
        given, other = (above, below) if self.maximum else (below, above)
        if other is not None:
            kind = "maximum" if self.maximum else "minimum"
            raise ConfigError(
                f"this is a {kind} spanning forest, whose components are joined by "
                f"edges {self._side} a threshold; give {self._side}="
            )
        return None if given is None else as_number(given, self._side)

    def _pair(self, u: object, v: object) -> tuple[bool, np.ndarray, np.ndarray]:
        """Return whether a query is about one pair, and the numbers of its vertices."""
        vertices, others = self._vertices(u), self._vertices(v)
        return vertices.ndim == 0, vertices, others

    def _vertices(self, asked: object) -> np.ndarray:
        """Return the numbers of vertices; of one vertex an array without axes."""
        if isinstance(asked, int | np.integer):
            return np.array(asked)
        if np.ndim(asked) == 0:  # type: ignore[arg-type]
            raise InputTypeError(f"no vertex {shown(asked)}: vertices are integers")
        return as_column(asked, "vertices")

    def _names(self, vertices: np.ndarray) -> np.ndarray:
        """Return numbered vertices as the forest answers them."""
        return vertices

    def linkage(self) -> np.ndarray:
        """Return the single-linkage dendrogram, as SciPy has it.

        Returns
        -------
        ndarray of float64, shape (num_vertices - 1, 4)
            In the format of `scipy.cluster.hierarchy.linkage`, for `dendrogram` and
            `fcluster`. Trees are joined last, at an infinite distance. A maximum
            forest merges from the heaviest edge down, at the distance (largest weight
            - weight) in place of the weight.

        Raises
        ------
        ConfigError
            If there are no vertices, or the edges close a cycle.
        """
        from ..tree.linkage import single_linkage

        return single_linkage(self)

    def rooted(self, root: object = None, *, by: str = "smallest") -> "RootedForest":
        """Root the trees: parents, depths, distances from the root, subtree sizes.

        Parameters
        ----------
        root : vertex or several, optional
            Roots of their trees, at most one of each.
        by : {"smallest", "largest-degree", "centre"}
            The root of any other tree: its smallest vertex, the one with the most
            forest edges, or the one whose farthest vertex is the fewest edges away; of
            several the smallest.

        Raises
        ------
        ConfigError
            If two roots are in one tree, or there is no such rule.
        InputError
            If a root does not exist, or the edges close a cycle (a damaged file).
        """
        from ..tree.rooted_trees import root_trees
        from .rooted_forest import RootedForest

        edges = self.numbers
        trees = root_trees(
            self.num_vertices,
            edges.src,
            edges.dst,
            edges.weight,
            None if root is None else np.atleast_1d(self._vertices(root)),
            by,
            lambda vertex: self._names(np.array([vertex])).tolist()[0],
        )
        return RootedForest(self.nodes, edges.weight, trees)

    def __getstate__(self) -> dict[str, object]:
        # The input may be far larger than the forest, and readers may be functions.
        return self.__dict__ | {"given": None}

    def __iter__(self) -> Iterator[tuple[int, int, int | float]]:
        for low in range(0, len(self), PIECE):
            held = (
                column[low : low + PIECE].tolist()
                for column in (self.src, self.dst, self.weight)
            )
            yield from zip(*held, strict=True)

    def __repr__(self) -> str:
        counts = f"{counted(len(self), 'edge')}, {counted(self.num_trees, 'tree')}"
        counts = "maximum, " * self.maximum + counts
        return f"{type(self).__name__}({counts}, total weight {self.total_weight})"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show: the totals, and the first edges."""
        facts = {
            "vertices": f"{self.num_vertices:,}",
            "edges": f"{len(self):,}",
            "trees": f"{self.num_trees:,}",
            "total weight": self.total_weight,
            "weights": self.weight.dtype.name,
            **({"kind": "maximum"} if self.maximum else {}),
        }
        shown = zip(range(SHOWN), self, strict=False)
        edges = [f"{u} &ndash; {v} ({w})" for _, (u, v, w) in shown]
        more = ", ..." * (len(self) > SHOWN)
        facts["first edges"] = (", ".join(edges) + more) or "none"
        rows = "".join(
            f'<tr><th style="text-align:left">{name}</th>'
            f'<td style="text-align:left">{value}</td></tr>'
            for name, value in facts.items()
        )
        return f"<table><caption>mndmst.{type(self).__name__}</caption>{rows}</table>"

    @property
    def edges(self) -> np.ndarray:
        """The ends as an array of int64, shape (edges, 2)."""
        return np.stack([self.src, self.dst], axis=1)

    @cached_property
    def total_weight(self) -> int | float:
        """The sum of the weights: exact for integers, else correctly rounded."""
        from ..io.results.digest_and_total import ExactSum

        total = ExactSum(self.weight.dtype)
        total.add(self.weight)
        return total.total()

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the sorted (src, dst) pairs, as `mndmst solve` prints it."""
        from ..io.results.digest_and_total import PairDigest

        digest = PairDigest()
        digest.add(self.src, self.dst)
        return digest.hexdigest()

    @cached_property
    def edge_ids(self) -> np.ndarray:
        """The position of every forest edge in the input (int64, shape (edges,)).

        Columns and tables count rows, edge lists and graphs their edges in their own
        order, sparse matrices the stored entries (`matrix.tocoo().data`), dense ones
        all entries, row by row. Of parallel edges it is the lightest (in a maximum
        forest the heaviest), and the first of several as light. Found when it is first
        asked for, from the arrays given: they must not change before.

        Raises
        ------
        ConfigError
            If the forest was not computed from arrays in this process.
        InputError
            If the arrays have changed since.
        """
        return self._input_edges().first_positions(self._columns())

    @cached_property
    def replaceable(self) -> np.ndarray:
        """Whether some other spanning forest of equal weight lacks the edge (bool).

        Parallel edges of equal weight count as one edge. Found when it is first asked
        for; see `edge_ids`, also for errors.
        """
        return self._input_edges().replaceable(self._columns())

    @property
    def ties(self) -> int:
        """The number of forest edges that edges outside can replace at equal weight."""
        return int(np.count_nonzero(self.replaceable))

    @property
    def is_unique(self) -> bool:
        """Whether no other spanning forest of the graph has the same total weight."""
        return self.ties == 0

    def _input_edges(self) -> "InputEdges":
        if self.given is None:
            raise ConfigError(
                "this forest was not computed from arrays in this process, so its "
                "input is not known; ask the forest that was, before it is pickled"
            )
        return self.given

    def _columns(self) -> "ForestColumns":
        from .input_edges import ForestColumns

        return ForestColumns(self.src, self.dst, self.weight, self.labels)

    @property
    def numbers(self) -> "Forest":
        """The forest with vertices as numbers: itself, unless vertices have names."""
        return self

    @property
    def nodes(self) -> np.ndarray:
        """The vertices in the order of `labels`: numbers, unless they have names."""
        return np.arange(self.num_vertices)

    @classmethod
    def read(cls, path: str | Path) -> "Forest":
        """Read a forest file that `mndmst solve` has written.

        Labels come from the file if it has them (``--labels``), else from the edges.
        If the ids of the graph's file begin at 1, the forest is a `NamedForest` of
        these ids.

        Raises
        ------
        InputError
            If the file is missing, damaged or no forest.
        """
        from ..io.results.forest_file import read_forest

        file = read_forest(as_path(path, "path"))
        forest, ids = cls.of_file(file), file.header.id_range
        if ids is None:
            return forest
        return NamedForest.of(forest, VertexNames(ids.columns()["integers"]))

    @classmethod
    def of_file(cls, file: "ForestFile") -> "Forest":
        """Read a forest file that is open already, with numbers for vertices."""
        from ..host.memory import FREE_MEMORY
        from ..io.memory_limit import check_room

        n = file.header.num_vertices
        if n != file.num_edges + file.num_trees:
            raise InputError(
                f"{file.path}: damaged ({counted(file.num_edges, 'edge')} and "
                f"{counted(file.num_trees, 'tree')} are not of a forest of "
                f"{counted(n, 'vertex')}). Copy it again from where it is whole, or "
                "solve again."
            )
        # The ends and weights of the edges, and a label for each vertex
        nbytes = 8 * (3 * file.num_edges + n)
        check_room(FREE_MEMORY, file.path, nbytes, "the forest")
        src, dst, weight = file.read(0, file.num_edges)
        wrong = np.flatnonzero((src < 0) | (src >= dst) | (dst >= n))
        if len(wrong):
            first = file.header.first_id
            u, v = src[wrong[0]] + first, dst[wrong[0]] + first
            raise InputError(
                f"{file.path}: edge {wrong[0]} is ({u}, {v}), not two of the ids "
                f"{first} to {first + n - 1} in ascending order. Solve again."
            )
        labels = file.read_labels(0, n) if file.has_labels else labels_of(n, src, dst)
        header = file.header
        return cls(src, dst, weight, labels, header.graph_uuid, maximum=header.maximum)

    def write(
        self, path: str | Path, labels: bool = False, overwrite: bool = False
    ) -> None:
        """Write the forest to a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            `.h5` for a forest file, as `mndmst solve` writes it, which keeps all there
            is. Or one of what `mndmst convert` writes: `.csv`, `.parquet`, `.mtx`,
            `.npz`, `.gr`, `.txt` and others, with the edges alone.
        labels : bool
            Write the tree of each vertex, too; into `.h5` only.
        overwrite : bool
            Replace any file of that name. Without it only a forest file is replaced.

        Raises
        ------
        ConfigError
            If the suffix is none of these, or has no labels.
        OutputError
            If the file cannot be written, or would replace something else.
        """
        self.write_from(0, path, labels, overwrite)

    def write_from(
        self,
        first_id: int,
        path: str | Path,
        labels: bool,
        overwrite: bool,
        names: "Names | None" = None,
    ) -> None:
        """Write the forest with the id `first_id` for vertex 0; see `write`.

        `names` of vertices go into formats that have names.
        """
        from ..io.atomic_output import check_outputs
        from ..io.output_kinds import EDGES, FOREST

        path, labels = as_path(path, "path"), as_flag(labels, "labels")
        overwrite = as_flag(overwrite, "overwrite")
        kind = FOREST if path.suffix == ".h5" else EDGES
        if labels and kind is EDGES:
            raise ConfigError(f"{path}: only .h5 files have labels")
        check_outputs([], [(path, kind)], overwrite=overwrite)
        if path.suffix != ".h5":
            from ..io.edge_file import Edges
            from ..io.formats import write_edges

            edges = Edges(
                self.num_vertices, self.src, self.dst, self.weight, False,
                first_id=first_id,
            )  # fmt: skip
            if names is not None:
                from ..io.results.graph_names import with_names

                edges = with_names(edges, names, path)
            write_edges(edges, path)
            return
        from ..io.atomic_output import AtomicOutput
        from ..io.results.forest_file import ForestHeader, write_forest_in

        header = ForestHeader(
            self.graph_uuid,
            self.num_vertices,
            self.total_weight,
            self.digest,
            maximum=self.maximum,
            first_id=first_id,
        )
        trees = self.labels if labels else None
        columns = self.src, self.dst, self.weight
        with AtomicOutput(overwrite=overwrite) as files:
            write_forest_in(files, path, columns, header, trees)

    def to_scipy(self) -> "csr_array":
        """Return a `scipy.sparse.csr_array`, each edge once, above the diagonal.

        An edge of weight zero is an explicit zero.
        """
        sparse = optional("scipy.sparse", "formats")
        n = self.num_vertices
        indptr = np.searchsorted(self.src, np.arange(n + 1))
        return sparse.csr_array((self.weight, self.dst, indptr), shape=(n, n))

    def to_networkx(self, nodes: Sequence[object] | None = None) -> "networkx.Graph":
        """Return a `networkx.Graph` with an attribute ``weight`` on each edge.

        Parameters
        ----------
        nodes : sequence, optional
            Names of the vertices; their numbers by default.
        """
        graph = optional("networkx", "networkx").Graph()
        names: Sequence[object] = range(self.num_vertices) if nodes is None else nodes
        graph.add_nodes_from(names)
        graph.add_weighted_edges_from(
            (names[u], names[v], w)
            for u, v, w in zip(
                self.src.tolist(), self.dst.tolist(), self.weight.tolist(), strict=True
            )
        )
        return graph

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a `pandas.DataFrame` with columns ``src``, ``dst`` and ``weight``."""
        columns = {"src": self.src, "dst": self.dst, "weight": self.weight}
        return optional("pandas", "tables").DataFrame(columns)


@dataclass(frozen=True, eq=False, repr=False)
class NamedForest(Forest):
    """A spanning forest that takes and gives the names of vertices.

    Edges are sorted by the numbers of their ends, which ascend with the names where
    names have an order. Queries take names; a list or an array has several of them, a
    tuple is one.

    Attributes
    ----------
    src, dst : ndarray, shape (edges,)
        Names of the ends of the edges.
    weight : ndarray, shape (edges,)
    labels : ndarray, shape (num_vertices,)
        For each vertex of `nodes` the first vertex of its tree.
    """

    _numbered: Forest = field(kw_only=True, repr=False)
    _vertex_names: VertexNames = field(kw_only=True, repr=False)

    @classmethod
    def of(cls, forest: Forest, vertex_names: VertexNames) -> "NamedForest":
        """Return a forest with names for the numbers of its vertices."""
        names = vertex_names.names
        return cls(
            names[forest.src],
            names[forest.dst],
            forest.weight,
            names[forest.labels],
            forest.graph_uuid,
            forest.given,
            forest.maximum,
            _numbered=forest,
            _vertex_names=vertex_names,
        )

    @property
    def numbers(self) -> Forest:
        """The forest with vertices as numbers, which are positions in `nodes`."""
        return self._numbered

    @property
    def nodes(self) -> np.ndarray:
        """The names of all vertices, by number."""
        return self._vertex_names.names

    def number_of(self, names: object) -> int | np.ndarray:
        """Return the number of a vertex, or of several: positions in `nodes`.

        Raises
        ------
        InputError
            If no vertex has such a name.
        """
        numbers = self._vertex_names.numbers(names)
        return numbers.item() if numbers.ndim == 0 else numbers

    @cached_property
    def index(self) -> "ForestIndex":
        """The index over the numbers of vertices."""
        return self.numbers.index

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the sorted pairs of numbers."""
        return self.numbers.digest

    def write(
        self, path: str | Path, labels: bool = False, overwrite: bool = False
    ) -> None:
        """Write the forest under the names of its vertices; see `Forest.write`.

        Formats of `mndmst convert` with names take names of any kind. `.h5` and the
        others take consecutive integers alone.

        Raises
        ------
        ConfigError
            If the format cannot hold the names. The message lists formats that can,
            and says how to write numbers.
        InputError
            If files cannot hold the names.
        """
        first_id = self._vertex_names.first_id
        if first_id is not None:
            self.numbers.write_from(first_id, path, labels, overwrite)
            return
        from ..io.formats import check_writer, suffixes_with_names
        from ..io.names import names_of_values

        path = as_path(path, "path")
        if path.suffix == ".h5" or not check_writer(path).named:
            raise ConfigError(
                f"{path}: the vertices of this forest have names, for which "
                f"{path.suffix} has no place. Give a name in {suffixes_with_names()}, "
                "or write numbers by forest.numbers.write(...)."
            )
        names = names_of_values("nodes", self.nodes.tolist())
        self.numbers.write_from(0, path, labels, overwrite, names)

    def to_scipy(self) -> "csr_array":
        """Return a `scipy.sparse.csr_array` over the numbers of vertices."""
        return self.numbers.to_scipy()

    def to_networkx(self, nodes: Sequence[object] | None = None) -> "networkx.Graph":
        """Return a `networkx.Graph` of the names, with ``weight`` on each edge."""
        names = self.nodes.tolist() if nodes is None else nodes
        return self.numbers.to_networkx(names)

    def linkage(self) -> np.ndarray:
        """Return the single-linkage dendrogram; leaves are positions in `nodes`."""
        return self.numbers.linkage()

    def _columns(self) -> "ForestColumns":
        return self.numbers._columns()

    def _vertices(self, asked: object) -> np.ndarray:
        return self._vertex_names.numbers(asked)

    def _names(self, vertices: np.ndarray) -> np.ndarray:
        return self.nodes[vertices]


def one_tree_labels(num_vertices: int) -> np.ndarray:
    """Return the labels of a forest of one tree: zeros, read-only, in 8 bytes."""
    return np.broadcast_to(np.int64(0), num_vertices)


def labels_of(num_vertices: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return for each vertex the smallest vertex of its tree (int64)."""
    from ..kernels.kruskal import component_labels

    return component_labels(src, dst, num_vertices)
