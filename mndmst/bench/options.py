"""The options of `mndmst bench`; what they start is imported when it runs."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..run.config import CHOICES
from .arguments import chosen, list_of, names, positive, weights, write
from .points_options import add_points
from .scaling.options import add_scaling


def add_devices(bench: argparse.ArgumentParser) -> None:
    """Add a command for each device that can be timed."""
    devices = bench.add_subparsers(title="devices", metavar="DEVICE", required=True)
    _add_cpu(devices)
    _add_gpu(devices)
    _add_both(devices)
    add_scaling(devices)
    _add_start(devices)
    _add_service(devices)
    _add_papers(devices)
    add_points(devices, _finish)


def _add_cpu(devices: Any) -> None:
    cpu = devices.add_parser(
        "cpu",
        help="the CPU worker beside SciPy and other packages",
        description="Time the CPU worker's kernel and every peer that is installed, in "
        "turn, on the same graphs; check that the weights agree. Lists are separated "
        "by commas.",
    )
    for name, default, kind, what in (
        ("scale", 20, positive, "2^scale vertices in generated graphs"),
        ("threads", "1,2", list_of(positive), "numbers of threads of the kernel"),
        ("repeat", 5, positive, "turns of everyone"),
        ("weights", "int32,float64", list_of(weights), "types of weights"),
        ("graphs", None, names, "which graphs; all that can be had by default"),
        ("peers", None, names, "which packages; all installed by default"),
        ("orders", None, names, "hard weights: equal, ascending, descending"),
    ):
        cpu.add_argument(f"--{name}", default=default, type=kind, help=what)
    _finish(cpu, _cpu)


def _add_gpu(devices: Any) -> None:
    gpu = devices.add_parser(
        "gpu",
        help="the GPU worker beside one read of the graph",
        description="Time the GPU worker's kernels on graphs generated on the device; "
        "check small ones against the CPU worker.",
    )
    gpu.add_argument(
        "--graphs",
        default="rmat24,rmat22,gnm23,road24",
        type=names,
        help="kinds (rmat, gnm, road) with scales, separated by commas; rmat24x8 has "
        "8 edges for each vertex instead of 16",
    )
    gpu.add_argument(
        "--keys", default="uint32,uint64", type=names, help="widths of weights"
    )
    gpu.add_argument("--repeat", default=7, type=positive, help="runs of each graph")
    gpu.add_argument(
        "--verify",
        action="store_true",
        help="compare the forests of these graphs with the CPU worker's; host memory "
        "must hold them",
    )
    _finish(gpu, _gpu)


def _add_both(devices: Any) -> None:
    both = devices.add_parser(
        "devices",
        help="a graph from file to file: CPU, GPU, and as auto divides it",
        description="Solve a graph from file to file on the CPU, on the GPU and on "
        "both, in turn, and compare the stages.",
    )
    both.add_argument("graph", type=Path, help="directory of shards, or its index")
    both.add_argument(
        "--arrangements",
        default="cpu,gpu,auto",
        type=names,
        help="which of cpu, gpu, auto, both (half of the arcs each)",
    )
    both.add_argument("--repeat", default=3, type=positive, help="turns of each")
    _finish(both, _both)


def _add_start(devices: Any) -> None:
    start = devices.add_parser(
        "start",
        help="where the seconds of a whole command go",
        description="Solve a graph from file to file on some numbers of ranks, and "
        "print the seconds of each stage from the launch to the end, beside those of "
        "processes that do less.",
    )
    start.add_argument(
        "graph", type=Path, nargs="?", help="directory of shards; the demo by default"
    )
    start.add_argument(
        "--ranks", default="1,4", type=list_of(positive), help="numbers of ranks"
    )
    start.add_argument("--repeat", default=5, type=positive, help="runs of each")
    start.add_argument(
        "--backend",
        default="auto",
        choices=CHOICES["backend"],
        help="devices of a rank",
    )
    _finish(start, _start)


def _add_service(devices: Any) -> None:
    service = devices.add_parser(
        "service",
        help="what requests to a service take",
        description="Serve a graph on ranks of this machine, and print what solves, "
        "changes, queries and streams take, there and back.",
    )
    service.add_argument("graph", type=Path, help="directory of shards")
    service.add_argument("--ranks", default=2, type=positive, help="number of ranks")
    service.add_argument("--repeat", default=5, type=positive, help="times of each")
    _finish(service, _service)


def _add_papers(devices: Any) -> None:
    papers = devices.add_parser(
        "papers",
        help="the tables of five papers, our figures beside theirs",
        description="Run what the tables of five papers ran, at a size that fits, and "
        "print our figures beside theirs. A graph whose file is not at hand is "
        "replaced by a generated one of its kind.",
    )
    for name, default, kind, what in (
        ("papers", None, names, "which papers, separated by commas; all by default"),
        ("scale", 18, positive, "at most 2^scale vertices in generated graphs"),
        ("repeat", 3, positive, "runs of each; medians are printed"),
        ("data", None, Path, "directory with files that recipes name"),
    ):
        papers.add_argument(f"--{name}", default=default, type=kind, help=what)
    _finish(papers, _papers)


def _finish(
    parser: argparse.ArgumentParser, process: Callable[[argparse.Namespace], int]
) -> None:
    """Add what all have, and say what they start."""
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything here"
    )
    parser.set_defaults(process=process)


def _start(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from ..io.demo import demo_graph
    from .start import measure, text
    from .table import machine

    graph = arguments.graph or demo_graph()
    facts, rows = machine(()), []
    print(f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']}: {graph}")
    for ranks in arguments.ranks:
        options = ("--backend", arguments.backend)
        found = measure(graph, ranks, arguments.repeat, options)
        print(text(found), flush=True)
        rows.append(asdict(found))
    if arguments.json is not None:
        write(arguments.json, {"machine": facts, "command": sys.argv, "rows": rows})
    return 0


def _service(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from .service import measure
    from .table import machine

    facts, rows = machine(()), []
    cores, graph, ranks = facts["cores"], arguments.graph, arguments.ranks
    print(
        f"{facts['cpu']}, {cores} cores, load {facts['load']}: {graph}, {ranks} ranks"
    )
    print(f"{'request':<44} {'median ms':>12} {'least ms':>12}")
    for row in measure(graph, ranks, arguments.repeat):
        print(row.text(), flush=True)
        rows.append(asdict(row))
    if arguments.json is not None:
        write(arguments.json, {"machine": facts, "command": sys.argv, "rows": rows})
    return 0


def _papers(arguments: argparse.Namespace) -> int:
    from . import papers
    from .table import machine

    known = papers.names()
    wanted = chosen("paper", arguments.papers, known, known)
    data = arguments.data or papers.data_folder()
    plan = papers.Plan(wanted, arguments.scale, arguments.repeat, data)
    facts = machine(())
    print(f"ours: {facts['cpu']}, {facts['cores']} cores, load {facts['load']}")
    records: list[dict[str, Any]] = []
    for record in papers.run(plan):
        last = records[-1] if records else {}
        if record["table"] != last.get("table"):
            first = record["paper"] != last.get("paper")
            print(papers.header(record["paper"], record["table"], first))
        print(papers.text(record), flush=True)
        records.append(record)
    if arguments.json is not None:
        write(arguments.json, {"machine": facts, "command": sys.argv, "rows": records})
    return 0


def _both(arguments: argparse.Namespace) -> int:
    from .devices import ARRANGEMENTS, digests, run, table

    known = tuple(ARRANGEMENTS)
    given = chosen("arrangement", arguments.arrangements, known, known)
    records = list(run(arguments.graph, given, arguments.repeat))
    print(table(records))
    if arguments.json is not None:
        write(arguments.json, {"command": sys.argv, "runs": records})
    if len(digests(records)) == 1:
        return 0
    print("the forests differ", file=sys.stderr)
    return 1


def _gpu(arguments: argparse.Namespace) -> int:
    from .gpu import block, machine, run

    facts, records = machine(), []
    asked = (arguments.graphs, arguments.keys, arguments.repeat, arguments.verify)
    for record in run(*asked):
        print(block(record), flush=True)
        records.append(record)
    if arguments.json is not None:
        record = {"machine": facts, "command": sys.argv, "graphs": records}
        write(arguments.json, record)
    return 0 if all(record["agrees"] for record in records) else 1


def _cpu(arguments: argparse.Namespace) -> int:
    from .cpu import Plan, run
    from .graphs import HARD, NAMES, available
    from .peers import installed
    from .table import block, disagreements, header, machine

    plan = Plan(
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

    def say(message: str) -> None:
        print(f"mndmst: {message}", file=sys.stderr, flush=True)

    for case in run(plan, say):
        print(f"\n{block(case)}", flush=True)
        wrong += disagreements(case)
        cases.append(case.as_dict())
    if arguments.json is not None:
        record = {"machine": facts, "command": sys.argv, "cases": cases}
        write(arguments.json, record | {"disagreements": wrong})
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0
