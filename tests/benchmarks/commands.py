"""The commands of `python -m tests.benchmarks`: options and output.

A command imports its measurement when it runs.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.host.errors import ConfigError, optional
from mndmst.host.formatting import counted
from mndmst.host.option_types import real, whole
from mndmst.host.progress import notice
from mndmst.solver.config import CHOICES

if TYPE_CHECKING:
    from mndmst.io.atomic_output import AtomicOutput

Process = Callable[[argparse.Namespace], int]
Drawing = Callable[[Path, "AtomicOutput"], None]


class BenchCommand(NamedTuple):
    """A command of `tests.benchmarks`: its function, its help and its options."""

    process: Process
    help: str
    description: str
    # Keywords of `add_argument` by name; names without dashes are positional.
    options: dict[str, dict[str, Any]]


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add a command for each measurement to the parser."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        one = commands.add_parser(
            name, help=command.help, description=command.description
        )
        for option, settings in (command.options | WRITTEN).items():
            one.add_argument(option, **settings)
        one.set_defaults(process=partial(_measure, command.process))


def print_machine(facts: dict[str, Any], after: str = "") -> None:
    """Print the line about the machine that is above the figures."""
    cores = counted(facts["cores"], "core")
    print(f"{facts['cpu']}, {cores}, load {facts['load']}{after}")


def run_start(arguments: argparse.Namespace) -> int:
    """Print the seconds of each stage of whole commands."""
    from dataclasses import asdict

    from mndmst.io.shards.sharded_graph import demo_graph

    from .machine import machine
    from .whole_commands import measure_start, start_text

    graph = arguments.graph or demo_graph()
    facts, rows = machine(()), []
    print_machine(facts, f": {graph}")
    for ranks in arguments.ranks:
        found = measure_start(graph, ranks, arguments.repeat, arguments.backend)
        print(start_text(found), flush=True)
        rows.append(asdict(found))
    write(arguments, machine=facts, rows=rows)
    return 0


def run_service(arguments: argparse.Namespace) -> int:
    """Print the times of requests to a service."""
    from dataclasses import asdict

    from .machine import machine
    from .service import measure

    facts, rows = machine(()), []
    graph, ranks = arguments.graph, arguments.ranks
    print_machine(facts, f": {graph}, {counted(ranks, 'rank')}")
    print(f"{'request':<44} {'median ms':>12} {'least ms':>12}")
    for row in measure(graph, ranks, arguments.repeat):
        print(row.text(), flush=True)
        rows.append(asdict(row))
    write(arguments, machine=facts, rows=rows)
    return 0


def run_papers(arguments: argparse.Namespace) -> int:
    """Print our figures beside the figures of papers."""
    from . import papers
    from .graphs import data_folder
    from .machine import machine

    known = papers.names()
    wanted = chosen("paper", arguments.papers, known, known)
    data = arguments.data or data_folder()
    plan = papers.PapersPlan(wanted, arguments.scale, arguments.repeat, data)
    facts = machine(())
    print("ours: ", end="")
    print_machine(facts)
    records: list[dict[str, Any]] = []
    for record in papers.run(plan):
        last = records[-1] if records else {}
        if record["table"] != last.get("table"):
            first = record["paper"] != last.get("paper")
            print(papers.header(record["paper"], record["table"], first))
        print(papers.text(record), flush=True)
        records.append(record)
    write(arguments, machine=facts, rows=records)
    return 0


def run_both(arguments: argparse.Namespace) -> int:
    """Print the seconds of a graph on each arrangement of devices."""
    from .whole_commands import ARRANGEMENTS, arrangement_table, compare_arrangements

    known = tuple(ARRANGEMENTS)
    given = chosen("arrangement", arguments.arrangements, known, known)
    graph, repeat = arguments.graph, arguments.repeat
    records = list(compare_arrangements(graph, given, repeat))
    print(arrangement_table(records))
    write(arguments, runs=records)
    return _one_forest({record["digest"] for record in records})


def run_choice(arguments: argparse.Namespace) -> int:
    """Print the seconds of every backend on a graph, and the ratio of auto."""
    from .whole_commands import compare_ways, medians, ratios, way_table, ways

    every = ways(arguments.ranks)
    turns = list(compare_ways(arguments.graph, every, arguments.repeat))
    seconds = medians(turns)
    print(way_table(seconds))
    records = [
        {**vars(turn.way), "seconds": turn.seconds, "digest": turn.digest}
        for turn in turns
    ]
    write(arguments, turns=records, ratios=ratios(seconds))
    return _one_forest({turn.digest for turn in turns})


def _one_forest(digests: set[str]) -> int:
    """Return 0 if all runs found the same forest; else 1, with a message."""
    if len(digests) == 1:
        return 0
    notice("the forests differ")
    return 1


def run_gpu(arguments: argparse.Namespace) -> int:
    """Print the times of the GPU worker's kernels."""
    from .gpu import block, machine, run

    facts, records = machine(), []
    for record in run(
        arguments.graphs, arguments.keys, arguments.repeat, arguments.verify
    ):
        print(block(record), flush=True)
        records.append(record)
    write(arguments, machine=facts, graphs=records)
    return 0 if all(record["agrees"] for record in records) else 1


