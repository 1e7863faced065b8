"""The command `partition`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .info import describe
from .options import add_new_graph

# As `io.formats.NAMES` has them, which is not imported for a help text.
FORMATS = (
    "gr mtx txt el wel tsv csv edges edgelist plain-edgelist npz parquet arrow feather "
    "graph metis bvgraph parhip sg wsg egr adj json binary-edgelist "
    "undirected-binary-edgelist h5"
)
WEIGHTS = "file, constant:X, hash[:SEED], random:LOW:HIGH[:SEED], ecl, euclid:FILE.co"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    partition = commands.add_parser(
        "partition",
        help="turn an edge file into shards, or re-shard a graph",
        description="Read an edge file of any size, or a sharded graph, and write it "
        "as shards: with worker processes on this machine, or under mpirun or srun.",
        epilog=f"Formats: {FORMATS}; each also .gz, .xz, .zst. Weights: {WEIGHTS}.",
    )
    partition.add_argument("file", type=Path, help="edge file, shards, or recipe")
    add_building(partition)
    partition.add_argument("--format", help="in place of what the file's suffix says")
    partition.add_argument(
        "--source", type=Path, help="the file that a recipe (.toml) asks for"
    )
    partition.add_argument(
        "--weights", metavar="RULE", help="weights in place of the file's; see above"
    )
    partition.add_argument(
        "--symmetrize",
        action="store_true",
        help="accept edges listed in one direction only, in a format that has both",
    )
    partition.add_argument(
        "--reorder",
        choices=("none", "degree", "bfs", "rcm"),
        default="none",
        help="give vertices new ids, so that neighbours are near each other; "
        "bfs and rcm take memory for the whole graph",
    )
    partition.add_argument(
        "--num-vertices",
        type=int,
        metavar="N",
        help="number of vertices; by default one more than the largest id",
    )
    partition.add_argument(
        "--compact-ids",
        action="store_true",
        help="leave out ids that no edge names; the original ids are kept beside",
    )
    partition.set_defaults(process=_partition)


def add_building(parser: argparse.ArgumentParser) -> None:
    """Add the options of all commands that make shards."""
    add_new_graph(parser)
    parser.add_argument(
        "--parts",
        type=int,
        help="number of shards; by default 1, or what a recipe says",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        help="worker processes; by default as many as cores for a large file",
    )
    parser.add_argument(
        "--memory",
        help="what a process may hold, such as 8GiB; by default half of what is free",
    )
    parser.add_argument("--compress", action="store_true", help="smaller, slower parts")
    parser.add_argument(
        "--restart",
        action="store_true",
        help="continue where a killed run has ended, else start from the beginning; "
        "leave a graph that the same run has finished",
    )
    parser.add_argument(
        "--timeout",
        type=int,
        metavar="SECONDS",
        help="under mpirun: end if a host is out of reach for so long; 0 never",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


class Source(NamedTuple):
    """What shards are made of.

    Attributes
    ----------
    file : EdgeFile
    parts : int
        Shards to make by default.
    check : callable, optional
        Raises an error for a graph that is not the one promised.
    """

    file: Any
    parts: int = 1
    check: Callable[[Any], None] | None = None


def build(arguments: argparse.Namespace, open_source: Callable[[], Source]) -> int:
    """Make shards of what open_source() returns, check and describe them.

    Under mpirun all ranks take part, otherwise worker processes. Inputs are checked
    only when these run, so that one of them reports an error.
    """
    from ..host.launcher import launched_processes
    from ..host.memory import free_bytes
    from ..io.allowance import allow
    from ..io.external import Options, partition
    from ..io.external.team import Alone, Ranks, Team, with_workers

    team: Team = Alone()
    processes = 1
    if launched_processes() > 1:
        from .ranks import begin

        # Not all options: --memory has another meaning in `solve`.
        known = argparse.Namespace(timeout=arguments.timeout, quiet=arguments.quiet)
        comm = begin(known, polite=True).comm
        team, node = Ranks(comm), comm.node()
        processes = node.size
        node.free()
    with team.raise_on_all():
        given_memory = _memory(arguments.memory)
        allow(given_memory or free_bytes() // 2 // processes)
        file, parts, check = open_source()
        parts = parts if arguments.parts is None else arguments.parts
        jobs = 1
        if team.size == 1:
            processes = jobs = _jobs(arguments.jobs, file, parts)
        names = (
            *("symmetrize", "reorder", "num_vertices", "compact_ids"),
            *("overwrite", "compress", "restart", "quiet"),
        )
        given = {name: getattr(arguments, name) for name in names if name in arguments}
        memory = given_memory or free_bytes() // 2 // processes
        options = Options(arguments.out, parts, memory, **given)
    if team.size > 1:
        graph = partition(team, file, options)
    else:
        graph = with_workers(jobs, partition, file, options)
    with team.raise_on_all():
        if check is not None:
            check(graph)
    return describe(arguments.out) if team.rank == 0 else 0


def _memory(text: str | None) -> int:
    from ..run.config import parse_bytes

    return 0 if text is None else parse_bytes(text)


def _jobs(asked: int | None, file: Any, parts: int) -> int:
    """Return how many processes to use: as many as asked for, or as seems to pay."""
    import os

    from ..host.errors import ConfigError

    if asked is None:
        cores = len(os.sched_getaffinity(0))
        # One process has to read the file; only its parts are divided
        shares = cores if file.seekable else parts
        return max(1, min(cores, shares, file.length >> 24))
    if asked < 1:
        raise ConfigError(f"--jobs {asked}: give 1 or more")
    return asked


def _partition(arguments: argparse.Namespace) -> int:
    return build(arguments, lambda: _open(arguments))


def _open(arguments: argparse.Namespace) -> Source:
    """Open the file or the recipe.

    Raises
    ------
    ConfigError
        For options that only go with a recipe, or without one.
    """
    from ..host.errors import ConfigError
    from ..io.formats import open_edges
    from ..io.recipe import check_shards, load_recipe, open_recipe
    from ..io.weights import weigh

    path, rule = arguments.file, arguments.weights
    if path.suffix != ".toml":
        if arguments.source:
            raise ConfigError(f"{path}: --source goes with a recipe, a .toml file.")
        file = open_edges(path, arguments.format)
        return Source(weigh(file, rule) if rule else file)
    if arguments.format or rule:
        raise ConfigError(f"{path}: a recipe says its format and weights itself.")
    recipe = load_recipe(path)
    file = open_recipe(recipe, arguments.source)
    return Source(
        file,
        recipe.parts,
        lambda graph: check_shards(recipe, graph, arguments.compact_ids),
    )
