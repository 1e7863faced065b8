"""Points and clusters, called from Python: arguments are checked before any work."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..api.forest import Forest
from ..api.inputs import (
    as_count,
    as_flag,
    as_number,
    as_path,
    as_points,
    as_threads,
    check_nothing_masked,
)
from ..host.errors import (
    ConfigError,
    ConfigTypeError,
    InputError,
    InputTypeError,
    shown,
)

if TYPE_CHECKING:
    from ..io.edge_file import Edges
    from .clusters.condensed import CondensedTree
    from .clusters.density import Clustering
    from .estimator import HDBSCAN
    from .search_reporter import SearchReporter


def read_points(
    source: str | Path,
    *,
    columns: str | Sequence[str] | None = None,
    key: str | None = None,
    metric: str = "",
) -> np.ndarray:
    """Read the points of a file.

    Parameters
    ----------
    source : str or Path
        A file that ``mndmst hdbscan`` reads: an array, or a table with a point a row.
    columns : str or sequence of str, optional
        The coordinates of a table, such as ``"lon,lat"``; by default all columns of
        numbers but ids, index columns and labels.
    key : str, optional
        The array of an .npz file that has several.
    metric : str, optional
        The metric of the points, if it says how a table is read: "alleles" of a table
        of alleles, "precomputed" of a matrix of distances, "haversine".

    Returns
    -------
    ndarray of float64, shape (points, dimensions)

    Raises
    ------
    InputError
        If the file is missing, damaged, or a coordinate is not a finite number.
    ConfigError
        If it has no such column or array.
    """
    from .point_files import read_point_table

    path = as_path(source, "source")
    if not isinstance(metric, str):
        raise ConfigTypeError(f"metric is {shown(metric)}; give its name")
    return read_point_table(path, columns=columns, key=key, metric=metric).points


def example_points(name: str, count: int, seed: int = 1) -> np.ndarray:
    """Generate example points in the plane, in rings or in blobs.

    Parameters
    ----------
    name : {"rings", "blobs"}
    count : int
    seed : int

    Returns
    -------
    ndarray of float64, shape (count, 2)

    Raises
    ------
    ConfigError
        If there is no such example, or a number is negative.
    """
    from .point_files import EXAMPLES
    from .point_files import example_points as make

    if not isinstance(name, str) or name not in EXAMPLES:
        raise ConfigError(f"name is {shown(name)}; give one of {', '.join(EXAMPLES)}")
    count = as_count(count, "count")
    if count >= 1 << 32:
        raise ConfigError(f"count is {count:,}; at most 2^32 - 1 points are supported")
    return make(name, count, as_count(seed, "seed"))


def neighbour_graph(
    points: object,
    neighbours: int | None = None,
    min_samples: int = 0,
    *,
    search: str = "auto",
    verbose: bool = False,
) -> "Edges":
    """Return the graph that joins each point with its nearest neighbours.

    Parameters
    ----------
    points : array-like of numbers, shape (points, dimensions)
    neighbours : int, optional
        Neighbours of a point, itself not counted. By default 16, or `min_samples` if
        that is larger; all other points if these are fewer.
    min_samples : int
        If not 0, weights are mutual reachability distances: of the distance and both
        core distances, those to the `min_samples`-th neighbour, the largest.
    search : {"auto", "tree", "product"}
        Find neighbours by a k-d tree, or by matrix products, on a GPU where there is
        one. It changes the time and no result.
    verbose : bool
        Write progress, and which search is taken, to standard error.

    Returns
    -------
    Edges
        With the columns `src`, `dst` and `weight`.

    Raises
    ------
    InputError
        If the values are not points.
    ConfigError
        If a number is out of range.
    """
    from .neighbour_graph import neighbour_graph as join
    from .point_files import checked_points

    return join(
        checked_points(as_points(points, "points", True), "points: ", typed=True),
        None if neighbours is None else as_count(neighbours, "neighbours"),
        as_count(min_samples, "min_samples"),
        search=search,
        reporter=_reporter(verbose),
    )


def _reporter(verbose: bool) -> "SearchReporter":
    """Return a reporter that writes to standard error, or nowhere."""
    from ..host.progress import Progress
    from .search_reporter import SearchReporter

    return SearchReporter(Progress(True, verbose=True) if verbose else None)


def single_linkage(
    points: object,
    metric: str = "euclidean",
    threads: int = 0,
    *,
    metric_params: Mapping[str, object] | None = None,
    search: str = "auto",
    verbose: bool = False,
) -> np.ndarray:
    """Return the single-linkage dendrogram of points, exactly.

    Memory grows with the points, not with their pairs.

    Parameters
    ----------
    points : array-like of numbers, shape (points, dimensions)
        With metric "precomputed" distances: a square matrix, or the result of SciPy's
        `pdist`.
    metric : str
        "euclidean" ("l2"), "manhattan" ("l1", "cityblock"), "chebyshev", "cosine",
        "correlation" or "haversine". For "haversine" latitude and longitude in radians,
        as in scikit-learn. Others of `HDBSCAN` compare all pairs.
    threads : int
        Number of threads; 0 for all cores this process may use.
    metric_params : dict, optional
        Further arguments of the metric, as in `HDBSCAN`.
    search : {"auto", "tree", "product"}
        Find neighbours by a k-d tree, or by matrix products, on a GPU where there is
        one. It changes the time and no result.
    verbose : bool
        Write progress, and which search is taken, to standard error.

    Returns
    -------
    ndarray of float64, shape (points - 1, 4)
        As `scipy.cluster.hierarchy.linkage(points, "single")` returns it; equal
        distances are in the order of the points' numbers.

    Raises
    ------
    InputError
        If the values are not points, or do not suit the metric.
    ConfigError
        If there is no such metric, or `threads` is not a count.

    Examples
    --------
    >>> import mndmst
    >>> mndmst.single_linkage([[0.0], [1.0], [5.0]])[:, 2]
    array([1., 4.])
    """
    from ..tree.linkage import single_linkage as linkage_of
    from .pairwise_forest import matrix_forest, metric_forest
    from .point_files import checked_points

    if not isinstance(metric, str):
        raise ConfigTypeError(f"metric is {shown(metric)}; give its name")
    if not isinstance(metric_params, Mapping | None):
        raise ConfigTypeError(
            f"metric_params is {shown(metric_params)}; give a dict of arguments of the "
            "metric"
        )
    if metric == "precomputed":
        check_nothing_masked(points, "points")
        distances = points if hasattr(points, "tocoo") else np.asarray(points)
        return linkage_of(matrix_forest(distances, 0, parameters=metric_params).forest)
    if getattr(points, "ndim", 2) == 1:
        raise InputError(
            "points has one dimension; give a point a row, or metric='precomputed' for "
            "the distances of SciPy's pdist"
        )
    if metric == "haversine":
        from ..io.formats.point_columns import check_angles

        check_angles(list(getattr(points, "columns", ())), "points")
    result = metric_forest(
        checked_points(as_points(points, "points", True), "the points: ", typed=True),
        metric,
        0,
        parameters=metric_params,
        threads=as_threads(threads),
        search=search,
        reporter=_reporter(verbose),
    )
    return linkage_of(result.forest)


def approximate_predict(
    model: "HDBSCAN", points: object
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and probabilities of new points, as hdbscan's function does.

    Parameters
    ----------
    model : HDBSCAN
        A fitted estimator.
    points : array-like or sparse matrix of numbers, shape (points, dimensions)

    Returns
    -------
    labels : ndarray of int64, shape (points,)
    probabilities : ndarray of float64, shape (points,)

    Raises
    ------
    InputError
        If the model is not an `HDBSCAN`, or the points do not suit it.
    """
    from .estimator import HDBSCAN

    if not isinstance(model, HDBSCAN):
        raise InputTypeError(f"model is {shown(model)}; give a mndmst.HDBSCAN")
    return model.approximate_predict(points)