def run_cpu(arguments: argparse.Namespace) -> int:
    """Print the times of the CPU worker's kernel and of its peers."""
    from mndmst.report.peers import installed

    from .cpu import CpuPlan, block, disagreements, plot_threads, run
    from .graphs import HARD, NAMES, available
    from .machine import header, machine

    plan = CpuPlan(
        arguments.scale,
        arguments.threads,
        arguments.repeat,
        arguments.weights,
        chosen("graph", arguments.graphs, NAMES, available()),
        chosen("peer", arguments.peers, installed(), installed()),
        chosen("order", arguments.orders, HARD, HARD),
    )
    facts = machine(plan.peers)
    print(header(facts), flush=True)
    cases, wrong = [], []

    for case in run(plan, notice):
        print(f"\n{block(case)}", flush=True)
        wrong += disagreements(case)
        cases.append(case)
    records = [case.as_dict() for case in cases]
    draw = partial(plot_threads, cases)
    write(arguments, draw, machine=facts, cases=records, disagreements=wrong)
    for line in wrong:
        notice(line)
    return 1 if wrong else 0


def _sizes(text: str) -> list[tuple[int, int]]:
    found = []
    for word in text.split(","):
        count, _, dimensions = word.partition("x")
        if not (count.isdecimal() and dimensions.isdecimal() and int(dimensions)):
            raise argparse.ArgumentTypeError(f"{word} is not a size such as 100000x3")
        found.append((int(count), int(dimensions)))
    return found


def run_points(arguments: argparse.Namespace) -> int:
    """Print the seconds of points beside other packages."""
    from dataclasses import asdict

    from .machine import machine
    from .points import (
        CONTENDERS,
        KINDS,
        TASKS,
        PointsCase,
        PointsRow,
        PointsRun,
        draw,
        missing,
        text,
    )

    kinds = chosen("kind", arguments.kinds, KINDS, KINDS)
    tasks = chosen("task", arguments.tasks, TASKS, TASKS)
    peers = chosen("peer", arguments.peers, tuple(CONTENDERS), tuple(CONTENDERS))
    left_out = {name: found for name, found in missing().items() if name in peers}
    for name, reason in left_out.items():
        print(f"{name} is left out: {reason}")
    peers = tuple(name for name in peers if name not in left_out)
    packages = {CONTENDERS[name].distribution for name in peers}
    facts = machine(tuple(sorted(packages - {"numpy"})))
    print_machine(facts)
    print(
        "  least and median of the turns, least CPU time, times the first one's least"
    )
    cases = [
        PointsCase(kind, count, dimensions)
        for count, dimensions in arguments.sizes
        for kind in kinds
    ]
    cases += map(PointsCase.of_file, arguments.data)
    rows: list[PointsRow] = []
    run = PointsRun(peers, tasks, arguments.repeat, arguments.most, print)
    for found in run.tables(cases):
        print(text(found), flush=True)
        rows += found
    records = [asdict(row) for row in rows]
    write(arguments, partial(draw, rows), machine=facts, rows=records)
    return 1 if any(row.differs for row in rows) else 0


