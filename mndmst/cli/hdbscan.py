"""The command `hdbscan`."""

import argparse
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.progress import notice
from .cluster import print_sizes
from .options import add_flag
from .parser import Commands
from .point_forest import with_forest, write
from .point_input import spent
from .point_options import add_parameter, add_points

if TYPE_CHECKING:
    import numpy as np

    from ..points.clusters.density import Clustering
    from ..points.clusters.density_clusters import DensityClusters, DensityRule
    from ..points.point_files import PointTable
    from ..points.point_forest import PointForest

# What the help of a parameter's option says besides its effect.
MORE_HELP = {
    "min_samples": " (default: --min-cluster-size)",
    "store_centers": "; the cluster file has them",
}


def add_hdbscan(commands: Commands) -> None:
    """Add the command to the parser."""
    from ..points.clusters.parameters import PARAMETERS

    hdbscan = commands.add_parser(
        "hdbscan",
        help="find clusters of points: HDBSCAN*, exactly",
        description="Find the minimum spanning forest of the mutual reachability "
        "distances between all points, exactly, and the clusters of HDBSCAN*. Options "
        "are named as in hdbscan. Under mpirun or alone.",
    )
    add_points(
        hdbscan,
        "cluster file to write, .h5; the labels as .csv; the dendrogram as .nwk",
        ("clusters", "condensed", "dendrogram", "reachability"),
    )
    for name, parameter in PARAMETERS.items():
        add_parameter(hdbscan, parameter, MORE_HELP.get(name, ""))
    # A file with a damaged row is refused; arrays of Python are taken as hdbscan's
    hdbscan.set_defaults(non_finite="error")
    add_flag(
        hdbscan,
        "--prediction-data",
        "also store the points and the selected clusters in the cluster file, for "
        "mndmst predict",
    )
    hdbscan.set_defaults(process=_hdbscan)


def _hdbscan(arguments: argparse.Namespace) -> int:
    from ..host.errors import ConfigError
    from ..points.clusters.cluster_measures import NO_CENTERS
    from ..points.clusters.density_clusters import density_rule
    from ..points.pairwise_forest import NO_NEAREST, NO_POINTS

    def samples() -> int:
        rule = density_rule(arguments)
        if arguments.metric == "precomputed" and arguments.prediction_data:
            raise ConfigError(NO_POINTS)
        if arguments.metric == "precomputed" and arguments.store_centers:
            raise ConfigError(NO_CENTERS)
        if arguments.noise == "nearest":
            if arguments.metric == "precomputed":
                raise ConfigError(NO_NEAREST)
            if arguments.prediction_data:
                raise ConfigError(
                    "--noise nearest gives noise the labels of clusters, and "
                    "--prediction-data needs the clusters without it; leave one out. "
                    "mndmst predict has --noise, too."
                )
        if arguments.prediction_data:
            _check_cluster_file("--prediction-data goes", arguments.outputs)
        if arguments.store_centers:
            _check_cluster_file("--store-centers goes", arguments.outputs)
        return rule.samples

    def answer(table: "PointTable") -> bool:
        rule = density_rule(arguments)
        count = len(table.points)
        rule.check_points(count)
        if rule.too_few(count) and not arguments.quiet:
            notice(f"{arguments.points}: {rule.too_few(count)}")
        if not rule.finds_no_cluster(count):
            return False
        trees = [path for path in arguments.outputs if path.suffix != ".csv"]
        needs = arguments.forest or arguments.plot or next(iter(trees), None)
        if needs:
            if not arguments.quiet:
                notice(
                    f"{needs}: needs the forest of the points, which takes a search; "
                    "labels in a .csv need none"
                )
            return False
        _write_noise(arguments, table, rule)
        return True

    return with_forest(arguments, samples, answer, partial(_write_hdbscan, arguments))


def _write_noise(
    arguments: argparse.Namespace, table: "PointTable", rule: "DensityRule"
) -> None:
    """Write the labels of points among which no cluster is possible."""
    from ..points.clusters.density import Clustering
    from ..points.pairwise_forest import check_forest

    check_forest(
        table.points,
        arguments.metric,
        alpha=arguments.alpha,
        parameters=arguments.metric_params,
        approximate=arguments.approximate,
        search=arguments.search,
    )
    flat = _coded(arguments, table, Clustering.all_noise(len(table.points)))
    if not arguments.quiet:
        print_sizes(flat.labels, "point")
    columns = flat._asdict() | _centers(arguments, table, flat)
    write(arguments, table, None, rule.samples, {}, columns, None)
    _print_result(flat.labels, "exact=True search=none")


def _coded(
    arguments: argparse.Namespace, table: "PointTable", flat: "Clustering"
) -> "Clustering":
    """Return the clusters, with codes for rows that are not finite if that is asked."""
    from ..points.clusters.density import Clustering
    from ..points.coordinates import LABEL_CODES, PROBABILITY_CODES, coded

    if arguments.non_finite != "codes":
        return flat
    codes = LABEL_CODES, PROBABILITY_CODES
    pairs = zip(flat, codes, strict=True)
    return Clustering(*(coded(column, table.points, code) for column, code in pairs))


