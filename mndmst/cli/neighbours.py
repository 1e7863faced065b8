"""The command `neighbours`."""

import argparse

from .options import add_count, add_new_graph
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
    add_count(
        neighbours,
        "--k",
        "neighbours per point (default: 16 or --core, whichever is larger; all other "
        "points if these are fewer)",
        (1, MOST_POINTS),
    )
    add_count(
        neighbours,
        "--core",
        "use mutual reachability distances of K neighbours as weights, for cluster "
        "--min-size (default: plain distances)",
        (0, MOST_POINTS),
        default=0,
        metavar="K",
    )
    add_count(neighbours, "--parts", "number of shards", (1, MOST_PARTS), default=1)
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
