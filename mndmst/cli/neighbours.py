"""The command `neighbours`."""

import argparse

from ..host.option_types import whole
from .options import add_new_graph
from .parser import MOST_PARTS, MOST_POINTS, Commands
from .point_input import load_points, reported, save_points
from .point_options import add_search, add_source


def add_neighbours(commands: Commands) -> None:
    """Add the command to the parser."""
    neighbours = commands.add_parser(
        "neighbours",
        help="build the nearest-neighbour graph of points, for clustering",
        description="Connect each point with its nearest neighbours. The forest of "
        "this graph approximates the forest of all distances; linkage and hdbscan are "
        "exact.",
    )
    add_source(neighbours)
    add_new_graph(neighbours)
    for name, least, default, metavar, meaning in (
        ("--k", 1, None, "N", "neighbours per point (default: 16 or --core, whichever "
         "is larger; all other points if these are fewer)"),
        ("--core", 0, 0, "K", "use mutual reachability distances of K neighbours as "
         "weights, for cluster --min-size (default: plain distances)"),
    ):  # fmt: skip
        count = whole(least, MOST_POINTS)
        neighbours.add_argument(
            name, type=count, default=default, metavar=metavar, help=meaning
        )
    neighbours.add_argument(
        "--parts",
        type=whole(1, MOST_PARTS),
        default=1,
        metavar="N",
        help="number of shards",
    )
    add_search(neighbours)
    neighbours.set_defaults(process=_neighbours, one_process=True)


def _neighbours(arguments: argparse.Namespace) -> int:
    from ..host.errors import OutputError
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.file_info import describe_graph
    from ..io.output_kinds import POINTS
    from ..io.partitioner.partition import build_shards, check_new_graph
    from ..points.neighbour_graph import neighbour_graph
    from .partition import print_graph

    outputs = [(arguments.save, POINTS)]
    check_outputs([arguments.points], outputs, overwrite=arguments.overwrite)
    save, out = arguments.save, arguments.out
    if save is not None and save.resolve().is_relative_to(out.resolve()):
        raise OutputError(
            f"{save}: is inside {out}, which holds only the graph. Give --save a file "
            "elsewhere."
        )
    check_new_graph(arguments.out, arguments.parts, arguments.overwrite)
    points = load_points(arguments).points
    # The points are on disk before the graph is made, and are named after it.
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        save_points(files, arguments.save, points)
        name = str(arguments.points)
        with reported(arguments) as reporter:
            edges = neighbour_graph(
                points,
                arguments.k,
                arguments.core,
                name,
                arguments.search,
                reporter,
            )
        facts: dict[str, object] = {}
        graph = build_shards(
            edges,
            arguments.out,
            arguments.parts,
            arguments.overwrite,
            lambda _: facts.update(describe_graph(arguments.out)),
        )
    return print_graph(graph, facts, arguments.quiet)