def run_scaling(arguments: argparse.Namespace) -> int:
    """Print the seconds of graphs on more and more ranks."""
    from .machine import machine
    from .scaling import KINDS, ScalingPlan, block, disagreements, plot, run

    facts, series, wrong = machine(()), [], []
    with _folder(arguments.work) as work:
        plan = ScalingPlan(
            chosen("graph", arguments.graphs, KINDS, KINDS),
            arguments.scale,
            tuple(sorted(set(arguments.ranks))),
            arguments.threads,
            arguments.repeat,
            tuple(arguments.group_sizes),
            not arguments.strong,
            arguments.backend,
            work,
        )
        print_machine(facts, "; medians")
        for points in run(plan):
            print(f"\n{block(points)}", flush=True)
            wrong += disagreements(points)
            series.append(points)
    every = [point.as_dict() for points in series for point in points]
    draw = partial(plot, series)
    write(arguments, draw, machine=facts, points=every, disagreements=wrong)
    for line in wrong:
        notice(line)
    return 1 if wrong else 0


@contextmanager
def _folder(path: Path | None) -> Iterator[Path]:
    """Yield a directory that is made if need be, or one that is removed again."""
    if path is None:
        with TemporaryDirectory(prefix="mndmst-") as name:
            yield Path(name)
    else:
        path.mkdir(parents=True, exist_ok=True)
        yield path


def _measure(process: Process, arguments: argparse.Namespace) -> int:
    check_files(arguments.json, getattr(arguments, "plot", None), arguments.overwrite)
    return process(arguments)


def check_files(
    record: Path | None, plot: Path | None, overwrite: bool = False
) -> None:
    """Check, before any measurement, that the files can be written.

    Raises OutputError if one cannot be made, or would replace something else;
    ConfigError if a name says another format; MissingExtraError if a plot is asked for,
    and Matplotlib is not installed.
    """
    from mndmst.io.atomic_output import check_outputs

    from .output_kinds import BENCH_PICTURE, BENCH_RECORD

    outputs = (record, BENCH_RECORD), (plot, BENCH_PICTURE)
    check_outputs([], outputs, overwrite=overwrite)
    if plot is not None:
        optional("matplotlib", "plot", "Plots need")


def chosen(
    what: str,
    given: tuple[str, ...] | None,
    known: Sequence[str],
    default: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the names given, or the default if none were."""
    unknown = set(given or ()) - set(known)
    if unknown:
        raise ConfigError(
            f"--{what}s {','.join(sorted(unknown))}: unknown here; "
            f"give some of {', '.join(known) or 'none'}."
        )
    return default if given is None else given


def write(
    arguments: argparse.Namespace, draw: Drawing | None = None, **record: Any
) -> None:
    """Write the requested files: a record as JSON with more entries, and a picture.

    `draw` draws the picture, of a command that has `--plot`. Raises OutputError if a
    file cannot be written.
    """
    from mndmst.io.atomic_output import AtomicOutput
    from mndmst.io.output_kinds import json_mark

    from .output_kinds import BENCH_RECORD

    with AtomicOutput(overwrite=arguments.overwrite) as files:
        if arguments.json is not None:
            entries = json_mark(BENCH_RECORD) | {"command": sys.argv} | record
            with files.file(arguments.json, BENCH_RECORD) as temporary:
                temporary.write_text(json.dumps(entries, indent=1) + "\n")
        if draw is not None and arguments.plot is not None:
            draw(arguments.plot, files)


def list_of(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return the reader of a list whose entries are separated by commas."""

    def convert(text: str) -> tuple[Any, ...]:
        return tuple(map(kind, text.split(",")))

    return convert


def names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    return tuple(name for name in text.split(",") if name)


def weights(text: str) -> str:
    """Read the name of a type of weights."""
    known = [dtype.name for dtype in WEIGHT_DTYPES]
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(known)}")
    return text


