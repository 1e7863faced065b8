"""Spanning forests of edges in memory: columns, tables, graphs and matrices."""

from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from ..backends import Accelerator, cpu_device, holder_of
from ..graph.order import keys_to_weights
from ..host.cores import core_count
from ..host.errors import (
    ConfigError,
    InputError,
    InputTypeError,
    optional,
    shown,
)
from ..io.edge_file import Edges, checked_edges, supported_weights
from ..kernels.threads import Threads
from .forest import Forest, NamedForest
from .graph_columns import (
    GraphColumns,
    is_edge_list,
    is_table,
    package_of,
    read_edge_list,
    read_graph,
    read_table,
)
from .input_edges import InputEdges
from .inputs import (
    as_column,
    as_count,
    as_flag,
    as_threads,
    warn_of_first_id,
    warn_of_similarity,
)
from .matrices import MatrixEntries, is_matrix, read_matrix
from .vertex_names import NumberedEnds, number_ends

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

    from ..backends.base import ArrayOnDevice, HostBackend
    from ..backends.base import LabelledForest as KernelForest


def minimum_spanning_forest(
    src: object,
    dst: object = None,
    weight: object = None,
    num_vertices: int | None = None,
    *,
    nodes: object = None,
    source: str | None = None,
    target: str | None = None,
    maximum: bool | None = None,
    threads: int = 0,
) -> Forest:
    """Return the minimum spanning forest of edges in memory.

    Edges are compared by (weight, smaller end, larger end), so the forest is unique.
    Self-loops are ignored; of parallel edges only the lightest is kept.

    Parameters
    ----------
    src, dst : array-like, shape (edges,)
        Ends of undirected edges, in any order; each edge once or in both directions.
        Integers are numbers of vertices, from 0 on. Strings, UUIDs and other hashable
        values are names, and so are integers beyond 2^24 and 16 times the number of
        edges, unless `num_vertices` is given; the forest then answers in names.
        NumPy, pandas, Polars, PyArrow, or a list. Three arrays of CuPy, or other arrays
        with `__cuda_array_interface__`, are solved on their device without a copy.
    weight : array-like of numbers, shape (edges,)
        Zero and negative weights are ordinary weights. The type is kept; types
        of 8 and 16 bits are widened to 32.
    num_vertices : int, optional
        One more than the largest end by default.
    nodes : array-like, optional
        Names of all vertices, those without an edge included.
    source, target : str, optional
        Names of columns of a table; see Notes.
    maximum : bool, optional
        Return the maximum spanning forest: edges are compared by (falling weight,
        smaller end, larger end), and of parallel edges the heaviest is kept. If it is
        left out the forest is a minimum one, and weights named as similarities give a
        warning.
    threads : int
        Number of threads; 0 for all cores this process may use.

    Returns
    -------
    Forest
        A `NamedForest` if vertices have names.

    Raises
    ------
    InputError
        If the edges do not make a graph, or a weight is NaN.
    ConfigError
        If a count is negative or no integer.

    Notes
    -----
    In place of `src`, `dst` and `weight` the first argument may be a whole graph:

    - a table of pandas, Polars or PyArrow; `source`, `target` and `weight` name its
      columns, or are left out if these have known names, such as from, to and length;
    - a graph of NetworkX, igraph or rustworkx; `weight` names an attribute of edges, or
      is left out if it has a known name;
    - a list of tuples (source, target, weight);
    - a square matrix, sparse or dense; see `minimum_spanning_tree`.

    Examples
    --------
    >>> from mndmst import minimum_spanning_forest
    >>> forest = minimum_spanning_forest([0, 1, 2, 0], [1, 2, 0, 3], [5, 3, 4, 0])
    >>> forest.edges.tolist()
    [[0, 2], [0, 3], [1, 2]]
    >>> forest.total_weight
    7
    >>> list(minimum_spanning_forest([("a", "b", 3), ("b", "c", 1), ("a", "c", 2)]))
    [('a', 'c', 2), ('b', 'c', 1)]
    """
    cores = _cores(threads)
    heaviest = maximum is not None and as_flag(maximum, "maximum")
    if num_vertices is not None:
        num_vertices = as_count(num_vertices, "num_vertices")
    table = src if dst is None and is_table(src) else None
    if not (table is not None or (source is None and target is None)):
        raise ConfigError("source and target name columns of a table; give a table")
    if table is not None:
        columns = read_table(table, source, target, weight, nodes)
        warn_of_similarity(columns.weight_name, maximum)
        return _forest_of_names(columns, heaviest, cores, num_vertices)
    if dst is None:
        if num_vertices is not None or nodes is not None:
            raise ConfigError("a whole graph has its vertices; leave num_vertices out")
        if is_matrix(src):
            return _forest_of_matrix(read_matrix(src), heaviest, cores)
        columns = _whole_graph(src, weight)
        warn_of_similarity(columns.weight_name, maximum)
        return _forest_of_names(columns, heaviest, cores)
    kind = holder_of(src)
    if kind and nodes is None and holder_of(dst) is holder_of(weight) is kind:
        arrays = kind.as_arrays(src, dst, weight)
        return _forest_on_device(kind, arrays, num_vertices, heaviest)
    name = getattr(weight, "name", "")  # of a column of pandas or Polars
    columns = GraphColumns(
        src, dst, weight, nodes, weight_name=name if isinstance(name, str) else ""
    )
    warn_of_similarity(columns.weight_name, maximum)
    return _forest_of_names(columns, heaviest, cores, num_vertices)


