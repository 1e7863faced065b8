"""The command `cluster`."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import ConfigError, optional
from ..host.formatting import counted
from ..host.option_types import number, whole
from .options import (
    add_flag,
    add_moved_graph,
    add_numbers,
    add_outputs,
    add_overwrite,
    add_plot,
    add_point_columns,
    add_quiet,
    notice_not_kept,
    print_notes,
    read_noted_points,
)
from .parser import Commands, on_disk

if TYPE_CHECKING:
    import numpy as np

    from ..api.forest import Forest
    from ..io.atomic_output import Output
    from ..io.names import NameSource
    from ..points.clusters.condensed import CondensedTree


def add_cluster(commands: Commands) -> None:
    """Add the command to the parser."""
    cluster = commands.add_parser(
        "cluster",
        help="find clusters in a forest: single linkage, or HDBSCAN*",
        description="Cut the single-linkage dendrogram of a forest at a threshold or "
        "into a number of clusters, or condense it, as HDBSCAN* does. The result is "
        "HDBSCAN* of points only if the forest is exact: see hdbscan. One process; "
        "about 120 bytes per vertex.",
    )
    cluster.add_argument("forest", type=Path, help="forest file, from solve")
    add_outputs(
        cluster,
        "cluster file, .h5; labels, .csv; or the dendrogram as Newick trees, .nwk",
    )
    rule = cluster.add_mutually_exclusive_group(required=True)
    rule.add_argument(
        "--threshold",
        type=number,
        metavar="X",
        help="remove edges heavier than X (of a maximum forest, lighter ones)",
    )
    rule.add_argument("--count", type=whole(1), metavar="N", help="number of clusters")
    rule.add_argument(
        "--min-size",
        type=whole(2),
        metavar="N",
        help="HDBSCAN*: smallest number of points that form a cluster",
    )
    add_flag(cluster, "--leaves", "HDBSCAN*: select the leaves of the condensed tree")
    add_plot(cluster, ("clusters", "condensed", "dendrogram", "reachability"))
    cluster.add_argument(
        "--points",
        type=on_disk,
        metavar="FILE",
        help="points for the picture of clusters, in a format that hdbscan reads",
    )
    add_overwrite(cluster)
    add_moved_graph(cluster)
    add_numbers(cluster)
    add_point_columns(cluster)
    add_quiet(cluster)
    cluster.set_defaults(process=_cluster, one_process=True)


def _cluster(arguments: argparse.Namespace) -> int:
    from ..api.forest import Forest
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.output_kinds import CLUSTERS, PICTURE
    from ..io.results.clusters_file import write_clusters
    from ..io.results.forest_file import read_forest
    from ..tree.linkage import MIRRORED, single_linkage

    if arguments.plot is None and arguments.points is not None:
        raise ConfigError("--points is for the picture of --plot; give both")
    if arguments.picture == "clusters" and arguments.points is None:
        raise ConfigError("--picture clusters needs points; give them by --points")
    inputs = arguments.forest, arguments.points, arguments.graph
    outputs: list[Output] = [(path, CLUSTERS) for path in arguments.outputs]
    outputs.append((arguments.plot, PICTURE))
    check_outputs(inputs, outputs, overwrite=arguments.overwrite)
    if arguments.plot is not None:
        optional("matplotlib", "plot")  # missing: say so before any work
    table = None
    if arguments.points is not None:
        table = read_noted_points(arguments, arguments.points)
    file = read_forest(arguments.forest)
    names = _names(arguments) if arguments.outputs else None
    forest = Forest.of_file(file)
    _check_similarities(arguments, forest)
    linkage = single_linkage(forest)
    flat = _flat(arguments, forest, linkage)
    columns, labels = flat.columns, flat.columns["labels"]
    clusters, noise = int(labels.max()) + 1, int((labels < 0).sum())
    facts = {
        "graph-uuid": file.header.graph_uuid,
        "num_vertices": forest.num_vertices,
        "num_clusters": clusters,
        "rule": flat.rule,
        **({"distances": MIRRORED} if forest.maximum else {}),
    }
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        for path in arguments.outputs:
            write_clusters(path, facts, columns | {"linkage": linkage}, files, names)
        if arguments.plot is not None:
            from ..points.clusters.cluster_pictures import ClusterPictures
            from ..report.cluster_page import write_cluster_pictures

            source = arguments.forest if table is None else arguments.points
            pictures = ClusterPictures(
                linkage,
                labels,
                None if table is None else table.points,
                None if table is None else table.names or None,
                flat.tree,
                flat.chosen,
                source=str(source),
                facts=facts,
            )
            write_cluster_pictures(pictures, arguments.plot, arguments.picture, files)
    if not arguments.quiet:
        print_sizes(labels, "vertex")
    print(
        f"RESULT n={forest.num_vertices} clusters={clusters} noise={noise}"
        + " order=maximum" * forest.maximum,
        flush=True,
    )
    if not any((arguments.outputs, arguments.plot)):
        notice_not_kept("the clusters are", arguments.quiet)
    return 0


def _check_similarities(arguments: argparse.Namespace, forest: "Forest") -> None:
    """Refuse HDBSCAN* of a maximum forest; say which distances its dendrogram has."""
    if not forest.maximum:
        return
    if arguments.min_size is not None:
        raise ConfigError(
            f"{arguments.forest}: is a maximum spanning forest, whose weights are "
            "similarities, and HDBSCAN* needs distances. Give --threshold or --count, "
            "or solve a graph whose weights are distances."
        )
    from ..tree.linkage import MIRRORED

    note = "a maximum forest: clusters merge from the heaviest edge down"
    if arguments.outputs or arguments.plot is not None:
        note += f"; distances of the dendrogram are the {MIRRORED}"
    print_notes([note], arguments.quiet)


def _names(arguments: argparse.Namespace) -> "NameSource | None":
    from ..io.results.graph_names import names_of_forest

    if arguments.numbers:
        return None
    return names_of_forest(arguments.forest, arguments.graph)


@dataclass(frozen=True)
class FlatClusters:
    """Clusters of a forest by a rule.

    Attributes
    ----------
    rule : str
        In words.
    columns : dict
        Datasets of the cluster file.
    tree, chosen : CondensedTree and ndarray of bool, or None
        Of HDBSCAN*: the condensed tree and its selected clusters.
    """

    rule: str
    columns: "dict[str, np.ndarray]"
    tree: "CondensedTree | None" = None
    chosen: "np.ndarray | None" = None


def _flat(
    arguments: argparse.Namespace, forest: "Forest", linkage: "np.ndarray"
) -> FlatClusters:
    """Return the clusters that the options ask for."""
    from ..tree.linkage import clusters_by_count, clusters_within, numbered

    if arguments.threshold is not None:
        labels = clusters_within(forest, arguments.threshold)
        rule = f"threshold {arguments.threshold}"
        return FlatClusters(rule, {"labels": numbered(labels)})
    if arguments.count is not None:
        labels = clusters_by_count(forest, arguments.count)
        return FlatClusters(f"count {arguments.count}", {"labels": numbered(labels)})

    from ..points.clusters.condensed import condensed_tree
    from ..points.clusters.density import label_points
    from ..points.clusters.selection import ClusterSelection, select_clusters

    tree = condensed_tree(linkage, arguments.min_size)
    method = "leaf" if arguments.leaves else "eom"
    chosen = select_clusters(tree, ClusterSelection(method))
    labels, probabilities = label_points(tree, chosen)
    columns = {"labels": labels, "probabilities": probabilities, **tree.columns()}
    rule = f"min-size {arguments.min_size}" + " leaves" * arguments.leaves
    return FlatClusters(rule, columns, tree, chosen)


def print_sizes(labels: "np.ndarray", member: str) -> None:
    """Print the sizes of the largest clusters by label.

    `member` is "vertex" or "point".
    """
    import numpy as np

    shown = 10
    found, sizes = np.unique(labels[labels >= 0], return_counts=True)
    largest_first = np.argsort(-sizes, kind="stable")
    for cluster in largest_first[:shown].tolist():
        _print_size(f"cluster {found[cluster]}", sizes[cluster], member)
    if len(sizes) > shown:
        others = counted(len(sizes) - shown, "other")
        _print_size(others, sizes[largest_first[shown:]].sum(), member)
    if (labels < 0).any():
        _print_size("noise", (labels < 0).sum(), member)


def _print_size(name: str, size: int, member: str) -> None:
    number, noun = counted(size, member).split()
    print(f"{name:>14} {number:>15} {noun}")
