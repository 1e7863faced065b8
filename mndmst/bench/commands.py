"""The commands of `mndmst bench`; their dependencies are imported when they run."""

import argparse
import sys
from functools import partial
from typing import Any

from ..host.formatting import counted
from .arguments import chosen, write


def run_start(arguments: argparse.Namespace) -> int:
    """Print where the seconds of a whole command go."""
    from dataclasses import asdict

    from ..io.shards.demo_graph import demo_graph
    from .start import measure, text
    from .table import machine

    graph = arguments.graph or demo_graph()
    facts, rows = machine(()), []
    print(
        f"{facts['cpu']}, {counted(facts['cores'], 'core')}, load {facts['load']}: "
        f"{graph}"
    )
    for ranks in arguments.ranks:
        options = ("--backend", arguments.backend)
        found = measure(graph, ranks, arguments.repeat, options)
        print(text(found), flush=True)
        rows.append(asdict(found))
    write(arguments, machine=facts, rows=rows)
    return 0


def run_service(arguments: argparse.Namespace) -> int:
    """Print what requests to a service take."""
    from dataclasses import asdict

    from .service import measure
    from .table import machine

    facts, rows = machine(()), []
    cores, graph, ranks = facts["cores"], arguments.graph, arguments.ranks
    print(
        f"{facts['cpu']}, {counted(cores, 'core')}, load {facts['load']}: {graph}, "
        f"{counted(ranks, 'rank')}"
    )
    print(f"{'request':<44} {'median ms':>12} {'least ms':>12}")
    for row in measure(graph, ranks, arguments.repeat):
        print(row.text(), flush=True)
        rows.append(asdict(row))
    write(arguments, machine=facts, rows=rows)
    return 0


def run_papers(arguments: argparse.Namespace) -> int:
    """Print our figures beside the figures of papers."""
    from . import papers
    from .table import machine

    known = papers.names()
    wanted = chosen("paper", arguments.papers, known, known)
    data = arguments.data or papers.data_folder()
    plan = papers.PapersPlan(wanted, arguments.scale, arguments.repeat, data)
    facts = machine(())
    print(
        f"ours: {facts['cpu']}, {counted(facts['cores'], 'core')}, load {facts['load']}"
    )
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
    """Print what a graph takes on each arrangement of devices."""
    from .devices import ARRANGEMENTS, digests, run, table

    known = tuple(ARRANGEMENTS)
    given = chosen("arrangement", arguments.arrangements, known, known)
    records = list(run(arguments.graph, given, arguments.repeat))
    print(table(records))
    write(arguments, runs=records)
    if len(digests(records)) == 1:
        return 0
    print("the forests differ", file=sys.stderr)
    return 1


def run_gpu(arguments: argparse.Namespace) -> int:
    """Print what the GPU worker's kernels take."""
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
    """Print what the CPU worker's kernel and its peers take."""
    from .cpu import CpuPlan, run
    from .graphs import HARD, NAMES, available
    from .peers import installed
    from .pictures import plot_threads
    from .table import block, disagreements, header, machine

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

    def say(message: str) -> None:
        print(f"mndmst: {message}", file=sys.stderr, flush=True)

    for case in run(plan, say):
        print(f"\n{block(case)}", flush=True)
        wrong += disagreements(case)
        cases.append(case)
    records = [case.as_dict() for case in cases]
    draw = partial(plot_threads, cases)
    write(arguments, draw, machine=facts, cases=records, disagreements=wrong)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0
