"""The options of `mndmst bench`."""

import argparse
from pathlib import Path
from typing import Any

from ..run.config import CHOICES
from . import commands
from .arguments import exponent, finish, list_of, names, positive, weights
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
    add_points(devices)


def _add_cpu(devices: Any) -> None:
    cpu = devices.add_parser(
        "cpu",
        help="the CPU worker beside SciPy and other packages",
        description="Time the CPU worker's kernel and every peer that is installed, in "
        "turn, on the same graphs; check that the weights agree. Lists are separated "
        "by commas.",
    )
    for name, default, kind, what in (
        ("scale", 20, exponent, "2^scale vertices in generated graphs"),
        ("threads", "1,2", list_of(positive), "numbers of threads of the kernel"),
        ("repeat", 5, positive, "turns of everyone"),
        ("weights", "int32,float64", list_of(weights), "types of weights"),
        ("graphs", None, names, "which graphs; all that can be had by default"),
        ("peers", None, names, "which packages; all installed by default"),
        ("orders", None, names, "hard weights: equal, ascending, descending"),
    ):
        cpu.add_argument(f"--{name}", default=default, type=kind, help=what)
    cpu.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw how threads scale: .svg, .png or .pdf",
    )
    finish(cpu, commands.run_cpu)


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
    finish(gpu, commands.run_gpu)


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
    finish(both, commands.run_both)


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
    finish(start, commands.run_start)


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
    finish(service, commands.run_service)


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
        ("scale", 18, exponent, "at most 2^scale vertices in generated graphs"),
        ("repeat", 3, positive, "runs of each; medians are printed"),
        ("data", None, Path, "directory with files that recipes name"),
    ):
        papers.add_argument(f"--{name}", default=default, type=kind, help=what)
    finish(papers, commands.run_papers)
