"""The command `hdbscan`."""

import argparse
import json
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.progress import notice
from .changed_model import change_model, check_options
from .cluster import print_sizes
from .cluster_events import sentences
from .options import add_file, add_flag
from .parser import Commands
from .point_forest import with_forest, write
from .point_input import spent
from .point_options import (
    ID_FILE,
    MORE_HELP,
    add_default,
    add_parameter,
    add_points,
)

if TYPE_CHECKING:
    import numpy as np

    from ..points.clusters.density import Clustering
    from ..points.clusters.density_clusters import DensityClusters, DensityRule
    from ..points.point_files import PointTable
    from ..points.point_forest import PointForest
    from ..points.versions.version_file import ChangedClusters

# A file with a damaged row is refused; arrays of Python are taken as hdbscan's
DEFAULTS = {"non_finite": "error"}


def add_hdbscan(commands: Commands) -> None:
    """Add the command to the parser."""
    from ..points.clusters.parameters import PARAMETERS

    hdbscan = commands.add_parser(
        "hdbscan",
        help="find clusters of points: HDBSCAN*, exactly",
        description="Find the minimum spanning forest of the mutual reachability "
        "distances between all points, exactly, and the clusters of HDBSCAN*. Options "
        "are named as in hdbscan. Under mpirun or alone. With --model, points come and "
        "go, and clusters keep their numbers.",
        epilog="Example: mndmst hdbscan old.csv -o model.h5 --prediction-data; mndmst "
        "hdbscan --model model.h5 --insert new.csv --remove gone.csv -o labels.csv",
    )
    add_points(
        hdbscan,
        "cluster file to write, .h5; the labels as .csv, .parquet or .arrow; the "
        "dendrogram as .nwk",
        ("clusters", "condensed", "dendrogram", "reachability"),
        optional=True,
    )
    for name, parameter in PARAMETERS.items():
        default = DEFAULTS.get(name, parameter.default)
        shown = f" (default: {default})" if default else ""
        add_parameter(hdbscan, parameter, MORE_HELP.get(name, shown))
    add_default(hdbscan)
    # None: not given, so those of the model, or the defaults
    hdbscan.set_defaults(**dict.fromkeys(PARAMETERS))
    add_flag(
        hdbscan,
        "--prediction-data",
        "also store the points and the selected clusters in the cluster file, for "
        "mndmst predict and --model",
    )
    add_file(
        hdbscan,
        "--model",
        "go on from this cluster file of --prediction-data, and replace it: insert and "
        "remove points, or change options of HDBSCAN*; POINTS is left out, or has its "
        "present points",
        metavar="FILE.h5",
    )
    add_file(hdbscan, "--insert", "new points for --model, in a format of POINTS")
    add_file(
        hdbscan,
        "--remove",
        f"ids of points to remove from --model: {ID_FILE}",
    )
    add_file(
        hdbscan,
        "--events",
        "also write which clusters of --model are born, die, split and merge",
        metavar="FILE.csv",
    )
    hdbscan.set_defaults(process=_hdbscan)


def _hdbscan(arguments: argparse.Namespace) -> int:
    from ..host.errors import ConfigError
    from ..host.launcher import launched_processes
    from ..points.clusters.cluster_measures import NO_CENTERS
    from ..points.clusters.density_clusters import density_rule
    from ..points.clusters.parameters import PARAMETERS
    from ..points.pairwise_forest import NO_NEAREST, NO_POINTS

    if arguments.model is not None:
        if launched_processes() == 1:
            return _go_on(arguments)
        from .ranks import on_rank_0

        return on_rank_0(partial(_go_on, arguments))
    for name, parameter in PARAMETERS.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, DEFAULTS.get(name, parameter.default))

    def samples() -> int:
        check_options(arguments)
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


def _go_on(arguments: argparse.Namespace) -> int:
    """Change the points of a model, in one process."""
    from ..points.point_files import PointTable, start_uuid

    check_options(arguments)
    change = change_model(arguments)
    version, names = change.version, change.coordinates
    table = PointTable(
        version.points,
        change.user_ids.of(version.ids),
        change.user_ids.name,
        names=tuple(names),
        uuid=start_uuid(version.points),
    )
    arguments.outputs = [arguments.model, *arguments.outputs]
    _write_hdbscan(arguments, table, version.point_forest, change)
    return 0


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
    from ..io.output_kinds import HDF5

    if not any(path.suffix in HDF5 for path in outputs):
        given = f"{outputs[0]} is a table or tree" if outputs else "no file is named"
        raise ConfigError(
            f"{goes} into a cluster file, and {given}. Give -o a name in .h5."
        )


def _write_hdbscan(
    arguments: argparse.Namespace,
    table: "PointTable",
    result: "PointForest",
    change: "ChangedClusters | None" = None,
) -> None:
    """Write the clusters that a forest has, or those of changed points."""
    import numpy as np

    from ..points.clusters.cluster_measures import exemplars_of, relative_validity
    from ..points.clusters.cluster_pictures import ClusterPictures
    from ..points.clusters.density_clusters import clusters_of, density_rule
    from ..points.clusters.prediction_file import prediction_columns, prediction_facts
    from ..points.versions.version_file import first_facts, forest_columns

    rule = density_rule(arguments)
    clusters = (
        clusters_of(result, rule, arguments.threads)
        if change is None
        else change.clusters
    )
    exemplars = exemplars_of(clusters.tree, clusters.flat.labels)
    flat = clusters.flat
    if arguments.noise == "nearest":
        flat = _without_noise(arguments, table.points, clusters, exemplars)
    flat = _coded(arguments, table, flat)
    count = int(flat.labels.max()) + 1
    facts = {
        "num_clusters": count,
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
        facts |= first_facts(rule, arguments.approximate, result, len(table.points))
        if arguments.given_params != arguments.metric_params:
            facts["given_params"] = json.dumps(arguments.given_params)
        columns |= prediction_columns(table.points, clusters) | forest_columns(result)
    shown, how = flat.labels, f"exact={result.exact} search={result.search or 'none'}"
    if change is not None:
        shown = change.numbers.of(flat.labels)
        how = f"version={change.version.number} events={len(change.events)} {how}"
        facts |= change.facts
        columns |= change.columns | {"labels": shown}
    if not arguments.quiet:
        print_sizes(shown, "point")
        for line in sentences([] if change is None else change.events):
            print(line)
    pictures = ClusterPictures(
        clusters.linkage,
        flat.labels,
        None if arguments.metric == "precomputed" else table.points,
        table.names or None,
        clusters.tree,
        clusters.chosen,
        clusters.persistence,
        str(arguments.points or arguments.model),
        facts,
    )
    events = None if change is None else change.events
    write(arguments, table, result, rule.samples, facts, columns, pictures, events)
    _print_result(flat.labels, how)


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
