"""The command `partition`."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from .building import Source, add_building, build, build_options
from .numbers import MOST_VERTICES, whole
from .options import add_columns

# As `io.formats.NAMES` has them, which is not imported for a help text.
FORMATS = (
    "gr mtx txt el wel tsv csv edges edgelist plain-edgelist npz parquet arrow feather "
    "json graph metis bvgraph parhip sg wsg egr adj graphml gexf gml net leda ncol "
    "binary-edgelist undirected-binary-edgelist h5"
)
STANDARD_INPUT = Path("-")
WEIGHTS = "file, constant:X, hash[:SEED], random:LOW:HIGH[:SEED], ecl, euclid:FILE.co"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    partition = commands.add_parser(
        "partition",
        help="turn an edge file into shards, or re-shard a graph",
        description="Read an edge file of any size, or a sharded graph, and write it "
        "as shards: by several processes on this machine, or under mpirun or srun.",
        epilog=f"Formats: {FORMATS}; each also .gz, .xz, .zst. Weights: {WEIGHTS}.",
    )
    partition.add_argument(
        "file", type=Path, help="edge file, shards, or recipe; - for standard input"
    )
    add_building(partition)
    partition.add_argument(
        "--format",
        metavar="NAME",
        help="in place of what the file's suffix says; of standard input txt",
    )
    add_columns(partition)
    partition.add_argument(
        "--source",
        type=Path,
        metavar="FILE",
        help="the file that a recipe (.toml) asks for",
    )
    partition.add_argument(
        "--weights", metavar="RULE", help="weights in place of the file's; see below"
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
        type=whole(0, MOST_VERTICES),
        metavar="N",
        help="number of vertices; by default one more than the largest id",
    )
    partition.add_argument(
        "--compact-ids",
        action="store_true",
        help="leave out ids that no edge names; the original ids are kept beside",
    )
    partition.set_defaults(process=_partition)


def _partition(arguments: argparse.Namespace) -> int:
    if arguments.file != STANDARD_INPUT:
        return build(arguments, lambda: _open(arguments, arguments.file))
    return _partition_input(arguments)


def _partition_input(arguments: argparse.Namespace) -> int:
    from ..host.launcher import launched_processes
    from ..io.partitioner import check_place
    from ..io.partitioner.standard_input import NAME, stored

    if launched_processes() > 1:  # then all ranks refuse together
        return build(arguments, partial(_refuse, "mpirun", "only one rank can read it"))
    if arguments.restart:
        _refuse("--restart", "it cannot be read again")
    check_place(build_options(arguments, arguments.parts or 1, 0))
    with stored(arguments.out, arguments.format) as path:

        def open_copy() -> Source:
            source = _open(arguments, path)
            source.file.name = NAME
            return source

        return build(arguments, open_copy)


def _refuse(what: str, why: str) -> Source:
    from ..host.errors import ConfigError
    from ..io.partitioner.standard_input import NAME

    raise ConfigError(f"{NAME} does not go with {what}: {why}. Give a file.")


def _open(arguments: argparse.Namespace, path: Path) -> Source:
    """Open the file or the recipe.

    Raises
    ------
    ConfigError
        For options that only go with a recipe, or without one.
    """
    from ..host.errors import ConfigError
    from ..io.partitioner.recipe import check_shards, load_recipe, open_recipe
    from ..io.partitioner.weights import open_weighed

    rule = arguments.weights
    if path.suffix != ".toml":
        if arguments.source:
            raise ConfigError(f"{path}: --source goes with a recipe, a .toml file.")
        columns = arguments.columns
        return Source(open_weighed(path, rule or "file", arguments.format, columns))
    if arguments.format or rule or arguments.columns:
        raise ConfigError(
            f"{path}: a recipe says its format, columns and weights itself."
        )
    recipe = load_recipe(path)
    file = open_recipe(recipe, arguments.source)
    return Source(
        file,
        recipe.parts,
        lambda graph: check_shards(recipe, graph, arguments.compact_ids),
    )
