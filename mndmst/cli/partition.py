"""Commands that write graphs: partition, generate, column."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..graph.order import WEIGHT_DTYPES
from ..host.formatting import counted
from ..host.option_types import real, whole
from .info import print_facts
from .options import (
    add_columns,
    add_file,
    add_flag,
    add_graph,
    add_memory,
    add_new_graph,
    add_overwrite,
    add_quiet,
    print_notes,
    terminal_stages,
)
from .parser import (
    MOST_PARTS,
    MOST_SECONDS,
    MOST_VERTICES,
    Commands,
    Parser,
    on_disk_or_input,
    size,
    threads,
)

if TYPE_CHECKING:
    from ..host.memory import Budget
    from ..io.edge_file import EdgeFile
    from ..io.named_edge_file import NamedEdgeFile
    from ..io.partitioner.partition_run import Options
    from ..io.shards.sharded_graph import ShardedGraph


def add_building(parser: Parser) -> None:
    """Add the options of all commands that write shards."""
    add_new_graph(parser)
    parser.add_argument(
        "--parts",
        type=whole(1, MOST_PARTS),
        metavar="N",
        help="number of shards (default: 1, or the number in the recipe)",
    )
    parser.add_argument(
        "--jobs",
        type=threads(1),
        metavar="N",
        help="number of processes (default: one per core for a large file)",
    )
    add_memory(
        parser,
        "memory limit per process (default: half of the free memory)",
        size,
    )
    add_flag(parser, "--compress", "compress the shards: smaller and slower")
    add_flag(
        parser,
        "--restart",
        "continue a killed run, or start from the beginning; keep a graph that "
        "the same run has finished",
    )
    parser.add_argument(
        "--timeout",
        type=whole(0, MOST_SECONDS),
        metavar="SECONDS",
        help="under mpirun: end if a host is unreachable this long; 0 for never",
    )
    add_quiet(parser)


def print_graph(
    graph: "ShardedGraph", facts: dict[str, object], quiet: bool = False
) -> int:
    """Print the facts of a new graph, and the RESULT line."""
    if not quiet:
        print_facts(facts, as_json=False)
    print(
        f"RESULT n={graph.num_vertices} m={graph.num_arcs // 2} "
        f"weights={graph.weight_dtype.name} parts={graph.num_parts} uuid={graph.uuid}"
        + (" order=maximum" if graph.maximum else ""),
        flush=True,
    )
    return 0


class Source(NamedTuple):
    """The input that shards are written from."""

    file: "EdgeFile | NamedEdgeFile"
    parts: int = 1  # default number of shards
    # Raises if the graph is not as its recipe
    check: "Callable[[ShardedGraph], None] | None" = None


def build(
    arguments: argparse.Namespace, open_source: Callable[["Budget"], Source]
) -> int:
    """Write shards of the source that open_source(budget) returns, and describe them.

    Under mpirun all ranks take part, otherwise several processes. Inputs are checked
    only when these run, so that one of them reports an error.
    """
    from ..comm.communicator import Comm
    from ..comm.world import SingleProcess
    from ..host.launcher import launched_processes
    from ..host.memory import Budget, free_bytes
    from ..io.file_info import describe_graph
    from ..io.partitioner.forked_processes import run_forked
    from ..io.partitioner.partition import partition
    from ..io.partitioner.partition_run import check_output

    comm: Comm = SingleProcess()
    processes = 1
    if launched_processes() > 1:
        from .ranks import begin

        # Not all options: --memory has another meaning in `solve`.
        known = argparse.Namespace(timeout=arguments.timeout, quiet=arguments.quiet)
        comm = begin(known, polite=True).comm
        processes = comm.node().size
    with comm.raise_on_all():
        memory = arguments.memory or free_bytes() // 2 // processes
        budget = Budget(memory, whole_process=True)
        if comm.rank == 0:
            check_output(build_options(arguments, arguments.parts or 1, 0))
        file, parts, check = open_source(budget)
        _check_direction(file, arguments)
        print_notes(file.notes, arguments.quiet or comm.rank > 0)
        parts = parts if arguments.parts is None else arguments.parts
        jobs = 1
        if comm.size == 1:
            processes = jobs = _jobs(arguments.jobs, file, parts)
        memory = arguments.memory or free_bytes() // 2 // processes
        options = build_options(arguments, parts, memory)
    facts: dict[str, object] = {}

    def inspect(graph: "ShardedGraph") -> None:
        if check is not None:
            check(graph)
        facts.update(describe_graph(arguments.out))

    if comm.size > 1:
        graph = partition(comm, file, options, inspect)
    else:
        graph = run_forked(jobs, partition, file, options, inspect)
    return print_graph(graph, facts, arguments.quiet) if comm.rank == 0 else 0


def _check_direction(
    file: "EdgeFile | NamedEdgeFile", arguments: argparse.Namespace
) -> None:
    """Refuse weights named as similarities, unless a direction is given."""
    from ..io.formats.table_columns import ask_direction

    if "minimum" in arguments and not (arguments.minimum or arguments.maximum):
        ask_direction(file.name, file.weight_name)


def build_options(arguments: argparse.Namespace, parts: int, memory: int) -> "Options":
    """Convert a command's arguments to the partitioner's options."""
    from ..io.partitioner.partition_run import Options

    names = (
        *("symmetrize", "reorder", "num_vertices", "compact_ids", "maximum"),
        *("overwrite", "compress", "restart", "quiet"),
    )
    given = {name: getattr(arguments, name) for name in names if name in arguments}
    return Options(arguments.out, parts, memory, **given)


def _jobs(asked: int | None, file: "EdgeFile | NamedEdgeFile", parts: int) -> int:
    """Return the number of processes: the requested one, or one that pays."""
    from ..host.cores import core_count

    if asked is None:
        cores = core_count()
        # One process has to read the file; only its parts are divided
        shares = cores if file.seekable else parts
        return max(1, min(cores, shares, file.length >> 24))
    return asked


WEIGHTS = "file, constant:X, hash[:SEED], random:LOW:HIGH[:SEED], ecl, euclid:FILE.co"


def _formats_and_weights() -> str:
    from ..io.formats import NAMES

    formats = " ".join(NAMES)
    return f"Formats: {formats}; each also .gz, .xz, .zst. Weights: {WEIGHTS}."


def add_partition(commands: Commands) -> None:
    """Add the command to the parser."""
    partition = commands.add_parser(
        "partition",
        help="convert an edge file into shards, or re-shard a graph",
        description="Read an edge file of any size, or a sharded graph, and write it "
        "as shards: by several processes on this machine, or under mpirun or srun.",
    )
    partition.epilog = _formats_and_weights  # called for help alone
    partition.add_argument(
        "file",
        type=on_disk_or_input,
        help="edge file, shards, or recipe; - for standard input",
    )
    add_building(partition)
    partition.add_argument(
        "--format",
        metavar="NAME",
        help="format of the file (default: from its suffix; txt for standard input)",
    )
    add_columns(partition)
    add_file(partition, "--source", "the file that a recipe (.toml) describes")
    partition.add_argument(
        "--weights",
        metavar="RULE",
        help="weights instead of the file's weights; see below",
    )
    add_flag(
        partition,
        "--symmetrize",
        "accept edges listed in one direction only, in formats that list both",
    )
    partition.add_argument(
        "--reorder",
        choices=("none", "degree", "bfs", "rcm"),
        default="none",
        help="renumber the vertices so that neighbours have near ids; bfs and rcm need "
        "memory for the whole graph",
    )
    partition.add_argument(
        "--num-vertices",
        type=whole(0, MOST_VERTICES),
        metavar="N",
        help="number of vertices (default: the largest id + 1)",
    )
    add_flag(
        partition,
        "--compact-ids",
        "drop ids without an edge; the original ids are kept beside the graph",
    )
    direction = partition.add_mutually_exclusive_group()
    add_flag(
        direction,
        "--maximum",
        "a graph for maximum spanning forests: weights are similarities, and of "
        "parallel edges the heaviest stays",
    )
    add_flag(
        direction,
        "--minimum",
        "a graph for minimum spanning forests, the default; needed where the column of "
        "weights is named as a similarity",
    )
    partition.set_defaults(process=_partition)


def _partition(arguments: argparse.Namespace) -> int:
    if arguments.file != Path("-"):
        return build(arguments, partial(_open, arguments, arguments.file))
    return _partition_input(arguments)


def _partition_input(arguments: argparse.Namespace) -> int:
    from ..host.launcher import launched_processes
    from ..io.partitioner.partition_run import check_output, stored_input

    if launched_processes() > 1:  # then all ranks refuse together
        return build(
            arguments, lambda _: _refuse("mpirun", "only one rank can read it")
        )
    if arguments.restart:
        _refuse("--restart", "it cannot be read again")
    check_output(build_options(arguments, arguments.parts or 1, 0))
    with stored_input(arguments.out, arguments.format) as path:
        return build(arguments, partial(_open, arguments, path))


def _refuse(what: str, why: str) -> Source:
    from ..host.errors import ConfigError
    from ..io.partitioner.partition_run import STANDARD_INPUT

    raise ConfigError(
        f"{STANDARD_INPUT} cannot be used with {what}: {why}. Give a file."
    )


def _open(arguments: argparse.Namespace, path: Path, budget: "Budget") -> Source:
    """Open the file or the recipe; refuse options that go with the other alone."""
    from ..host.errors import ConfigError
    from ..io.partitioner.graph_recipe import check_shards, load_recipe, open_recipe
    from ..io.partitioner.weight_rules import open_weighed

    rule = arguments.weights
    if path.suffix != ".toml":
        if arguments.source:
            raise ConfigError(f"{path}: --source needs a recipe, a .toml file.")
        columns = arguments.columns
        return Source(
            open_weighed(path, rule or "file", arguments.format, columns, budget)
        )
    if arguments.format or rule or arguments.columns:
        raise ConfigError(
            f"{path}: a recipe has its own format, columns and weights. Leave out "
            "--format, --columns and --weights."
        )
    recipe = load_recipe(path)
    file = open_recipe(recipe, arguments.source, budget)
    check = partial(check_shards, recipe, compact=arguments.compact_ids)
    return Source(file, recipe.parts, check)


OWN = ("rmat", "ssca2", "gnm", "road")
MOST_SEED, MOST_EDGES = (1 << 31) - 1, 1 << 62
BY_KAGEN = ("rgg2d", "rgg3d", "rhg", "grid2d", "grid3d")
PARAMETERS = (
    ("scale", whole(1, 48), "rmat, ssca2: 2^scale vertices"),
    (
        "edge-factor",
        whole(1, MOST_VERTICES),
        "rmat: edges per vertex, before duplicates are dropped",
    ),
    ("a", real(0, 1), "rmat: probability of the upper left quadrant, 0.57"),
    ("b", real(0, 1), "rmat: probability of the upper right quadrant, 0.19"),
    ("c", real(0, 1), "rmat: probability of the lower left quadrant, 0.19"),
    (
        "clique",
        whole(0, MOST_VERTICES),
        "ssca2: largest clique, 2^(scale / 3)",
    ),
    ("between", real(0, 1), "ssca2: probability of an edge to the next clique, 0.5"),
    ("n", whole(0, MOST_VERTICES), "gnm, rgg2d, rgg3d, rhg: vertices"),
    ("m", whole(0, MOST_EDGES), "gnm: edges"),
    ("degree", real(0, MOST_VERTICES), "rgg2d, rgg3d, rhg: average degree"),
    ("gamma", real(0, 1000), "rhg: exponent of the degrees"),
    ("side", whole(0, MOST_VERTICES), "road, grid2d, grid3d: vertices per side"),
    ("keep", real(0, 1), "road, grid2d, grid3d: fraction of the edges kept"),
)


def add_generate(commands: Commands) -> None:
    """Add the command to the parser."""
    generate = commands.add_parser(
        "generate",
        help="generate a random graph",
        description=f"Generate a random graph: {', '.join(OWN)} by several processes "
        f"or under mpirun; {', '.join(BY_KAGEN)} by KaGen. Weights are a hash of the "
        "seed and the endpoints, so the graph does not depend on parts and processes.",
    )
    generate.add_argument("kind", choices=OWN + BY_KAGEN, help="kind of graph")
    add_building(generate)
    generate.add_argument(
        "--seed", type=whole(0, MOST_SEED), default=1, help="random seed, 0 to 2^31 - 1"
    )
    generate.add_argument(
        "--weights",
        default="int32",
        choices=[dtype.name for dtype in WEIGHT_DTYPES],
        help="type of the weights",
    )
    add_flag(generate, "--maximum", "a graph for maximum spanning forests")
    for name, kind, what in PARAMETERS:
        generate.add_argument(f"--{name}", type=kind, help=what)
    generate.set_defaults(process=_generate)


def _generate(arguments: argparse.Namespace) -> int:
    from ..io.partitioner.random_graphs import open_random

    names = [name.replace("-", "_") for name, _, _ in PARAMETERS]
    given = {name: getattr(arguments, name) for name in names}
    wanted = {name: value for name, value in given.items() if value is not None}
    kind, seed, weights = arguments.kind, arguments.seed, arguments.weights
    return build(
        arguments,
        lambda budget: Source(open_random(kind, seed, weights, budget, **wanted)),
    )


def add_column(commands: Commands) -> None:
    """Add the command to the parser."""
    column = commands.add_parser(
        "column",
        help="add a column of weights to a graph, from a graph with the same edges",
        description="Write the weights of another graph with the same edges as a "
        "column beside the shards of this graph. A service solves by a column, or by "
        "an expression of several columns.",
        epilog="Example: mndmst partition times.gr times; mndmst column roads "
        "travel_time times. Both graphs are read piece by piece.",
    )
    add_graph(column)
    column.add_argument(
        "name", help="name of the column: letters, digits and underscores"
    )
    column.add_argument(
        "other", type=Path, help="graph with the same vertices and edges"
    )
    add_overwrite(column, "replace a file that is not a column")
    column.set_defaults(process=_column, one_process=True)


def _column(arguments: argparse.Namespace) -> int:
    from ..io.shards.sharded_graph import open_graph
    from ..io.shards.weight_columns import weights_of_same_edges, write_column

    graph, other = open_graph(arguments.graph), open_graph(arguments.other)
    with terminal_stages(arguments.quiet) as progress:
        progress.stage(f"comparing the edges of {arguments.other}")
        weights = weights_of_same_edges(graph, other)
        column = write_column(
            graph, arguments.name, other.weight_dtype, weights, arguments.overwrite
        )
    print(
        f"{column.path}: {counted(column.num_edges, 'weight')} of type {column.dtype}"
    )
    return 0
