"""The command `linkage`."""

import argparse
from typing import Any

from .points import add_points, how, load, write


def add(commands: Any) -> None:
    """Add the command to the parser."""
    linkage = commands.add_parser(
        "linkage",
        help="find the exact single-linkage dendrogram of points",
        description="Find the minimum spanning forest of the distances between all "
        "points, exactly, and the single-linkage dendrogram, as SciPy's linkage has "
        "it. One process.",
    )
    add_points(linkage, "cluster file to write, with the dendrogram")
    linkage.set_defaults(process=_linkage, plot=None)


def _linkage(arguments: argparse.Namespace) -> int:
    points = load(arguments, 0)

    from ..cluster.linkage import single_linkage
    from ..points.forest import points_forest

    found = points_forest(points, arguments.metric, **how(arguments))
    linkage = single_linkage(found.forest)
    facts = {"rule": "single linkage", "metric": arguments.metric}
    write(arguments, points, found, 0, (facts, {"linkage": linkage}))
    forest = found.forest
    print(
        f"RESULT n={len(points)} edges={len(forest)} trees={forest.num_trees} "
        f"weight={forest.total_weight} digest={forest.digest} exact={found.exact}",
        flush=True,
    )
    return 0
