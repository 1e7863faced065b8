"""The command `linkage`."""

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from .points import add_points, with_forest, write

if TYPE_CHECKING:
    from ..points.point_files import PointTable
    from ..points.point_forest import PointForest


def add(commands: Any) -> None:
    """Add the command to the parser."""
    linkage = commands.add_parser(
        "linkage",
        help="find the exact single-linkage dendrogram of points",
        description="Find the minimum spanning forest of the distances between all "
        "points, exactly, and the single-linkage dendrogram, as SciPy's linkage has "
        "it. Under mpirun or alone.",
    )
    add_points(linkage, "file to write with the dendrogram: .h5, or .csv")
    linkage.set_defaults(process=_linkage, plot=None)


def _linkage(arguments: argparse.Namespace) -> int:
    return with_forest(arguments, lambda: 0, partial(_write, arguments))


def _write(
    arguments: argparse.Namespace, table: "PointTable", found: "PointForest"
) -> None:
    from ..cluster.linkage import single_linkage

    linkage = single_linkage(found.forest)
    facts = {"rule": "single linkage", "metric": arguments.metric}
    write(arguments, table, found, 0, (facts, {"linkage": linkage}))
    forest = found.forest
    print(
        f"RESULT n={len(table.points)} edges={len(forest)} trees={forest.num_trees} "
        f"weight={forest.total_weight} digest={forest.digest} exact={found.exact}",
        flush=True,
    )
