"""What the commands that make shards share: their options, and how they run."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .info import tell_graph
from .numbers import MOST_PARTS, MOST_SECONDS, threads, whole
from .options import add_new_graph, add_quiet, tell_notes
from .parser import Parser, size

if TYPE_CHECKING:
    from ..io.partitioner import Options


def add_building(parser: Parser) -> None:
    """Add the options of all commands that make shards."""
    add_new_graph(parser)
    parser.add_argument(
        "--parts",
        type=whole(1, MOST_PARTS),
        metavar="N",
        help="number of shards; by default 1, or what a recipe says",
    )
    parser.add_argument(
        "--jobs",
        type=threads(1),
        metavar="N",
        help="processes; by default as many as cores for a large file",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
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
        type=whole(0, MOST_SECONDS),
        metavar="SECONDS",
        help="under mpirun: end if a host is out of reach for so long; 0 never",
    )
    add_quiet(parser)


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

    Under mpirun all ranks take part, otherwise several processes. Inputs are checked
    only when these run, so that one of them reports an error.
    """
    from ..host.launcher import launched_processes
    from ..host.memory import free_bytes
    from ..io.memory_limit import allow
    from ..io.partitioner import check_place, partition
    from ..io.partitioner.builders import Alone, Builders, Ranks, run_forked

    builders: Builders = Alone()
    processes = 1
    if launched_processes() > 1:
        from .ranks import begin

        # Not all options: --memory has another meaning in `solve`.
        known = argparse.Namespace(timeout=arguments.timeout, quiet=arguments.quiet)
        comm = begin(known, polite=True).comm
        builders, node = Ranks(comm), comm.node()
        processes = node.size
        node.free()
    with builders.raise_on_all():
        allow(arguments.memory or free_bytes() // 2 // processes)
        if builders.rank == 0:
            check_place(build_options(arguments, arguments.parts or 1, 0))
        file, parts, check = open_source()
        tell_notes(file.notes, arguments.quiet or builders.rank > 0)
        parts = parts if arguments.parts is None else arguments.parts
        jobs = 1
        if builders.size == 1:
            processes = jobs = _jobs(arguments.jobs, file, parts)
        memory = arguments.memory or free_bytes() // 2 // processes
        options = build_options(arguments, parts, memory)
    if builders.size > 1:
        graph = partition(builders, file, options)
    else:
        graph = run_forked(jobs, partition, file, options)
    with builders.raise_on_all():
        if check is not None:
            check(graph)
    return tell_graph(arguments.out, arguments.quiet) if builders.rank == 0 else 0


def build_options(arguments: argparse.Namespace, parts: int, memory: int) -> "Options":
    """Return how to partition, from the options that a command has."""
    from ..io.partitioner import Options

    names = (
        *("symmetrize", "reorder", "num_vertices", "compact_ids"),
        *("overwrite", "compress", "restart", "quiet"),
    )
    given = {name: getattr(arguments, name) for name in names if name in arguments}
    return Options(arguments.out, parts, memory, **given)


def _jobs(asked: int | None, file: Any, parts: int) -> int:
    """Return how many processes to use: as many as asked for, or as seems to pay."""
    from ..host.cores import core_count

    if asked is None:
        cores = core_count()
        # One process has to read the file; only its parts are divided
        shares = cores if file.seekable else parts
        return max(1, min(cores, shares, file.length >> 24))
    return asked
