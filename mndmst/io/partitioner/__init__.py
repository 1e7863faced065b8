"""From an edge file of any size to shards, in bounded memory, by many processes.

1. Survey: every process reads a share of the file and counts the ends of edges by
   blocks of vertices. Text and packed files are kept as arrays meanwhile.
2. Plan: the counts cut the vertices into parts, and parts into buckets that fit into
   memory. All processes make the same plan.
3. Route: every arc is written to the bucket of its row, and so is its reverse, unless
   the survey has found every edge listed in both directions. Where it has found them
   in the order of rows too, as CSR files list them, a bucket is a range of the file.
4. Sort: every process sorts the buckets of some parts and writes these.

Intermediate files are in a directory beside the output. They stay there if the
processes are killed; a restart then makes the parts that are missing.
"""

from contextlib import nullcontext
from typing import Any

from ...host.progress import Progress
from ...native.loader import announcing_compilation
from ..edge_file import EdgeFile
from ..named_edge_file import NamedEdgeFile
from ..shards.graph_directory import no_new_folders
from ..shards.sharded_graph import ShardedGraph, open_graph
from .builders import Builders
from .graph_lock import locked
from .partition_run import (
    Options,
    RunProgress,
    RunStart,
    check_place,
    describe,
    give_up,
    prepare,
)
from .passes import make_graph

__all__ = ["Options", "check_place", "partition"]


def partition(
    builders: Builders, file: EdgeFile | NamedEdgeFile, options: Options
) -> ShardedGraph:
    """Make shards of an edge file. Collective.

    The graph is the same for every number of processes and any memory.

    Returns
    -------
    ShardedGraph
        Its uuid is derived from the contents.

    Raises
    ------
    ConfigError
        If the memory does not suffice, there are far more parts than vertices, or
        another run has left what there is to go on from.
    InputError
        If the file is damaged, an arc has no reverse where all should, or there are far
        more vertices than its edges can name.
    OutputError
        If the output is not empty, has not enough room or cannot be written, or
        another run is writing there.
    """
    with builders.raise_on_all():
        options.check()
    progress = Progress(builders.rank == 0 and not options.quiet)
    own = no_new_folders(options.place) if builders.rank == 0 else nullcontext()
    with (
        announcing_compilation(progress.say),
        own,
        locked(builders, options.place, options.out) as has_locks,
    ):
        if not has_locks:
            progress.say(
                f"{options.out}: its file system has no locks, so another run that "
                "writes a graph there is not noticed"
            )
        # Copies of the file on several machines may have been made at several times.
        described = builders.allgather(describe(file, options))[0]
        start = _begin(builders, options, described, has_locks)
        if options.restart:
            progress.say(_text(start.found, options))
        if start.found is RunProgress.GRAPH:
            return _made(builders, options)
        try:
            make_graph(builders, file, options, start, progress)
        except Exception as error:
            # A restart uses the files of a killed run, not of a failed one; but if one
            # process fails alone, others may still be writing
            if builders.rank == 0 and getattr(error, "ranks", 1) == builders.size:
                give_up(options.work, start.target)
            raise
        return _made(builders, options)


def _begin(
    builders: Builders, options: Options, described: dict[str, Any], has_locks: bool
) -> RunStart:
    """Prepare the directories on rank 0, and return the start on all ranks."""
    start: RunStart | None = None
    with builders.raise_on_all():
        if builders.rank == 0:
            start = prepare(options, described, has_locks)
    found: RunStart = builders.allgather(start)[0]
    return found


def _text(found: RunProgress, options: Options) -> str:
    return {
        RunProgress.NOTHING: "no earlier run to continue: starts from the beginning",
        RunProgress.PLAN: f"continues from {options.work}",
        RunProgress.GRAPH: f"{options.out} is already finished",
    }[found]


def _made(builders: Builders, options: Options) -> ShardedGraph:
    with builders.raise_on_all():
        return open_graph(options.out, check=False)
