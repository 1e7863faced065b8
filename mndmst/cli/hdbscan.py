"""The command `hdbscan`."""

import argparse
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cluster import print_sizes
from .numbers import MOST_POINTS, real, whole
from .points import add_points, with_forest, write

if TYPE_CHECKING:
    from ..points.density_clusters import DensityRule
    from ..points.point_files import PointTable
    from ..points.point_forest import PointForest


def add(commands: Any) -> None:
    """Add the command to the parser."""
    hdbscan = commands.add_parser(
        "hdbscan",
        help="find clusters of points: HDBSCAN*, exactly",
        description="Find the minimum spanning forest of the mutual reachability "
        "distances between all points, exactly, and the clusters of HDBSCAN*. Options "
        "have the names of hdbscan. Under mpirun or alone.",
    )
    add_points(hdbscan, "cluster file to write, .h5, or the labels as .csv")
    hdbscan.add_argument(
        "--min-cluster-size",
        type=whole(2),
        default=5,
        metavar="N",
        help="smallest number of points that form a cluster",
    )
    hdbscan.add_argument(
        "--min-samples",
        type=whole(1),
        metavar="N",
        help="neighbours that make a point dense, itself not counted, as in hdbscan; "
        "scikit-learn counts it; by default --min-cluster-size",
    )
    hdbscan.add_argument(
        "--cluster-selection-method",
        choices=("eom", "leaf"),
        default="eom",
        help="clusters of most excess of mass, or the leaves of the condensed tree",
    )
    hdbscan.add_argument(
        "--cluster-selection-epsilon",
        type=real(0),
        default=0.0,
        metavar="X",
        help="replace clusters born at a smaller distance by their first ancestor born "
        "at a larger one",
    )
    hdbscan.add_argument(
        "--cluster-selection-epsilon-max",
        type=real(0),
        default=math.inf,
        metavar="X",
        help="do not select clusters born at a larger distance, with eom",
    )
    hdbscan.add_argument(
        "--cluster-selection-persistence",
        type=real(0),
        default=0.0,
        metavar="X",
        help="merge leaves of the condensed tree that last less, in 1 / distance",
    )
    hdbscan.add_argument(
        "--allow-single-cluster",
        action="store_true",
        help="allow one cluster of all points but those that leave it first",
    )
    hdbscan.add_argument(
        "--max-cluster-size",
        type=whole(0, MOST_POINTS),
        default=0,
        metavar="N",
        help="do not select larger clusters, with eom; 0 for no limit",
    )
    hdbscan.add_argument(
        "--plot", type=Path, metavar="FILE", help="picture to draw: .png, .svg or .pdf"
    )
    hdbscan.set_defaults(process=_hdbscan)


def _hdbscan(arguments: argparse.Namespace) -> int:
    def samples() -> int:
        return _rule(arguments).samples

    return with_forest(arguments, samples, partial(_write, arguments))


def _rule(arguments: argparse.Namespace) -> "DensityRule":
    """Return the rule of the options; ConfigError if a value is out of range."""
    from ..cluster.selection import ClusterSelection
    from ..points.density_clusters import DensityRule

    return DensityRule(
        arguments.min_cluster_size,
        arguments.min_samples,
        ClusterSelection(
            arguments.cluster_selection_method,
            arguments.cluster_selection_epsilon,
            arguments.cluster_selection_epsilon_max,
            arguments.allow_single_cluster,
            arguments.max_cluster_size,
        ),
        arguments.cluster_selection_persistence,
    ).checked()


def _write(
    arguments: argparse.Namespace, table: "PointTable", found: "PointForest"
) -> None:
    from ..points.density_clusters import clusters_of

    rule = _rule(arguments)
    clusters = clusters_of(found, rule)
    flat = clusters.flat
    count, noise = int(flat.labels.max()) + 1, int((flat.labels < 0).sum())
    facts = {
        "num_clusters": count,
        "rule": _in_words(rule) + " approximate" * (not found.exact),
        "metric": arguments.metric,
    }
    columns = {
        "labels": flat.labels,
        "probabilities": flat.probabilities,
        "outlier_scores": clusters.outlier_scores,
        "persistence": clusters.persistence,
        "linkage": clusters.linkage,
        **clusters.tree.columns(),
    }
    if not arguments.quiet:
        print_sizes(flat.labels)
    write(arguments, table, found, rule.samples, (facts, columns))
    print(
        f"RESULT n={len(table.points)} clusters={count} noise={noise} "
        f"exact={found.exact}",
        flush=True,
    )


def _in_words(rule: "DensityRule") -> str:
    """Return the rule as the cluster file records it; defaults are left out."""
    selection = rule.selection
    words = (
        f"hdbscan min_cluster_size {rule.min_cluster_size} min_samples {rule.samples} "
        f"{selection.method} epsilon {selection.epsilon:g}"
    )
    if selection.epsilon_max < math.inf:
        words += f" epsilon_max {selection.epsilon_max:g}"
    if rule.persistence:
        words += f" persistence {rule.persistence:g}"
    if selection.max_cluster_size:
        words += f" max_cluster_size {selection.max_cluster_size}"
    return words + " allow_single_cluster" * selection.allow_single_cluster
