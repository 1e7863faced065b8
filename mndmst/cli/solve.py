"""Commands on sharded graphs: solve, components, update, verify, and the demo."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import ConfigError
from .options import (
    SIZES,
    add_file,
    add_flag,
    add_from,
    add_graph,
    add_memory,
    add_numbers,
    add_outputs,
    add_overwrite,
    add_point_columns,
    add_quiet,
    add_run,
    add_talk,
    add_threads,
    notice_not_kept,
    print_notes,
    terminal_stages,
)
from .parser import Commands, Parser, threads

if TYPE_CHECKING:
    from ..io.atomic_output import Output
    from .ranks import CommandRun


MERGING = "how ranks merge, and why"  # details of --verbose


def add_solve(commands: Commands) -> None:
    """Add the command to the parser."""
    solve = commands.add_parser(
        "solve",
        help="compute the minimum spanning forest (under mpirun or alone)",
        description="Compute the minimum spanning forest of a sharded graph. Run it "
        "under mpirun or srun for several ranks.",
    )
    add_run(solve, "forest to write, .h5, or a table, .csv or .tsv")
    add_numbers(solve)
    add_flag(solve, "--labels", "also write the tree of each vertex to the forest file")
    add_flag(
        solve,
        "--maximum",
        "refuse a graph that was not made for maximum forests by partition --maximum",
    )
    solve.add_argument(
        "--gpu-memory",
        metavar="SIZE",
        help=f"GPU memory limit per rank (default: all free memory); {SIZES}",
    )
    solve.add_argument(
        "--metric",
        choices=("precomputed",),
        help="GRAPH is a file with a matrix of distances, as linkage takes it",
    )
    add_from(solve, "GRAPH")
    add_file(solve, "--checkpoint", "save checkpoints to this directory", metavar="DIR")
    add_flag(solve, "--resume", "continue from the last checkpoint in --checkpoint")
    solve.add_argument(
        "--checkpoint-interval",
        type=float,
        metavar="SECONDS",
        help="minimum time between two checkpoints (default: 60; 0: as often as "
        "possible)",
    )
    solve.add_argument(
        "--timeout",
        type=int,
        metavar="SECONDS",
        help="end the job if a host is unreachable this long (default: 120; 0: never)",
    )
    solve.advanced.add_argument(
        "--ratio",
        metavar="X",
        help="GPU's fraction of a rank's arcs, 0 to 1; auto measures both devices",
    )
    solve.advanced.add_argument(
        "--light-edges",
        type=float,
        metavar="X",
        help="edges per vertex in the lightest band (default: 1.3; 0: one band)",
    )
    add_talk(solve, MERGING)
    solve.set_defaults(process=partial(_solve, solve))


def _likely_accelerators(arguments: argparse.Namespace) -> list[str]:
    """Return the kinds of devices to start before the graph is known.

    A wrong guess costs a part of a second, and changes nothing else.
    """
    from ..backends import ACCELERATORS
    from ..backends.costs import COSTS, estimated_arcs
    from ..host.cores import core_count
    from ..host.launcher import launched_local_size, launched_processes

    if arguments.backend in ACCELERATORS:
        return [arguments.backend]
    if arguments.backend not in (None, "auto"):
        return []
    if arguments.ratio not in (None, "auto"):  # both devices work
        return list(ACCELERATORS)
    arcs = estimated_arcs(Path(arguments.graph)) / launched_processes()
    ranks = launched_local_size()
    cores = arguments.threads or max(1, core_count() // ranks)
    gpu_is_faster = COSTS.gpu_seconds(arcs) < COSTS.cpu_seconds(arcs, cores, ranks)
    return list(ACCELERATORS) if gpu_is_faster else []


def _solve(parser: Parser, arguments: argparse.Namespace) -> int:
    if arguments.metric is not None:
        from .linkage import solve_matrix

        return solve_matrix(parser, arguments)
    if getattr(arguments, "from") is not None:
        raise ConfigError("--from takes a matrix; give --metric precomputed, too")
    from ..backends import accelerator
    from ..host.launcher import launched_local_rank
    from ..io.output_kinds import FOREST_OR_TABLE, REPORT

    local_rank = launched_local_rank()
    if local_rank is not None:
        for name in _likely_accelerators(arguments):
            accelerator(name).start_driver(local_rank)
    from .ranks import begin

    outputs: list[Output] = [(path, FOREST_OR_TABLE) for path in arguments.outputs]
    outputs.append((arguments.report, REPORT))
    job = begin(arguments, outputs)
    status = _run(job, arguments)
    if not arguments.outputs and job.comm.rank == 0:
        notice_not_kept("the forest is", arguments.quiet)
    return status


def _run(job: "CommandRun", arguments: argparse.Namespace) -> int:
    from ..pipeline import Targets, solve

    comm, config, progress = job
    targets = Targets(
        forests=arguments.outputs,
        report=arguments.report,
        labels=arguments.labels,
        numbers=arguments.numbers,
        checkpoint=arguments.checkpoint,
        resume=arguments.resume,
        overwrite=arguments.overwrite,
    )
    maximum = arguments.maximum
    summary = solve(comm, arguments.graph, config, targets, progress, maximum)
    if comm.rank == 0:
        if summary.report is not None and not arguments.quiet:
            from ..report.record import run_table

            print(run_table(summary.report))
        print(summary.line(), flush=True)
    return 0


def demo(arguments: argparse.Namespace) -> int:
    """Solve the small graph that comes with the program."""
    from ..io.shards.sharded_graph import demo_graph
    from .ranks import begin

    given = dict.fromkeys(("report", "labels", "checkpoint", "config"))
    flags = dict.fromkeys(("resume", "quiet", "overwrite", "numbers", "maximum"), False)
    options = argparse.Namespace(graph=demo_graph(), outputs=[], **flags, **given)
    job = begin(options)
    status = _run(job, options)
    if job.comm.rank == 0:
        print(
            "\nThat was the demo graph of mndmst. Now yours:\n  mndmst partition "
            "roads.gr.gz roads/ --parts 16\n  mpirun -n 16 python -m mndmst solve "
            "roads/ -o roads.forest.h5\n  mndmst verify roads/ roads.forest.h5\nmndmst "
            "--help lists all commands."
        )
    return status


def add_components(commands: Commands) -> None:
    """Add the command to the parser."""
    components = commands.add_parser(
        "components",
        help="find connected components (under mpirun or alone)",
        description="Find the connected components of a sharded graph: their number, "
        "their sizes, and a label of each vertex, the smallest vertex of its "
        "component. Other options of solve can be set in --config or in the "
        "environment.",
    )
    add_run(components, "file of labels to write, .h5, or a table, .csv or .tsv")
    add_numbers(components)
    add_talk(components, MERGING)
    components.set_defaults(process=_components)


def _components(arguments: argparse.Namespace) -> int:
    from ..io.output_kinds import LABELS, REPORT
    from ..label_components import connected_components
    from ..report.record import run_table
    from .ranks import begin

    outputs: list[Output] = [(path, LABELS) for path in arguments.outputs]
    outputs.append((arguments.report, REPORT))
    comm, config, progress = begin(arguments, outputs)
    components = connected_components(
        comm,
        arguments.graph,
        config,
        progress,
        arguments.outputs,
        arguments.report,
        arguments.overwrite,
        arguments.numbers,
    )
    if components.report is not None:
        if not arguments.quiet:
            print(run_table(components.report), components.text(), sep="\n")
        print(components.line(), flush=True)
        if not arguments.outputs:
            notice_not_kept("the labels are", arguments.quiet)
    return 0


def add_update(commands: Commands) -> None:
    """Add the command to the parser."""
    update = commands.add_parser(
        "update",
        help="update a forest after changes of its graph (under mpirun or alone)",
        description="Compute the minimum spanning forest of a changed graph from the "
        "forest before the changes: edges inserted, deleted or given new weights. If "
        "one change is invalid, none is applied.",
        epilog='CHANGES is a table whose first line is "op,src,dst,weight". op is '
        "insert, delete or set. An edge to insert must be new; an edge to delete or "
        "set must exist. Changes of the same edge apply in their order. A deletion "
        "needs no weight.",
    )
    add_graph(update)
    update.add_argument(
        "forest", type=Path, help="forest of the graph before the changes"
    )
    update.add_argument("changes", type=Path, help="table of changes, see below")
    add_outputs(update, "forest to write, .h5, or a table, .csv or .tsv", required=True)
    add_numbers(update)
    add_file(
        update,
        "--graph-out",
        "also write the changed graph to this directory",
        metavar="DIR",
    )
    add_file(
        update,
        "--forest-changes",
        "also write a table of the edges that leave and enter the forest, .csv or .tsv",
    )
    add_file(
        update,
        "--tree-changes",
        "also write a table of the trees that are joined or split, .csv or .tsv",
    )
    add_overwrite(
        update,
        "replace a file that is not an earlier result, and a graph in --graph-out",
    )
    add_memory(update)
    add_threads(update, "threads per rank (default: one per core)")
    add_quiet(update)
    update.set_defaults(process=_update)


def _update(arguments: argparse.Namespace) -> int:
    from ..update_forest import Files, update
    from .ranks import begin

    files = Files(
        arguments.graph, arguments.forest, arguments.changes, arguments.outputs,
        arguments.graph_out, arguments.overwrite, arguments.numbers,
        arguments.forest_changes, arguments.tree_changes,
    )  # fmt: skip
    comm, config, progress = begin(arguments, files.outputs)
    summary = update(comm, files, config.memory, config.threads, progress)
    if comm.rank == 0:
        print(summary.line(), flush=True)
    return 0


def add_verify(commands: Commands) -> None:
    """Add the command to the parser."""
    verify = commands.add_parser(
        "verify",
        help="prove a forest from its files (under mpirun or alone)",
        description="Prove that a forest is the minimum spanning forest of a graph: "
        "its edges exist, close no cycle, span every component, and no other edge is "
        "lighter than the heaviest tree edge between its ends. A forest of points is "
        "proved from the points, in one process.",
    )
    verify.add_argument(
        "graph",
        type=Path,
        help="directory of shards, or its index; or, for a forest of linkage or "
        "hdbscan, the file of points",
    )
    verify.add_argument("forest", type=Path, help="forest file to prove")
    add_threads(
        verify,
        "threads per rank, about 30 MB each (default: one per core)",
        threads(1),
    )
    add_point_columns(verify)
    add_quiet(verify)
    verify.set_defaults(process=_verify)


def _verify(arguments: argparse.Namespace) -> int:
    from ..io.formats.point_tables import is_point_file

    if is_point_file(arguments.graph):
        return _verify_points(arguments)
    if arguments.columns or arguments.key:
        raise ConfigError(
            f"--columns and --key need a file of points; {arguments.graph} is a graph."
        )

    from ..certificate import verify
    from ..comm.placement import locate
    from ..io.shards.sharded_graph import open_graph
    from ..solver.startup import compile_kernels
    from .ranks import begin

    # Without `quiet`: the verdict comes alone, with stages on a terminal.
    known = argparse.Namespace(graph=arguments.graph, threads=arguments.threads)
    comm, _, progress = begin(known)
    with comm.raise_on_all():
        graph = open_graph(arguments.graph, check=comm.rank == 0)
    if not graph.has_few_arcs():  # the few kernels for these compile when called
        compile_kernels(comm, "verify", graph.weight_dtype, progress)
    share = locate(comm).share
    threads = share if arguments.threads is None else arguments.threads
    with terminal_stages(arguments.quiet or comm.rank > 0) as shown:
        shown.stage(f"verifying {arguments.forest}")
        verdict = verify(comm, graph, arguments.forest, threads)
    if comm.rank == 0:
        print(verdict.text(), flush=True)
    return 0 if verdict.ok else 1


def _verify_points(arguments: argparse.Namespace) -> int:
    from ..io.formats.matrix_values import values_from
    from ..io.results.forest_file import read_forest
    from ..points.certificate.point_certificate import verify_points
    from ..points.point_files import read_point_table

    config = read_forest(arguments.forest).header.config
    table = read_point_table(
        arguments.graph,
        columns=arguments.columns,
        key=arguments.key,
        finite=False,
        metric=str(config.get("metric", "")),
        values=values_from(config.get("from")),
    )
    # The forest says whether the rows are points
    print_notes(table.as_distances().notes, arguments.quiet)
    with terminal_stages(arguments.quiet) as shown:
        shown.stage(f"verifying {arguments.forest}")
        verdict = verify_points(table.points, arguments.forest)
    print(verdict.text(), flush=True)
    return 0 if verdict.ok else 1
