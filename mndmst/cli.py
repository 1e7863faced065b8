"""The command line: one subcommand for each thing to do.

Only what the chosen command needs is imported; commands that work on one process
never start MPI.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from . import __version__
from .order import WEIGHT_DTYPES

KINDS = ("rmat", "gnm", "rgg2d", "rgg3d", "rhg", "grid2d", "grid3d")


def main(argv: list[str] | None = None) -> int:
    """Run a command; return its exit status."""
    arguments = parser().parse_args(argv)
    return int(arguments.process(arguments) or 0)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="mndmst",
        description="Minimum spanning forests of graphs larger than one machine. "
        "Without a command, solves the small graph that comes with the program.",
    )
    top.add_argument("--version", action="version", version=f"mndmst {__version__}")
    top.set_defaults(process=_demo)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    _add_solve(commands)
    _add_partition(commands)
    _add_generate(commands)
    _add_convert(commands)
    _add_verify(commands)
    _add_info(commands)
    _add_bench(commands)
    return top


def _add_solve(commands: Any) -> None:
    solve = commands.add_parser(
        "solve",
        help="compute the minimum spanning forest (under mpirun or alone)",
        description="Compute the minimum spanning forest of a sharded graph. Run it "
        "under mpirun or srun for several ranks.",
    )
    solve.add_argument("graph", type=Path, help="directory of shards, or its index")
    solve.add_argument("-o", "--output", type=Path, help="forest file to write")
    solve.add_argument("--labels", action="store_true", help="write each vertex's tree")
    solve.add_argument("--report", type=Path, help="JSON file for the run's report")
    solve.add_argument("--config", type=Path, help="TOML file with any of the options")
    solve.add_argument("--backend", choices=("auto", "cpu", "cuda"))
    solve.add_argument("--ratio", help="the GPU's share of a rank's arcs, or auto")
    solve.add_argument("--threads", type=int, help="threads of a rank's CPU worker")
    solve.add_argument("--memory", help="what a rank may hold, such as 8GiB")
    solve.add_argument("--gpu-memory", help="what a rank may take of its GPU")
    solve.add_argument("--merge", choices=("auto", "ring", "boruvka"))
    solve.add_argument("--group-size", type=int, help="ranks that merge into one")
    for name, what in (
        ("leader-edges", "a group with fewer merges without ring rounds"),
        ("recursion-edges", "a rank with more uses both devices once more"),
    ):
        solve.add_argument(f"--{name}", type=int, metavar="EDGES", help=what)
    for name, what in (
        ("light-edges", "edges a vertex in the first band; 0 for one band"),
        ("ring-gain", "ring rounds end after one that shrinks the edges less"),
        ("round-gain", "global rounds end after one that shrinks the edges less"),
    ):
        solve.add_argument(f"--{name}", type=float, metavar="X", help=what)
    solve.add_argument("-q", "--quiet", action="store_true", help="no progress")
    solve.set_defaults(process=_solve)


def _solve(arguments: argparse.Namespace) -> int:
    from .comm import world
    from .config import Config

    given = vars(arguments)
    flags = {name: given[name] for name in Config().as_dict() if name in given}
    comm = world()
    with comm.together():
        config = Config.load(arguments.config, flags)
    return _run(comm, arguments, config)


def _run(comm: Any, arguments: argparse.Namespace, config: Any) -> int:
    from .pipeline import Targets, solve
    from .progress import Progress

    progress = Progress(comm.rank == 0 and not arguments.quiet)
    targets = Targets(arguments.output, arguments.report, arguments.labels)
    summary = solve(comm, arguments.graph, config, targets, progress)
    if comm.rank == 0:
        if summary.report is not None and not arguments.quiet:
            from .report import text

            print(text(summary.report))
        print(summary.line(), flush=True)
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from .comm import world
    from .config import Config
    from .io.demo import demo_graph

    comm = world()
    given = {"output": None, "report": None, "labels": False, "quiet": False}
    demo = argparse.Namespace(graph=demo_graph(), **given)
    status = _run(comm, demo, Config.load(None, {}))
    if comm.rank == 0:
        print(
            "\nThat was the graph that comes with mndmst. Now yours:\n"
            "  mndmst partition roads.gr.gz roads/ --parts 16\n"
            "  mpirun -n 16 python -m mndmst solve roads/ -o roads.forest.h5\n"
            "  mndmst verify roads/ roads.forest.h5\n"
            "mndmst --help lists all commands."
        )
    return status


def _add_partition(commands: Any) -> None:
    partition = commands.add_parser(
        "partition",
        help="turn an edge file into shards, or re-shard a graph",
        description="Read DIMACS .gr, Matrix Market .mtx, scipy .npz (also .gz, .xz) "
        "or a sharded graph and write it as shards.",
    )
    partition.add_argument("file", type=Path)
    partition.add_argument("out", type=Path, help="directory to make")
    partition.add_argument("--parts", type=int, default=1, help="number of shards")
    partition.add_argument("--overwrite", action="store_true", help="replace a graph")
    partition.set_defaults(process=_partition)


def _partition(arguments: argparse.Namespace) -> int:
    from .io.build import build_shards
    from .io.formats import read_edges

    edges = read_edges(arguments.file)
    build_shards(edges, arguments.out, arguments.parts, arguments.overwrite)
    return _describe(arguments.out)


def _add_generate(commands: Any) -> None:
    generate = commands.add_parser(
        "generate",
        help="make a random graph",
        description="Make a random graph with KaGen. Weights are a hash of the seed "
        "and the ends, so any number of parts gives the same graph.",
    )
    generate.add_argument("kind", choices=KINDS)
    generate.add_argument("out", type=Path, help="directory to make")
    generate.add_argument("--parts", type=int, default=1)
    generate.add_argument("--seed", type=int, default=1)
    generate.add_argument(
        "--weights", default="int32", choices=[dtype.name for dtype in WEIGHT_DTYPES]
    )
    for name, kind, what in (
        ("scale", int, "rmat: 2^scale vertices"),
        ("edge-factor", int, "rmat: edges a vertex, before repeats are dropped"),
        ("n", int, "gnm, rgg2d, rgg3d, rhg: vertices"),
        ("m", int, "gnm: edges"),
        ("degree", float, "rgg2d, rgg3d, rhg: average degree"),
        ("gamma", float, "rhg: exponent of the degrees"),
        ("side", int, "grid2d, grid3d: vertices along a side"),
        ("keep", float, "grid2d, grid3d: share of the edges that is kept"),
    ):
        generate.add_argument(f"--{name}", type=kind, help=what)
    generate.set_defaults(process=_generate)


def _generate(arguments: argparse.Namespace) -> int:
    from .io.generate import generate

    names = ("scale", "edge_factor", "n", "m", "degree", "gamma", "side", "keep")
    given = {name: getattr(arguments, name) for name in names}
    generate(
        arguments.kind,
        arguments.out,
        arguments.parts,
        arguments.seed,
        arguments.weights,
        **{name: value for name, value in given.items() if value is not None},
    )
    return _describe(arguments.out)


def _add_convert(commands: Any) -> None:
    convert = commands.add_parser(
        "convert",
        help="write a graph in another format",
        description="Read any graph `partition` reads and write .gr, .mtx or .npz.",
    )
    convert.add_argument("file", type=Path)
    convert.add_argument("out", type=Path)
    convert.set_defaults(process=_convert)


def _convert(arguments: argparse.Namespace) -> int:
    from .io.formats import read_edges, write_edges

    write_edges(read_edges(arguments.file), arguments.out)
    return 0


def _add_verify(commands: Any) -> None:
    verify = commands.add_parser(
        "verify",
        help="prove a forest from the files alone (under mpirun or alone)",
        description="Prove that a forest is the minimum spanning forest of a graph: "
        "its edges exist, close no cycle, span every component, and no other edge is "
        "lighter than the heaviest tree edge between its ends.",
    )
    verify.add_argument("graph", type=Path)
    verify.add_argument("forest", type=Path)
    verify.set_defaults(process=_verify)


def _verify(arguments: argparse.Namespace) -> int:
    from .comm import world
    from .io.shards import open_graph
    from .verify import verify

    comm = world()
    with comm.together():
        graph = open_graph(arguments.graph, check=comm.rank == 0)
    verdict = verify(comm, graph, arguments.forest)
    if comm.rank == 0:
        print(verdict.text(), flush=True)
    return 0 if verdict.ok else 1


def _add_info(commands: Any) -> None:
    info = commands.add_parser(
        "info",
        help="describe a graph, a forest, or this installation",
        description="Describe a graph or a forest file; without one, the versions "
        "and devices found here, for bug reports.",
    )
    info.add_argument("path", type=Path, nargs="?")
    info.add_argument("--json", action="store_true", help="for machines")
    info.set_defaults(process=_info)


def _info(arguments: argparse.Namespace) -> int:
    if arguments.path is None:
        from .installation import describe_installation

        return _print(describe_installation(), arguments.json)
    return _describe(arguments.path, arguments.json)


def _add_bench(commands: Any) -> None:
    from .bench.options import add_devices

    bench = commands.add_parser(
        "bench",
        help="time the kernels beside other programs",
        description="Time the kernels of a device beside other programs.",
    )
    add_devices(bench)


def _describe(path: Path, as_json: bool = False) -> int:
    from .io.describe import describe

    facts = describe(path)
    _print(facts, as_json)
    return 1 if facts.get("damage") else 0


def _print(facts: dict[str, Any], as_json: bool) -> int:
    if as_json:
        json.dump(facts, sys.stdout, indent=1, default=str)
        print()
        return 0
    width = max(map(len, facts))
    for name, value in facts.items():
        shown = "(see --json)" if isinstance(value, dict) else value
        print(f"{name:<{width}}  {shown}")
    return 0