def minimum_spanning_tree(
    csgraph: object, overwrite: bool = False, *, maximum: bool = False, threads: int = 0
) -> "csr_array | csr_matrix":
    """Return the minimum spanning forest of a sparse matrix.

    A drop-in replacement for `scipy.sparse.csgraph.minimum_spanning_tree`. The
    differences: an explicit zero is an edge of weight zero and stays in the result, the
    type of the weights is kept (no rounding of large integers to float64), and the
    matrix may have indices of 64 bits.

    Parameters
    ----------
    csgraph : sparse matrix or array, or array-like, shape (N, N)
        Entry (i, j) is the weight of an edge; of (i, j) and (j, i) the smaller one is
        kept. Entries that occur twice are not added up: each is an edge, and the
        lightest is kept. In a dense matrix zero, infinity and NaN mean no edge, in a
        masked array the mask means no edge. A matrix of CuPy is copied to the host.
    overwrite : bool
        Accepted for SciPy's sake; the matrix is never changed.
    maximum : bool
        Return the maximum spanning forest.
    threads : int
        Number of threads; 0 for all cores this process may use.

    Returns
    -------
    csr_array, or csr_matrix if the graph is one; shape (N, N)
        Each edge once, at (i, j) with i < j.

    Raises
    ------
    InputError
        If the matrix is not square, damaged, or has NaN.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mndmst import minimum_spanning_tree
    >>> graph = csr_array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]])
    >>> minimum_spanning_tree(graph).toarray().tolist()
    [[0, 0, 0, 3], [0, 0, 2, 5], [0, 0, 0, 0], [0, 0, 0, 0]]
    """
    sparse = optional("scipy.sparse", "formats")
    if package := package_of(csgraph):
        raise InputTypeError(
            f"a graph of {package} is not a matrix; give it to minimum_spanning_forest"
        )
    entries = read_matrix(csgraph)
    heaviest = as_flag(maximum, "maximum")
    tree = _forest_of_matrix(entries, heaviest, _cores(threads)).to_scipy()
    return sparse.csr_matrix(tree) if sparse.isspmatrix(csgraph) else tree


def _whole_graph(graph: object, weight: object) -> GraphColumns:
    """Return the edges of a graph that one argument holds.

    Raises InputTypeError if it is not a graph.
    """
    if package_of(graph):
        return read_graph(graph, weight)
    if is_edge_list(graph) and weight is None:
        return read_edge_list(graph)
    advice = (
        "give src, dst and weight, a table, a list of tuples (source, target, weight), "
        "a square matrix, or a graph of NetworkX, igraph or rustworkx"
    )
    if isinstance(graph, str | PathLike):
        advice = "mndmst.partition and mndmst.solve read files"
    elif hasattr(graph, "collect"):
        advice = "give its collect()"
    raise InputTypeError(
        f"a value of type {type(graph).__name__} is not a graph; {advice}"
    )


def _forest_of_names(
    columns: GraphColumns, maximum: bool, cores: int, num_vertices: int | None = None
) -> Forest:
    """Return the forest of columns, whose ends are numbers or names."""
    titles = columns.titles
    weights = as_column(columns.weight, titles[2])
    ends = number_ends(columns.src, columns.dst, num_vertices, columns.nodes, titles)
    warn_of_first_id(ends.smallest)
    _check_columns(ends.src, ends.dst, weights)
    _check_named(ends, weights)
    edges = checked_edges("the edges", ends.num_vertices, ends.src, ends.dst, weights)
    forest = _forest_of(edges, maximum, cpu_device(cores))
    return forest if ends.names is None else NamedForest.of(forest, ends.names)


