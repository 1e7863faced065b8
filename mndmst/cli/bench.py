"""The command `bench`: this program beside other packages, on graphs and points."""

import argparse
import contextlib
import io
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..host.errors import ConfigError, MndmstError
from ..host.launcher import find_mpirun, launched_processes
from ..host.option_types import real, whole
from ..host.progress import notice
from .options import (
    add_memory,
    add_output,
    add_overwrite,
    add_quiet,
    add_threads,
    terminal_stages,
)
from .parser import MOST_SECONDS, Commands, size, threads

if TYPE_CHECKING:
    from ..report.contest import Case, ContestPlan
    from ..report.record import Record

MOST_TURNS = 1000
# The generated graphs, by arguments of `generate`: a million edges, and streets
SAMPLES = {
    "R-MAT": ("rmat", "--scale", "16", "--edge-factor", "16"),
    "streets": ("road", "--side", "512"),
}


def add_bench(commands: Commands) -> None:
    """Add the command to the parser."""
    bench = commands.add_parser(
        "bench",
        help="time this machine beside SciPy, NetworKit, hdbscan and other packages",
        description="Time the forest of a graph in memory and from file to file, "
        "beside SciPy, NetworKit, rustworkx, igraph and NetworkX where they are "
        "installed, and compare the forests. Without a graph: two generated graphs, "
        "and trees and HDBSCAN* of generated points, beside SciPy, fast_hdbscan, "
        "hdbscan and scikit-learn. Every program has its own process. The table names "
        "versions, processor, memory and date, but no host, no user and no directory, "
        "so you can send it to us.",
        epilog="Example: mndmst bench -o bench.md, or mndmst bench roads.gr.gz",
    )
    bench.add_argument(
        "graph",
        type=Path,
        nargs="?",
        help="directory of shards, or a file that partition reads without options",
    )
    add_output(bench, "table to write, .md, .csv or .json")
    add_overwrite(bench)
    bench.add_argument(
        "--repeats",
        type=whole(1, MOST_TURNS),
        default=5,
        metavar="N",
        help="turns of each program",
    )
    bench.add_argument(
        "--time-limit",
        type=real(0, MOST_SECONDS),
        default=600,
        metavar="SECONDS",
        help="limit of each program, for all its turns",
    )
    add_memory(bench, "memory limit of each program (default: all free memory)", size)
    add_threads(bench, "threads of solve (default: one per core)", threads(1))
    bench.add_argument(
        "--ranks",
        type=threads(1),
        default=1,
        metavar="R",
        help="also time solve on this many ranks, from file to file",
    )
    add_quiet(bench)
    bench.set_defaults(process=_bench, one_process=True)


def _bench(arguments: argparse.Namespace) -> int:
    from ..host.memory import free_bytes
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.output_kinds import CONTEST
    from ..report.contest import ContestPlan, compete_on_points, machine
    from ..report.contest_tables import WRITERS, explanation, machine_lines, text_table
    from ..report.peers import PEERS, installed
    from ..report.point_peers import POINT_TASKS

    outputs = [(arguments.output, CONTEST)]
    check_outputs([arguments.graph], outputs, overwrite=arguments.overwrite)
    if launched_processes() > 1:
        raise ConfigError("bench starts its ranks itself; give --ranks R, no launcher")
    if arguments.ranks > 1:
        find_mpirun()  # without one, an error before any work
    plan = ContestPlan(
        arguments.repeats, arguments.time_limit, arguments.memory or free_bytes(),
        arguments.memory is not None, arguments.threads, arguments.ranks,
    )  # fmt: skip
    cases, reports = [], []
    samples = SAMPLES if arguments.graph is None else {arguments.graph.name: ()}
    for name, generator in samples.items():
        case, report = _case(arguments, name, generator, plan)
        print(text_table(case), end="\n\n", flush=True)
        cases.append(case)
        reports.append(report)
    peers = [*PEERS]
    for task in POINT_TASKS if arguments.graph is None else ():
        with (
            TemporaryDirectory(prefix="mndmst-bench-") as temporary,
            terminal_stages(arguments.quiet) as progress,
        ):
            case = compete_on_points(task, plan, Path(temporary), progress)
        print(text_table(case), end="\n\n", flush=True)
        cases.append(case)
        peers += POINT_TASKS[task].peers
    facts = machine(reports) | {"plan": plan._asdict()}
    there = installed(peers)
    packages = dict.fromkeys(peer.package for peer in peers)
    missing = [name for name in packages if name not in there]
    print(*machine_lines(facts), explanation(facts), sep="\n")
    if missing:
        print(f"not installed: pip install {' '.join(missing)}")
    if arguments.output is not None:
        written = WRITERS[arguments.output.suffix](facts, cases, missing)
        with (
            AtomicOutput(overwrite=arguments.overwrite) as files,
            files.file(arguments.output, CONTEST) as temporary,
        ):
            temporary.write_text(written, encoding="utf-8")
    differing = [r.program for case in cases for r in case.results if case.differs(r)]
    for program in differing:
        notice(f"{program} has another result than mndmst")
    return 1 if differing else 0


def _case(
    arguments: argparse.Namespace,
    name: str,
    generator: Sequence[str],
    plan: "ContestPlan",
) -> "tuple[Case, Record]":
    """Return the results of all programs on a graph, and the report of a solve.

    `generator` has the arguments of `generate` that make the graph; it is empty for the
    user's graph.
    """
    from ..report.contest import compete
    from .main import main

    graph, seconds = arguments.graph, None
    with (
        TemporaryDirectory(prefix="mndmst-bench-") as temporary,
        terminal_stages(arguments.quiet) as progress,
    ):
        folder = Path(temporary)
        command = ["generate", *generator]
        if graph is not None:
            command = ["partition", str(graph)]
        if generator or not (graph.is_dir() or graph.suffix in (".h5", ".hdf5")):
            progress.stage(f"making shards of {name}")
            quiet = ["-q"] * arguments.quiet + ["--log-json"] * arguments.log_json
            graph, begin = folder / "graph", time.perf_counter()
            with _naming_partition(), contextlib.redirect_stdout(io.StringIO()):
                main([*command, str(graph), *quiet])
            seconds = None if generator else time.perf_counter() - begin
        return compete(name, graph, seconds, plan, folder, progress)


@contextlib.contextmanager
def _naming_partition() -> Iterator[None]:
    """Add to an error about options that only `partition` has them."""
    try:
        yield
    except MndmstError as error:
        if "--" not in str(error):
            raise
        raise ConfigError(
            f"{error} The options are those of mndmst partition; give bench its graph."
        ) from error
