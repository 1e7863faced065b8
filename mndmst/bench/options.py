"""The options of `mndmst bench`; what they start is imported when it runs."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..order import WEIGHT_DTYPES


def add_devices(bench: argparse.ArgumentParser) -> None:
    """Add a command for each device that can be timed."""
    devices = bench.add_subparsers(title="devices", metavar="DEVICE", required=True)
    _add_cpu(devices)
    _add_gpu(devices)
    _add_both(devices)


def _add_cpu(devices: Any) -> None:
    cpu = devices.add_parser(
        "cpu",
        help="the CPU worker beside SciPy and other packages",
        description="Time the CPU worker's kernel and every peer that is installed, in "
        "turn, on the same graphs; check that the weights agree. Lists are separated "
        "by commas.",
    )
    for name, default, kind, what in (
        ("scale", 20, _positive, "2^scale vertices in generated graphs"),
        ("threads", "1,2", _list_of(_positive), "numbers of threads of the kernel"),
        ("repeat", 5, _positive, "turns of everyone"),
        ("weights", "int32,float64", _list_of(_weights), "types of weights"),
        ("graphs", None, _names, "which graphs; all that can be had by default"),
        ("peers", None, _names, "which packages; all installed by default"),
    ):
        cpu.add_argument(f"--{name}", default=default, type=kind, help=what)
    cpu.add_argument("--json", type=Path, metavar="FILE", help="write everything here")
    cpu.set_defaults(process=_cpu)


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
        type=_names,
        help="kinds (rmat, gnm, road) with scales, separated by commas; rmat24x8 has "
        "8 edges for each vertex instead of 16",
    )
    gpu.add_argument(
        "--keys", default="uint32,uint64", type=_names, help="widths of weights"
    )
    gpu.add_argument("--repeat", default=7, type=_positive, help="runs of each graph")
    gpu.add_argument(
        "--verify",
        action="store_true",
        help="compare the forests of these graphs with the CPU worker's; host memory "
        "must hold them",
    )
    gpu.add_argument("--json", type=Path, metavar="FILE", help="write everything here")
    gpu.set_defaults(process=_gpu)


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
        type=_names,
        help="which of cpu, gpu, auto, both (half of the arcs each)",
    )
    both.add_argument("--repeat", default=3, type=_positive, help="turns of each")
    both.add_argument("--json", type=Path, metavar="FILE", help="write everything here")
    both.set_defaults(process=_both)


def _both(arguments: argparse.Namespace) -> int:
    from .devices import ARRANGEMENTS, digests, run, table

    known = tuple(ARRANGEMENTS)
    names = _chosen("arrangement", arguments.arrangements, known, known)
    records = list(run(arguments.graph, names, arguments.repeat))
    print(table(records))
    if arguments.json is not None:
        _write(arguments.json, {"command": sys.argv, "runs": records})
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
        _write(arguments.json, record)
    return 0 if all(record["agrees"] for record in records) else 1


def _cpu(arguments: argparse.Namespace) -> int:
    from .cpu import Plan, run
    from .graphs import NAMES, available
    from .peers import installed
    from .table import block, disagreements, header, machine

    plan = Plan(
        arguments.scale,
        arguments.threads,
        arguments.repeat,
        arguments.weights,
        _chosen("graph", arguments.graphs, NAMES, available()),
        _chosen("peer", arguments.peers, installed(), installed()),
    )
    facts = machine(plan.peers)
    print(header(facts), flush=True)
    cases, wrong = [], []
    for case in run(plan):
        print(f"\n{block(case)}", flush=True)
        wrong += disagreements(case)
        cases.append(case.as_dict())
    if arguments.json is not None:
        record = {"machine": facts, "command": sys.argv, "cases": cases}
        _write(arguments.json, record | {"disagreements": wrong})
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def _chosen(
    what: str,
    given: tuple[str, ...] | None,
    known: Sequence[str],
    default: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the names given, or the default if none were."""
    from ..errors import ConfigError

    unknown = set(given or ()) - set(known)
    if unknown:
        raise ConfigError(
            f"no {what} is called {', '.join(sorted(unknown))} here; "
            f"give some of {', '.join(known) or 'none'} to --{what}s."
        )
    return default if given is None else given


def _write(path: Path, record: dict[str, Any]) -> None:
    from ..errors import OutputError

    try:
        path.write_text(json.dumps(record, indent=1) + "\n")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}.") from error


def _list_of(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    def convert(text: str) -> tuple[Any, ...]:
        return tuple(map(kind, text.split(",")))

    return convert


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def _weights(text: str) -> str:
    names = [dtype.name for dtype in WEIGHT_DTYPES]
    if text not in names:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(names)}")
    return text