def _check_named(ends: NumberedEnds, weights: np.ndarray) -> None:
    """Refuse a weight of NaN by the names of its edge."""
    if ends.names is None or weights.dtype.kind != "f":
        return
    for entry in np.flatnonzero(np.isnan(weights))[:1].tolist():
        names = ends.names.names
        u, v = (shown(names[column[entry]]) for column in (ends.src, ends.dst))
        raise InputError(
            f"the edges: the weight of entry {entry} (from 0), of the edge ({u}, {v}), "
            "is NaN, which has no place in an order. Give it a number or leave the "
            "edge out."
        )


def _forest_of_matrix(entries: MatrixEntries, maximum: bool, cores: int) -> Forest:
    backend = cpu_device(cores)
    rows = None if maximum else entries.symmetric_rows(Threads(cores))
    given = InputEdges(entries.edges, maximum, entries.positions)
    if rows is None:
        return _forest_of(entries.edges(), maximum, backend, given)
    return _public(backend.msf(rows), entries.weights.dtype, given)


def _check_columns(
    src: "ArrayOnDevice", dst: "ArrayOnDevice", weight: "ArrayOnDevice"
) -> None:
    """Raise an InputError if arrays, on any device, do not make columns of edges."""
    lengths = [len(column) for column in (src, dst, weight)]
    if len(set(lengths)) > 1:
        raise InputError(
            f"the edges: src, dst and weight have {', '.join(map(str, lengths))} "
            "entries; give one of each for every edge."
        )
    for name, column in (("src", src), ("dst", dst)):
        if column.dtype.kind not in "iu" and len(column):
            raise InputTypeError(
                f"the edges: {name} has type {column.dtype}; give integers"
            )


def _forest_on_device(
    kind: Accelerator,
    arrays: "list[ArrayOnDevice]",
    num_vertices: int | None,
    maximum: bool,
) -> Forest:
    src, dst, weight = arrays
    _check_columns(src, dst, weight)
    is_counted = num_vertices is None and len(src) > 0
    if num_vertices is None:
        num_vertices = 1 + max(int(src.max()), int(dst.max())) if is_counted else 0
    weight = supported_weights("the edges", weight)
    backend = kind.make_device(kind.device_of(src))
    forest = backend.msf_of_edges(num_vertices, src, dst, weight, maximum)
    if is_counted:
        warn_of_first_id(min(int(src.min()), int(dst.min())))
    read = partial(_copied_edges, kind, num_vertices, [src, dst, weight])
    return _public(forest, weight.dtype, InputEdges(read, maximum))


def _copied_edges(
    kind: Accelerator, num_vertices: int, arrays: "list[ArrayOnDevice]"
) -> Edges:
    """Return edges on a device, copied to the host."""
    src, dst, weight = map(kind.to_host, arrays)
    return checked_edges("the edges", num_vertices, src, dst, weight)


def _cores(threads: int) -> int:
    return as_threads(threads) or core_count()


def _forest_of(
    edges: Edges, maximum: bool, backend: "HostBackend", given: InputEdges | None = None
) -> Forest:
    if edges.num_vertices >= 1 << 32:
        raise InputError(
            f"{edges.num_vertices:,} vertices; in memory at most 2^32 - 1 are "
            "supported. Write the edges to a file, and use mndmst partition and solve."
        )
    forest = backend.msf_of_edges(
        edges.num_vertices, edges.src, edges.dst, edges.weight, maximum
    )
    given = given or InputEdges(lambda: edges, maximum)
    return _public(forest, edges.weight.dtype, given)


def _public(forest: "KernelForest", dtype: np.dtype, given: InputEdges) -> Forest:
    """Return a kernel's forest in sorted order, with weights for keys."""
    edges = forest.edges
    wide = edges.u.astype(np.uint64) << np.uint64(32) | edges.v
    if (wide[1:] < wide[:-1]).any():
        edges = edges.take(np.argsort(wide))
    weight = keys_to_weights(edges.key, dtype, given.maximum)
    return Forest(
        edges.u.astype(np.int64),
        edges.v.astype(np.int64),
        weight,
        forest.labels().astype(np.int64),
        given=given,
        maximum=given.maximum,
    )
