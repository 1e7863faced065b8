"""The command `hdbscan`."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cluster import print_sizes
from .points import add_points, with_forest, write

if TYPE_CHECKING:
    from ..points.clusters import DensityRule
    from ..points.forest import PointForest
    from ..points.read import PointTable


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
        type=int,
        default=5,
        metavar="N",
        help="fewer points are no cluster",
    )
    hdbscan.add_argument(
        "--min-samples",
        type=int,
        metavar="N",
        help="neighbours that make a point dense, itself not counted, as in hdbscan; "
        "scikit-learn counts it; by default --min-cluster-size",
    )
    hdbscan.add_argument(
        "--cluster-selection-method",
        choices=("eom", "leaf"),
        default="eom",
        help="clusters of most excess of mass, or those that never split",
    )
    hdbscan.add_argument(
        "--cluster-selection-epsilon",
        type=float,
        default=0.0,
        metavar="X",
        help="clusters that have split at a smaller distance are taken together",
    )
    hdbscan.add_argument(
        "--plot", type=Path, metavar="FILE", help="picture to draw: .png, .svg or .pdf"
    )
    hdbscan.set_defaults(process=_hdbscan)


def _hdbscan(arguments: argparse.Namespace) -> int:
    def samples() -> int:
        return _rule(arguments).min_samples or 0

    return with_forest(arguments, samples, partial(_write, arguments))


def _rule(arguments: argparse.Namespace) -> "DensityRule":
    """Return what makes a cluster; ConfigError if nothing does."""
    from ..points.clusters import DensityRule

    return DensityRule(
        arguments.min_cluster_size,
        arguments.min_samples,
        arguments.cluster_selection_method,
        arguments.cluster_selection_epsilon,
    ).checked()


def _write(
    arguments: argparse.Namespace, table: "PointTable", found: "PointForest"
) -> None:
    from ..points.clusters import clusters_of

    rule = _rule(arguments)
    samples = rule.min_samples or 0
    _, linkage, tree, flat = clusters_of(found, rule)
    count, noise = int(flat.labels.max()) + 1, int((flat.labels < 0).sum())
    facts = {
        "num_clusters": count,
        "rule": f"hdbscan min_cluster_size {rule.min_cluster_size} min_samples "
        f"{samples} {rule.method} epsilon {rule.epsilon:g}"
        + " approximate"
        * (not found.exact),
        "metric": arguments.metric,
    }
    columns = {
        "labels": flat.labels,
        "probabilities": flat.probabilities,
        "linkage": linkage,
        **tree.columns(),
    }
    if not arguments.quiet:
        print_sizes(flat.labels)
    write(arguments, table, found, samples, (facts, columns))
    print(
        f"RESULT n={len(table.points)} clusters={count} noise={noise} "
        f"exact={found.exact}",
        flush=True,
    )