def condensed_tree(linkage: object, min_cluster_size: int) -> "CondensedTree":
    """Return the condensed tree of a single-linkage dendrogram.

    Parameters
    ----------
    linkage : array-like of float64, shape (points - 1, 4)
        As `single_linkage`, `Forest.linkage` and SciPy return it.
    min_cluster_size : int
        Smallest number of points that form a cluster; at least 2.

    Returns
    -------
    CondensedTree

    Raises
    ------
    InputError
        If it is not a dendrogram.
    ConfigError
        If the size is below 2.
    """
    from .clusters.condensed import condensed_tree as condense

    size = as_count(min_cluster_size, "min_cluster_size")
    return condense(_dendrogram(linkage), size)


def flat_clusters(
    tree: "CondensedTree", leaves: bool = False, epsilon: float = 0.0
) -> "Clustering":
    """Select clusters of a condensed tree by excess of mass, or its leaves.

    Parameters
    ----------
    tree : CondensedTree
    leaves : bool
        Take the leaves of the tree in place of the clusters of most excess of mass.
    epsilon : float
        Clusters that split at a smaller distance are taken together (Malzer and Baum,
        MFI 2020).

    Returns
    -------
    Clustering
        A pair of labels (int64, -1 is noise) and probabilities (float64) of the points.

    Raises
    ------
    ConfigError
        If `tree` is not a condensed tree, or `epsilon` is negative or NaN.
    """
    from .clusters.condensed import CondensedTree
    from .clusters.density import flat_clusters as flatten

    if not isinstance(tree, CondensedTree):
        raise ConfigTypeError(f"tree is {shown(tree)}; give one of condensed_tree")
    distance = as_number(epsilon, "epsilon")
    if not distance >= 0:
        raise ConfigError(f"epsilon is {epsilon}; give 0 or more")
    return flatten(tree, as_flag(leaves, "leaves"), distance)


