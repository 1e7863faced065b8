"""How commands begin under mpirun: ranks, the options they agree on, a watchdog."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from ..comm.communicator import Comm, world
from ..comm.watchdog import watch
from ..host.progress import Progress, process_start
from ..io.output_checks import Output, check_outputs
from ..run.config import Config, on_all_ranks


class Job(NamedTuple):
    """What a command runs with."""

    comm: Comm
    config: Config
    progress: Progress


def begin(
    arguments: argparse.Namespace,
    outputs: Sequence[Output] = (),
    polite: bool = False,
) -> Job:
    """Start MPI, read the options and watch over the ranks. Collective.

    Parameters
    ----------
    arguments : Namespace
        Those with names of options of `Config`; `config`, a file, `graph`,
        `checkpoint`, `overwrite`, `quiet` and `verbose`, where the command has them.
    outputs : sequence of Output
        The files that the command writes.
    polite : bool
        Whether ranks wait without taking a core.

    Raises
    ------
    ConfigError
        On every rank, for invalid options, or outputs whose names say another format.
    OutputError
        On every rank, if an output would replace what it may not (`io.overwrite_rule`).
    """
    given = vars(arguments)
    inputs = [given.get(name) for name in ("graph", "config")]
    flags = {name: given[name] for name in Config().as_dict() if name in given}
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
    return Job(comm, config, progress)
