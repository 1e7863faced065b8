"""The command `cluster`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..host.errors import optional
from ..host.formatting import counted
from ..host.option_types import number, whole
from .options import (
    add_numbers,
    add_overwrite,
    add_point_columns,
    add_quiet,
    say_not_kept,
    tell_notes,
)
from .parser import on_disk

if TYPE_CHECKING:
    from ..io.names import NameSource


def add_cluster(commands: Any) -> None:
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
    cluster.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="cluster file, .h5; labels, .csv; or the dendrogram as Newick trees, "
        ".nwk; without it, nothing is kept",
    )
    rule = cluster.add_mutually_exclusive_group(required=True)
    rule.add_argument(
        "--threshold", type=number, metavar="X", help="remove edges heavier than X"
    )
    rule.add_argument("--count", type=whole(1), metavar="N", help="number of clusters")
    rule.add_argument(
        "--min-size",
        type=whole(2),
        metavar="N",
        help="HDBSCAN*: smallest number of points that form a cluster",
    )
    cluster.add_argument(
        "--leaves",
        action="store_true",
        help="HDBSCAN*: select the leaves of the condensed tree",
    )
    cluster.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="also draw the clusters: .png, .svg or .pdf",
    )
    cluster.add_argument(
        "--points",
        type=on_disk,
        metavar="FILE",
        help="points to draw, in a format that hdbscan reads",
    )
    add_overwrite(cluster)
    cluster.add_argument(
        "--graph",
        type=Path,
        help="graph of the forest, which has the names of vertices; needed only if it "
        "has moved",
    )
    add_numbers(cluster)
    add_point_columns(cluster)
    add_quiet(cluster)
    cluster.set_defaults(process=_cluster)


def _cluster(arguments: argparse.Namespace) -> int:
    from ..api.forest import Forest
    from ..cluster.linkage import single_linkage
    from ..host.errors import ConfigError
    from ..io.atomic_output import AtomicOutput
    from ..io.output_checks import check_outputs
    from ..io.output_kinds import CLUSTERS, PICTURE
    from ..io.results.clusters_file import write_clusters
    from ..io.results.forest_file import read_forest

    if (arguments.plot is None) != (arguments.points is None):
        raise ConfigError("--plot and --points belong together; give both")
    inputs = arguments.forest, arguments.points, arguments.graph
    outputs = (arguments.output, CLUSTERS), (arguments.plot, PICTURE)
    check_outputs(inputs, outputs, overwrite=arguments.overwrite)
    points = None
    if arguments.plot is not None:
        from ..points.point_files import read_point_table

        optional("matplotlib", "plot")  # missing: say so before any work
        table = read_point_table(
            arguments.points, columns=arguments.columns, key=arguments.key
        )
        tell_notes(table.notes, arguments.quiet)
        points = table.points
    file = read_forest(arguments.forest)
    names = None
    if arguments.output is not None and arguments.output.suffix in (".csv", ".nwk"):
        names = _names(arguments)
    forest = Forest.of_file(file)
    linkage = single_linkage(forest)
    rule, columns = _flat(arguments, forest, linkage)
    labels = columns["labels"]
    clusters, noise = int(labels.max()) + 1, int((labels < 0).sum())
    facts = {
        "graph-uuid": file.header.graph_uuid,
        "num_vertices": forest.num_vertices,
        "num_clusters": clusters,
        "rule": rule,
    }
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        if arguments.output is not None:
            columns["linkage"] = linkage
            write_clusters(arguments.output, facts, columns, files, names)
        if points is not None:
            from ..cluster.scatter_plot import draw

            draw(points, labels, arguments.plot, files, str(arguments.points))
    if not arguments.quiet:
        print_sizes(labels)
    print(
        f"RESULT n={forest.num_vertices} clusters={clusters} noise={noise}", flush=True
    )
    if not any((arguments.output, arguments.plot)):
        say_not_kept("the clusters are", arguments.quiet)
    return 0


def _names(arguments: argparse.Namespace) -> "NameSource | None":
    from ..io.results.graph_names import names_of_forest

    if arguments.numbers:
        return None
    return names_of_forest(arguments.forest, arguments.graph)


def _flat(
    arguments: argparse.Namespace, forest: Any, linkage: Any
) -> tuple[str, dict[str, Any]]:
    """Return the rule in words, and the columns of the cluster file."""
    from ..cluster.density import condensed_tree, flat_clusters
    from ..cluster.linkage import clusters_by_count, clusters_within, numbered

    if arguments.threshold is not None:
        labels = clusters_within(forest, arguments.threshold)
        return f"threshold {arguments.threshold}", {"labels": numbered(labels)}
    if arguments.count is not None:
        labels = clusters_by_count(forest, arguments.count)
        return f"count {arguments.count}", {"labels": numbered(labels)}
    tree = condensed_tree(linkage, arguments.min_size)
    labels, probabilities = flat_clusters(tree, arguments.leaves)
    return f"min-size {arguments.min_size}" + " leaves" * arguments.leaves, {
        "labels": labels,
        "probabilities": probabilities,
        **tree.columns(),
    }


def print_sizes(labels: Any) -> None:
    """Print the sizes of the largest clusters."""
    import numpy as np

    shown = 10
    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1]
    for rank, size in enumerate(sizes[:shown].tolist(), start=1):
        _print_size(f"cluster {rank}", size)
    if len(sizes) > shown:
        _print_size(counted(len(sizes) - shown, "other"), sizes[shown:].sum())
    if (labels < 0).any():
        _print_size("noise", (labels < 0).sum())


def _print_size(name: str, size: int) -> None:
    number, noun = counted(size, "vertex").split()
    print(f"{name:>14} {number:>15} {noun}")