def clusters_within(forest: Forest, threshold: int | float) -> np.ndarray:
    """Return the clusters that forest edges up to a threshold join.

    In a maximum forest edges from the threshold on join them. Integer weights are
    compared exactly.

    Parameters
    ----------
    forest : Forest
    threshold : int or float

    Returns
    -------
    ndarray, shape (num_vertices,)
        The smallest vertex of each vertex's cluster, by name in a `NamedForest`.

    Raises
    ------
    ConfigError
        If the threshold is NaN or not a number.
    """
    from ..tree.linkage import clusters_within as join

    checked = _forest(forest)
    labels = join(checked.numbers, as_number(threshold, "threshold"))
    return checked.nodes[labels]


def clusters_by_count(forest: Forest, count: int) -> np.ndarray:
    """Divide a forest into a number of clusters by removing its heaviest edges.

    Of a maximum forest the lightest edges are removed.

    Parameters
    ----------
    forest : Forest
    count : int
        From the number of trees to the number of vertices.

    Returns
    -------
    ndarray, shape (num_vertices,)
        The smallest vertex of each vertex's cluster, by name in a `NamedForest`.

    Raises
    ------
    ConfigError
        If the count is below the number of trees or above that of vertices.
    """
    from ..tree.linkage import clusters_by_count as divide

    checked = _forest(forest)
    return checked.nodes[divide(checked.numbers, as_count(count, "count"))]


def _forest(forest: object) -> Forest:
    if not isinstance(forest, Forest):
        raise InputTypeError(f"forest is {shown(forest)}; give a mndmst.Forest")
    return forest


def _dendrogram(linkage: object) -> np.ndarray:
    """Return a dendrogram, checked: kernels follow the numbers in it as indices.

    Raises
    ------
    InputError
        If a row joins a cluster that does not exist yet, or one twice.
    """
    table = as_points(linkage, "linkage")
    if table.shape[1] != 4:
        raise InputError(
            f"linkage has shape {table.shape}; give 4 columns, as SciPy's linkage"
        )
    ids = table[:, :2]
    new_ids = np.arange(len(table)) + len(table) + 1  # of the cluster of each row
    valid = (ids >= 0) & (ids < new_ids[:, None]) & (ids == np.floor(ids))
    if not valid.all():
        row = int(np.flatnonzero(~valid.all(axis=1))[0])
        raise InputError(
            f"row {row} of linkage joins {ids[row, 0]:g} and {ids[row, 1]:g}, which "
            "are not two clusters of rows before"
        )
    if len(np.unique(ids)) < ids.size:
        raise InputError("linkage joins a cluster twice")
    distance = table[:, 2]
    if np.isnan(distance).any() or (distance[1:] < distance[:-1]).any():
        raise InputError("linkage has distances that do not ascend")
    return table