def _centers(
    arguments: argparse.Namespace, table: "PointTable", flat: "Clustering"
) -> dict[str, "np.ndarray"]:
    """Return the datasets of `--store-centers`."""
    from ..points.clusters.cluster_measures import centers_of

    return centers_of(
        table.points,
        flat.labels,
        flat.probabilities,
        arguments.store_centers,
        arguments.metric,
        arguments.metric_params,
    )


def _print_result(labels: "np.ndarray", how: str) -> None:
    clusters, noise = int(labels.max()) + 1, int((labels < 0).sum())
    print(
        f"RESULT n={len(labels)} clusters={clusters} noise={noise} {how} {spent()}",
        flush=True,
    )


def _check_cluster_file(goes: str, outputs: list[Path]) -> None:
    """Raise ConfigError unless there is a cluster file for further results."""
    from ..host.errors import ConfigError

    if all(path.suffix in (".csv", ".nwk") for path in outputs):
        given = f"{outputs[0]} is a table or tree" if outputs else "no file is named"
        raise ConfigError(
            f"{goes} into a cluster file, and {given}. Give -o a name in .h5."
        )


def _write_hdbscan(
    arguments: argparse.Namespace, table: "PointTable", result: "PointForest"
) -> None:
    import numpy as np

    from ..points.clusters.cluster_measures import exemplars_of, relative_validity
    from ..points.clusters.cluster_pictures import ClusterPictures
    from ..points.clusters.density_clusters import clusters_of, density_rule
    from ..points.clusters.prediction_file import prediction_columns, prediction_facts

    rule = density_rule(arguments)
    clusters = clusters_of(result, rule, arguments.threads)
    exemplars = exemplars_of(clusters.tree, clusters.flat.labels)
    flat = clusters.flat
    if arguments.noise == "nearest":
        flat = _without_noise(arguments, table.points, clusters, exemplars)
    flat = _coded(arguments, table, flat)
    facts = {
        "num_clusters": int(flat.labels.max()) + 1,
        "rule": _in_words(rule, arguments.alpha)
        + " approximate" * (not result.exact)
        + " noise nearest" * (arguments.noise == "nearest"),
        "metric": arguments.metric,
        "relative_validity": relative_validity(result.forest, clusters.flat.labels),
    }
    none = np.empty(0, np.int64)
    columns = {
        "labels": flat.labels,
        "probabilities": flat.probabilities,
        "outlier_scores": clusters.outlier_scores,
        "persistence": clusters.persistence,
        "exemplars": np.concatenate([none, *exemplars]),
        "linkage": clusters.linkage,
        **clusters.tree.columns(),
        **_centers(arguments, table, clusters.flat),
    }
    if arguments.prediction_data:
        facts |= prediction_facts(
            table.points,
            rule,
            arguments.alpha,
            arguments.metric_params,
            arguments.non_finite,
            result.search,
            table.names,
        )
        columns |= prediction_columns(table.points, clusters)
    if not arguments.quiet:
        print_sizes(flat.labels, "point")
    pictures = ClusterPictures(
        clusters.linkage,
        flat.labels,
        None if arguments.metric == "precomputed" else table.points,
        table.names or None,
        clusters.tree,
        clusters.chosen,
        clusters.persistence,
        str(arguments.points),
        facts,
    )
    write(arguments, table, result, rule.samples, facts, columns, pictures)
    _print_result(flat.labels, f"exact={result.exact} search={result.search or 'none'}")


def _without_noise(
    arguments: argparse.Namespace,
    points: "np.ndarray",
    clusters: "DensityClusters",
    exemplars: "list[np.ndarray]",
) -> "Clustering":
    """Return the clusters with each noise point in one of them."""
    import numpy as np

    from ..points.clusters.prediction import Connections, FlatMembership

    points = np.asarray(points, np.float64)
    membership = FlatMembership(
        clusters.tree,
        clusters.chosen,
        clusters.flat.labels,
        [points[members] for members in exemplars],
        arguments.metric,
        arguments.metric_params,
    )
    own = Connections(np.arange(len(points)), clusters.tree.point_distance)
    return membership.without_noise(clusters.flat, points, own)


def _in_words(rule: "DensityRule", alpha: float) -> str:
    """Return the rule as the cluster file records it; defaults are left out."""
    selection = rule.selection
    words = (
        f"hdbscan min_cluster_size {rule.min_cluster_size} min_samples {rule.samples} "
        f"{selection.method} epsilon {selection.epsilon:g}"
    )
    if alpha != 1:
        words += f" alpha {alpha:g}"
    if selection.epsilon_max < math.inf:
        words += f" epsilon_max {selection.epsilon_max:g}"
    if rule.persistence:
        words += f" persistence {rule.persistence:g}"
    if selection.max_cluster_size:
        words += f" max_cluster_size {selection.max_cluster_size}"
    return words + " allow_single_cluster" * selection.allow_single_cluster
