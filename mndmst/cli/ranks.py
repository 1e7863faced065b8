"""The start of a command on all ranks: MPI, common options, the watchdog."""

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..comm.communicator import Comm
from ..comm.watchdog import watch
from ..comm.world import world
from ..host.progress import Progress, process_start
from ..io.atomic_output import Output, check_outputs
from ..solver.config import DEFAULTS, Config, on_all_ranks


class CommandRun(NamedTuple):
    """Communicator, options and progress of a command."""

    comm: Comm
    config: Config
    progress: Progress


def begin(
    arguments: argparse.Namespace,
    outputs: Sequence[Output] = (),
    polite: bool = False,
) -> CommandRun:
    """Start MPI, read the options and watch over the ranks. Collective.

    `arguments` has options of `Config` by name; also `set`, `config` (a file), `graph`,
    `checkpoint`, `overwrite`, `quiet` and `verbose`, where the command has them.
    `outputs` are the files that the command writes. With `polite`, waiting ranks yield
    their core. Raises ConfigError on every rank for invalid options or suffixes of
    outputs; OutputError on every rank if an output would replace a file that
    `io.output_kinds` keeps.
    """
    given = vars(arguments)
    inputs = [given.get(name) for name in ("graph", "config")]
    flags = {name: given[name] for name in DEFAULTS if name in given}
    flags |= dict(given.get("set") or ())
    comm = world(polite)
    with comm.raise_on_all():
        if comm.rank == 0:
            overwrite = given.get("overwrite", False)
            check_outputs(inputs, outputs, given.get("checkpoint"), overwrite)
    config = on_all_ranks(comm, lambda: Config.load(given.get("config"), flags))
    active = comm.rank == 0 and not given.get("quiet", True)
    verbose = given.get("verbose", False)
    progress = Progress(active, since=process_start(), verbose=verbose)
    unwatched = watch(comm, config.timeout)
    if unwatched:
        progress.say(f"no watchdog: {unwatched}")
    return CommandRun(comm, config, progress)


def on_rank_0(process: Callable[[], int | None]) -> int:
    """Run a command of one process on rank 0 while the others wait. Collective.

    Every rank returns its status, or raises its error.
    """
    comm, status = world(polite=True), 0
    with comm.raise_on_all():
        if comm.rank == 0:
            status = int(process() or 0)
    return int(comm.bcast(status))