# Types of options: turns, ranks or threads; binary logarithms of vertices; seconds.
positive, exponent, seconds = whole(1, 4096), whole(1, 40), real(0)
several = list_of(positive)


def _option(default: Any, kind: Callable[[str], Any], help: str) -> dict[str, Any]:
    return {"default": default, "type": kind, "help": help}


def _file(help: str) -> dict[str, Any]:
    return {"type": Path, "metavar": "FILE", "help": help}


def _flag(help: str) -> dict[str, Any]:
    return {"action": "store_true", "help": help}


def _backend(default: str) -> dict[str, Any]:
    return {
        "default": default, "choices": CHOICES["backend"], "help": "devices of a rank"
    }  # fmt: skip


# Options of every command.
WRITTEN = {
    "--json": _file("write everything here"),
    "--overwrite": _flag("replace a file that is not an earlier result"),
}
_SHARDS = {"graph": {"type": Path, "help": "directory of shards, or its index"}}
COMMANDS = {
    "cpu": BenchCommand(
        run_cpu,
        "the CPU worker beside SciPy and other packages",
        "Time the CPU worker's kernel and every peer that is installed, in turn, on "
        "the same graphs; check that the weights agree. Lists are separated by commas.",
        {
            "--scale": _option(20, exponent, "2^scale vertices in generated graphs"),
            "--threads": _option("1,2", several, "numbers of threads of the kernel"),
            "--repeat": _option(5, positive, "turns of each contender"),
            "--weights": _option("int32,float64", list_of(weights), "types of weights"),
            "--graphs": _option(
                None, names, "graphs to time (default: all that are available)"
            ),
            "--peers": _option(
                None, names, "packages to time (default: all installed)"
            ),
            "--orders": _option(
                None, names, "hard weights: equal, ascending, descending"
            ),
            "--plot": _file("draw how threads scale: .svg, .png or .pdf"),
        },
    ),
    "gpu": BenchCommand(
        run_gpu,
        "the GPU worker beside one read of the graph",
        "Time the GPU worker's kernels on graphs generated on the device; check small "
        "ones against the CPU worker.",
        {
            "--graphs": _option(
                "rmat24,rmat22,gnm23,road24",
                names,
                "kinds (rmat, gnm, road) with scales, separated by commas; rmat24x8 "
                "has 8 edges for each vertex instead of 16",
            ),
            "--keys": _option("uint32,uint64", names, "widths of weights"),
            "--repeat": _option(7, positive, "runs of each graph"),
            "--verify": _flag(
                "compare the forests of these graphs with the CPU worker's; host "
                "memory must hold them"
            ),
        },
    ),
    "devices": BenchCommand(
        run_both,
        "a graph from file to file: CPU, GPU, and as auto divides it",
        "Solve a graph from file to file on the CPU, on the GPU and on both, in turn, "
        "and compare the stages.",
        _SHARDS
        | {
            "--arrangements": _option(
                "cpu,gpu,auto",
                names,
                "which of cpu, gpu, auto, both (half of the arcs each)",
            ),
            "--repeat": _option(3, positive, "turns of each"),
        },
    ),
    "scaling": BenchCommand(
        run_scaling,
        "time against the number of ranks, strong and weak",
        "Solve generated graphs on more and more ranks of this machine, which are "
        "started here, by the plain method of MND-MST and as auto chooses; check that "
        "the forests agree. Lists are separated by commas.",
        {
            "--ranks": _option("1,2,4,8,16", several, "numbers of ranks"),
            "--graphs": _option("rmat,gnm,rgg2d,grid2d", names, "kinds of graphs"),
            "--scale": _option(
                20, exponent, "2^scale vertices, in grids 8 times the number"
            ),
            "--threads": _option(1, positive, "threads of each rank"),
            "--repeat": _option(3, positive, "turns of each method"),
            "--group-sizes": _option("4", several, "of the plain method"),
            "--backend": _backend("cpu"),
            "--strong": _flag("no weak scaling"),
            "--work": {
                "type": Path,
                "metavar": "DIR",
                "help": "where the graphs stay for the next time; by default they are "
                "removed",
            },
            "--plot": _file(".svg, .png or .pdf"),
        },
    ),
    "choice": BenchCommand(
        run_choice,
        "auto beside all backends that could be asked for",
        "Solve a graph from file to file with every backend of this machine and as "
        "auto chooses, in turn, and print how many times as long as the best one auto "
        "takes.",
        _SHARDS
        | {
            "--ranks": _option("1", several, "numbers of ranks"),
            "--repeat": _option(5, positive, "turns of each"),
        },
    ),
    "start": BenchCommand(
        run_start,
        "where the seconds of a whole command go",
        "Solve a graph from file to file on some numbers of ranks, and print the "
        "seconds of each stage from launch to end, beside simpler processes.",
        {
            "graph": {
                "type": Path,
                "nargs": "?",
                "help": "directory of shards; the demo by default",
            },
            "--ranks": _option("1,4", several, "numbers of ranks"),
            "--repeat": _option(5, positive, "runs of each"),
            "--backend": _backend("auto"),
        },
    ),
    "service": BenchCommand(
        run_service,
        "times of requests to a service",
        "Serve a graph on ranks of this machine, and print the times of solves, "
        "changes, queries and streams, there and back.",
        _SHARDS
        | {
            "--ranks": _option(2, positive, "number of ranks"),
            "--repeat": _option(5, positive, "times of each"),
        },
    ),
    "papers": BenchCommand(
        run_papers,
        "the tables of five papers, our figures beside theirs",
        "Run the graphs in the tables of five papers, at a size that fits, and print "
        "our figures beside theirs. A graph whose file is not at hand is replaced by a "
        "generated one of its kind.",
        {
            "--papers": _option(
                None, names, "which papers, separated by commas; all by default"
            ),
            "--scale": _option(
                18, exponent, "at most 2^scale vertices in generated graphs"
            ),
            "--repeat": _option(3, positive, "runs of each; medians are printed"),
            "--data": _option(None, Path, "directory with files that recipes name"),
        },
    ),
    "points": BenchCommand(
        run_points,
        "forests and HDBSCAN* of points beside other packages",
        "Time the forest of points in memory, and HDBSCAN* from points to labels, "
        "exact and approximate, on the CPU and on a device, beside quitefastmst, "
        "hdbscan-rs, fast_hdbscan, hdbscan, scikit-learn, cuHC and cuML, if installed, "
        "in turn. A forest of another weight is an error unless its package says that "
        "it is approximate.",
        {
            "--sizes": _option(
                "20000x2,100000x3,100000x10",
                _sizes,
                "points and dimensions, such as 100000x3, separated by commas",
            ),
            "--kinds": _option("uniform,blobs", names, "of uniform, blobs"),
            "--data": {
                "default": (),
                "type": list_of(Path),
                "metavar": "FILES",
                "help": "files of points to time, too, separated by commas",
            },
            "--tasks": _option("forest,labels", names, "of forest, labels"),
            "--peers": _option(None, names, "all installed ones by default"),
            "--repeat": _option(3, positive, "turns of each contender"),
            "--most": {
                "default": 60.0,
                "type": seconds,
                "metavar": "SECONDS",
                "help": "skip a package after a longer turn, also on larger points",
            },
            "--plot": _file(".svg, .png or .pdf"),
        },
    ),
}
