"""Spanning forests for Python programs: of arrays, of sparse matrices, of shards."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends import cpu_device, cuda_device
from ..graph.order import keys_to_weights
from ..host.cores import core_count
from ..host.errors import InputError
from ..host.extras import optional
from ..io.edges import Edges, supported_weights
from ..kernels.threads import Threads
from ..native.ahead import compile_for
from .forest import Forest
from .inputs import as_edges, check_columns, on_device
from .matrices import (
    csr_matrix,
    entry_heads,
    entry_weights,
    listed_entries,
    symmetric_rows,
)

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..backends.base import LabelledForest as KernelForest
    from ..comm.communicator import Comm
    from ..steps.write import Summary


def minimum_spanning_forest(
    src: Any,
    dst: Any,
    weight: Any,
    num_vertices: int | None = None,
    *,
    maximum: bool = False,
    threads: int = 0,
) -> Forest:
    """Return the minimum spanning forest of edges in memory.

    Edges are compared by (weight, smaller end, larger end), so the forest is unique.
    Self-loops are ignored; of parallel edges only the lightest is kept.

    Parameters
    ----------
    src, dst : array-like of integers, shape (edges,)
        Ends of undirected edges, in any order; each edge once or in both directions.
        NumPy, pandas, PyArrow, or a list. Three arrays of CuPy, or other arrays with
        `__cuda_array_interface__`, are solved on their device without a copy.
    weight : array-like of numbers, shape (edges,)
        Zero and negative weights are ordinary weights. The type is kept; types
        of 8 and 16 bits are widened to 32.
    num_vertices : int, optional
        One more than the largest end by default.
    maximum : bool
        Return the maximum spanning forest; ties are decided as before.
    threads : int
        Number of threads; 0 for all cores this process may use.

    Returns
    -------
    Forest

    Raises
    ------
    InputError
        If the arrays are not such a graph, or a weight is NaN.

    Examples
    --------
    >>> from mndmst import minimum_spanning_forest
    >>> forest = minimum_spanning_forest([0, 1, 2, 0], [1, 2, 0, 3], [5, 3, 4, 0])
    >>> forest.edges.tolist()
    [[0, 2], [0, 3], [1, 2]]
    >>> forest.total_weight
    7
    """
    if all(on_device(column) for column in (src, dst, weight)):
        return _forest_on_device(src, dst, weight, num_vertices, maximum)
    edges = as_edges(src, dst, weight, num_vertices, "the edges")
    return _forest_of(edges, maximum, cpu_device(_cores(threads)))


def minimum_spanning_tree(
    csgraph: Any, overwrite: bool = False, *, maximum: bool = False, threads: int = 0
) -> Any:
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
        lightest is kept. In a dense matrix zero, infinity and NaN mean no edge.
        A matrix of CuPy is copied to the host.
    overwrite : bool
        Accepted for SciPy's sake; the matrix is never changed.
    maximum : bool
        Return the maximum spanning forest.
    threads : int
        How many compute; 0 for all cores this process may use.

    Returns
    -------
    csr_array, or csr_matrix if that is what was given; shape (N, N)
        Each edge once, at (i, j) with i < j.

    Raises
    ------
    InputError
        If the matrix is not square or a weight is NaN.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mndmst import minimum_spanning_tree
    >>> graph = csr_array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]])
    >>> minimum_spanning_tree(graph).toarray().tolist()
    [[0, 0, 0, 3], [0, 0, 2, 5], [0, 0, 0, 0], [0, 0, 0, 0]]
    """
    sparse = optional("scipy.sparse", "formats")
    matrix = csr_matrix(csgraph)
    cores = _cores(threads)
    backend = cpu_device(cores)
    heads, weights = entry_heads(matrix), entry_weights(matrix)
    rows = None if maximum else symmetric_rows(matrix, heads, weights, Threads(cores))
    if rows is not None:
        forest = _public(backend.msf(rows), weights.dtype, maximum)
    else:
        forest = _forest_of(listed_entries(matrix, heads, weights), maximum, backend)
    tree = forest.to_scipy()
    return sparse.csr_matrix(tree) if sparse.isspmatrix(csgraph) else tree


