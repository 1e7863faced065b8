"""START HERE: a run from shards to forest, one call for each step.

Every rank runs this file. The four calls are HyPar's (`solver/merging/strategy.py`).
`solver/merging/choose.py` chooses the strategy by which parts merge. The module of a
step explains the step; only `solver/devices.py` distinguishes kinds of devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .comm.communicator import Comm
from .host.errors import ConfigError
from .host.progress import Progress
from .io.atomic_output import Output, check_on_all
from .io.output_kinds import FOREST_OR_TABLE, REPORT
from .io.results.text_tables import SEPARATORS
from .io.shards.sharded_graph import open_graph
from .solver.checkpoint import Checkpoint
from .solver.config import Config
from .solver.contract import ExceptionCondition, lightest_cut_edge
from .solver.devices import DeviceAssignment, on_working_ranks
from .solver.merging.choose import choose
from .solver.merging.strategy import Proceed, Strategy
from .solver.part_graph import part_graph
from .solver.run import Run
from .solver.run_report import Report
from .solver.write import Summary, write_forest


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The files of the results; None leaves one out.

    `forests` are files and tables of the forest. `overwrite` replaces files that are
    not earlier results. With `numbers`, tables have numbers of vertices in place of
    names.
    """

    forests: Sequence[Path] = ()
    report: Path | None = None
    labels: bool = False
    numbers: bool = False
    checkpoint: Path | None = None
    resume: bool = False
    overwrite: bool = False


def solve(
    comm: Comm,
    path: str | Path,
    config: Config,
    targets: Targets,
    progress: Progress,
    maximum: bool = False,
) -> Summary:
    """Compute the minimum spanning forest of a sharded graph. Collective.

    It is the maximum spanning forest if the graph was made for these; with `maximum`
    other graphs are refused. `path` is a directory of shards, its index, or a graph in
    one shard. The result is the same on every rank. Raises MndmstError on every rank if
    the input, the options or the output cannot be used.
    """
    report = Report(comm, progress)
    outputs: list[Output] = [(file, FOREST_OR_TABLE) for file in targets.forests]
    outputs.append((targets.report, REPORT))
    check_on_all(comm, [path], outputs, targets.checkpoint, targets.overwrite)
    with comm.raise_on_all():
        suffixes = {file.suffix for file in targets.forests}
        if targets.labels and suffixes and suffixes <= SEPARATORS.keys():
            raise ConfigError(
                f"{targets.forests[0]}: is a table of edges, which has no place for "
                "--labels. Give the forest a name in .h5, or leave --labels out."
            )
        if maximum and not open_graph(path).maximum:
            raise ConfigError(
                f"{path}: was made for minimum forests: of parallel edges it has the "
                'lightest. Make it again with "mndmst partition --maximum".'
            )

    def forest(ranks: Comm, assigned: DeviceAssignment | None) -> Summary:
        with Checkpoint(
            ranks, targets.checkpoint, config.checkpoint_interval, targets.resume
        ) as checkpoint:
            # 1. Every rank reads its rows, balanced by arcs; 2. its devices get them
            run = part_graph(ranks, path, config, report, assigned=assigned)
            if run.graph.maximum:
                progress.say("maximum forest: the graph was made with --maximum")
            resumed = checkpoint.start(run.graph, run.state, report)
            run = replace(run, resumed=resumed, save=checkpoint.save)

            # 3. to 7. Parts contract, and merge until no edge remains
            contract(run)

            # 8. Every rank writes the forest edges that begin at its vertices
            summary = write_forest(
                run,
                targets.forests,
                targets.labels,
                targets.report,
                targets.overwrite,
                targets.numbers,
            )
            checkpoint.remove()
        return summary

    # If a host has more ranks than devices, only the ranks with a device compute
    return on_working_ranks(comm, path, config, report, forest)


def contract(
    run: Run,
    proceed: Proceed = lambda: None,
    exception: ExceptionCondition = lightest_cut_edge,
) -> None:
    """Contract rows that are on their devices: steps 3 to 7. Collective.

    Afterwards `run.state` has the edges along which each rank has contracted. `proceed`
    is collective and called before each step; it may raise on all ranks. `exception` is
    the exception condition (`solver/merging/strategy.py`).
    """
    # Phases contract the lightest edges first, then heavier candidates, each by
    # indComp, mergeParts and postProcess (`HyPar.contract`). A strategy that cannot
    # continue returns the next one.
    strategy: Strategy | None = choose(run, exception)
    while strategy is not None:
        with strategy:
            strategy = strategy.contract(proceed)
