"""The command `linkage`."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from .parser import Commands
from .point_forest import with_forest, write
from .point_input import spent
from .point_options import add_points

if TYPE_CHECKING:
    from ..points.point_files import PointTable
    from ..points.point_forest import PointForest


def add_linkage(commands: Commands) -> None:
    """Add the command to the parser."""
    linkage = commands.add_parser(
        "linkage",
        help="find the exact single-linkage dendrogram of points",
        description="Find the minimum spanning forest of the distances between all "
        "points, exactly, and the single-linkage dendrogram, as SciPy's linkage "
        "returns it. Under mpirun or alone.",
    )
    add_points(
        linkage,
        "file to write with the dendrogram: .h5, .csv, or .nwk (Newick)",
        ("dendrogram", "reachability"),
    )
    linkage.set_defaults(process=_linkage, alpha=1.0, non_finite="error")


def _linkage(arguments: argparse.Namespace) -> int:
    write = partial(_write_linkage, arguments)
    return with_forest(arguments, lambda: 0, lambda _: False, write)


def _write_linkage(
    arguments: argparse.Namespace, table: "PointTable", result: "PointForest"
) -> None:
    from ..points.clusters.cluster_pictures import ClusterPictures
    from ..tree.linkage import single_linkage

    linkage = single_linkage(result.forest)
    facts = {"rule": "single linkage", "metric": arguments.metric}
    pictures = ClusterPictures(linkage, source=str(arguments.points), facts=facts)
    write(arguments, table, result, 0, facts, {"linkage": linkage}, pictures)
    forest = result.forest
    print(
        f"RESULT n={len(table.points)} edges={len(forest)} trees={forest.num_trees} "
        f"weight={forest.total_weight} digest={forest.digest} exact={result.exact} "
        f"search={result.search or 'none'} {spent()}",
        flush=True,
    )
