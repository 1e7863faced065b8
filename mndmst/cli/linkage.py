"""The command `linkage`."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from ..host.errors import ConfigError
from .parser import Commands, Parser
from .point_forest import with_forest, write
from .point_input import spent
from .point_options import add_points

if TYPE_CHECKING:
    from ..points.point_files import PointTable
    from ..points.point_forest import PointForest

# Options of `solve` that a matrix takes, too
TAKEN = ("threads", "overwrite", "quiet", "verbose", "log_json", "debug")


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


def solve_matrix(solve: Parser, arguments: argparse.Namespace) -> int:
    """Find the forest of a matrix for the command `solve`, as `--forest` does here.

    Raises ConfigError for options of `solve` that take a graph.
    """
    graph, kept = str(arguments.graph), ("graph", "metric", "from", "outputs", *TAKEN)
    for name, value in vars(arguments).items():
        if name not in kept and value != solve.get_default(name):
            raise ConfigError(
                f"--{name.replace('_', '-')} takes a graph, and {graph} is a matrix of "
                "distances; leave it out"
            )
    if len(arguments.outputs) > 1:
        raise ConfigError(
            "-o: the forest of a matrix goes to one file; mndmst convert makes others"
        )
    commands = Parser().add_subparsers()
    add_linkage(commands)
    given = vars(commands.choices["linkage"].parse_args([graph]))
    given |= {name: getattr(arguments, name) for name in ("metric", "from", *TAKEN)}
    given["forest"] = next(iter(arguments.outputs), None)
    return _linkage(argparse.Namespace(**given))


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
