"""START HERE: a run from shards to forest, one call for each step.

Every rank runs this file. The four calls are HyPar's (`merging/strategy.py`). How
parts merge is chosen once (`merging/choose.py`). The module of a step says what the
step does; only `steps/devices.py` knows which devices there are.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from .comm.communicator import Comm
from .host.errors import ConfigError, MndmstError
from .host.progress import Progress
from .io.endings import FOREST_OR_TABLE, RECORD
from .io.outputs import check_on_all
from .io.rank_tables import SEPARATORS
from .merging.choose import choose
from .run.checkpoint import Checkpoint
from .run.config import Config
from .run.report import Report
from .run.run import Run
from .steps.boruvka import lightest_cut_edge
from .steps.part_graph import part_graph
from .steps.write import Summary, write_forest


@dataclass(frozen=True)
class Targets:
    """Where the results go; None leaves one out.

    With `numbers`, a table of the forest has numbers of vertices in place of names.
    """

    forest: Path | None = None
    report: Path | None = None
    labels: bool = False
    numbers: bool = False
    checkpoint: Path | None = None
    resume: bool = False


def solve(
    comm: Comm, path: str | Path, config: Config, targets: Targets, progress: Progress
) -> Summary:
    """Compute the minimum spanning forest of a sharded graph. Collective.

    Parameters
    ----------
    path : str or Path
        A directory of shards, its index, or a graph in one shard.

    Returns
    -------
    Summary
        The same on every rank.

    Raises
    ------
    MndmstError
        On every rank, if the input, the options or the output cannot be used.
    """
    report = Report(comm, progress)
    outputs = (targets.forest, FOREST_OR_TABLE), (targets.report, RECORD)
    check_on_all(comm, [path], outputs, targets.checkpoint)
    with comm.raise_on_all():
        if targets.labels and targets.forest and targets.forest.suffix in SEPARATORS:
            raise ConfigError(
                f"{targets.forest}: is a table of edges, which has no place for "
                "--labels. Give the forest a name in .h5, or leave --labels out."
            )
    kept = targets.checkpoint, config.checkpoint_interval, targets.resume
    with Checkpoint(comm, *kept) as checkpoint:
        # 1. Every rank reads its rows, balanced by arcs; 2. they go to its devices
        run = part_graph(comm, path, config, report)
        resumed = checkpoint.start(run.graph, run.state, report)
        run = replace(run, resumed=resumed, save=checkpoint.save)

        # 3. to 7. Parts contract, and merge until nothing is left
        contract(run)

        # 8. Every rank writes the forest edges that begin at its vertices
        summary = write_forest(
            run, targets.forest, targets.labels, targets.report, targets.numbers
        )
        checkpoint.remove()
    return summary


def contract(run: Run, proceed: Callable[[], None] = lambda: None) -> None:
    """Find the forest of rows that are on their devices: steps 3 to 7. Collective.

    Afterwards `run.state` has the edges that each rank has found.

    Parameters
    ----------
    proceed : callable
        Collective; called before each step, and may raise on all ranks.
    """
    strategy = choose(run, exception=lightest_cut_edge)
    try:
        # The lightest edges go first, then what they leave of the heavier ones
        for edges in strategy.portions():
            # 3. Every device contracts its part; a component stops at the border, if
            # the lightest edge that leaves it is a cut edge
            proceed()
            left = strategy.ind_comp(edges)

            # 4. Parts learn each other's names and merge: 5. in rings, 6. at leaders
            proceed()
            left = strategy.merge_parts(left)

            # 7. The last leader has what is left, and no border
            proceed()
            strategy.post_process(left)
    except MndmstError as error:
        if error.ranks == run.comm.size:  # they may go on, as those of a service do
            strategy.give_up()
        raise