def solve(
    path: str | Path,
    comm: Any = None,
    *,
    config: Any = None,
    output: str | Path | None = None,
    labels: bool = False,
    report: str | Path | None = None,
    quiet: bool = True,
    overwrite: bool = False,
    **options: Any,
) -> "Summary":
    """Compute the forest of a sharded graph in a program that runs under MPI.

    Collective: every rank of `comm` calls it with the same arguments. A rank that fails
    alone ends the job (`MPI_Abort`), because the others would wait for it for ever.

    Parameters
    ----------
    path : str or Path
        A directory of shards, or its index.
    comm : mpi4py.MPI.Comm, optional
        All ranks of the job by default.
    config : Config, optional
        `mndmst.run.config.Config`; by default what variables of the environment say.
    output, report : str or Path, optional
        Where to write the forest and the report.
    labels : bool
        Write each vertex's tree to the forest file, too.
    quiet : bool
        No progress on standard error.
    overwrite : bool
        Replace any files of these names. Without it only a forest file and a report are
        replaced.
    **options
        Fields of `Config`, which override all other settings: ``merge="ring"``.

    Returns
    -------
    Summary
        Counts, total weight, digest and seconds; the same on every rank.

    Raises
    ------
    MndmstError
        On every rank, if the input, the options or the output cannot be used.
    """
    from ..comm.communicator import Comm, world
    from ..host.memory import give_back_freed
    from ..host.progress import Progress
    from ..pipeline import Targets
    from ..pipeline import solve as solve_shards
    from ..run.config import Config, on_all_ranks

    def load() -> Config:
        return (config or Config.load(None, {})).updated(
            options, lambda name, value: f"solve({name}={value!r})"
        )

    targets = Targets(_path(output), _path(report), labels, overwrite=overwrite)
    ranks = world() if comm is None else Comm.dup(comm)
    with _to_its_end(ranks):
        progress = Progress(ranks.rank == 0 and not quiet)
        agreed = on_all_ranks(ranks, load)
        summary = solve_shards(ranks, path, agreed, targets, progress)
    give_back_freed()  # the program goes on
    return summary


@contextmanager
def _to_its_end(ranks: "Comm") -> Iterator[None]:
    """Free a communicator after the block; end the job if only this rank fails.

    A program may have no abort hook, and the other ranks would wait for ever.
    """
    try:
        yield
    except BaseException as error:
        if getattr(error, "ranks", 1) < ranks.size:
            traceback.print_exc()
            ranks.mpi.Abort(1)
        raise
    finally:
        ranks.free()


def _forest_on_device(
    src: Any, dst: Any, weight: Any, num_vertices: int | None, maximum: bool
) -> Forest:
    cupy = optional("cupy", "cuda")
    src, dst, weight = map(cupy.asarray, (src, dst, weight))
    check_columns(src, dst, weight, num_vertices, "the edges")
    if num_vertices is None:
        num_vertices = 1 + max(int(src.max()), int(dst.max())) if len(src) else 0
    weight = supported_weights("the edges", weight)
    src.device.synchronize()  # what fills the arrays may still be under way
    backend = cuda_device(src.device.id)
    found = backend.msf_of_edges(num_vertices, src, dst, weight, maximum)
    return _public(found, weight.dtype, maximum)


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _cores(threads: int) -> int:
    return threads or core_count()


def _forest_of(edges: Edges, maximum: bool, backend: "Backend") -> Forest:
    if edges.num_vertices >= 1 << 32:
        raise InputError(
            f"{edges.num_vertices:,} vertices; in memory up to 2^32 - 1 are computed "
            "on. Write the edges to a file, and use mndmst partition and solve."
        )
    columns = edges.src, edges.dst, edges.weight
    compile_for("arrays", edges.weight.dtype)
    found = backend.msf_of_edges(edges.num_vertices, *columns, maximum)
    return _public(found, edges.weight.dtype, maximum)


def _public(found: "KernelForest", dtype: np.dtype, maximum: bool) -> Forest:
    """Return a kernel's forest in sorted order, with weights for keys."""
    edges = found.edges
    wide = edges.u.astype(np.uint64) << np.uint64(32) | edges.v
    if (wide[1:] < wide[:-1]).any():
        edges = edges.take(np.argsort(wide))
    keys = ~edges.key if maximum else edges.key
    src, dst = edges.u.astype(np.int64), edges.v.astype(np.int64)
    return Forest(src, dst, keys_to_weights(keys, dtype), found.label.astype(np.int64))
