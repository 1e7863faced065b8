"""The forest of points that hdbscan and linkage find, alone or on ranks, and files."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import about, optional
from ..host.formatting import counted
from ..host.memory_costs import (
    COORDINATE_BYTES,
    GATHERED_POINT_BYTES,
    NEIGHBOUR_BYTES,
    POINT_BYTES,
)
from .cluster_events import write_events
from .options import notice_not_kept
from .point_input import load_points, reported, save_points
from .point_options import settle_metric

if TYPE_CHECKING:
    import numpy as np

    from ..points.clusters.cluster_numbers import ClusterEvent
    from ..points.clusters.cluster_pictures import ClusterPictures
    from ..points.point_files import PointTable
    from ..points.point_forest import PointForest


def with_forest(
    arguments: argparse.Namespace,
    samples: Callable[[], int],
    answer: Callable[["PointTable"], bool],
    write: Callable[["PointTable", "PointForest"], None],
) -> int:
    """Find the forest of points on all ranks; one of them writes.

    `samples` checks the options, and returns `min_samples`. `answer` checks the number
    of points, and returns whether it has written the requested files without a forest.
    `write` takes the points and their forest, and writes the requested files. Raises
    MndmstError on all ranks if an output is taken or the points are invalid.
    """
    from ..host.launcher import launched_processes

    if launched_processes() > 1:
        return _with_ranks(arguments, samples, answer, write)
    settle_metric(arguments)
    min_samples = samples()
    _check_files(arguments)
    table = _load(arguments, min_samples, 1)
    if not answer(table):
        _find_alone(arguments, table, min_samples, write)
    return 0


def _find_alone(
    arguments: argparse.Namespace,
    table: "PointTable",
    min_samples: int,
    write: Callable[["PointTable", "PointForest"], None],
) -> None:
    """Find the forest of points in this process, and write the requested files."""
    from ..points.pairwise_forest import metric_forest

    with reported(arguments) as reporter:
        result = metric_forest(
            table.points,
            arguments.metric,
            min_samples,
            alpha=arguments.alpha,
            parameters=arguments.metric_params,
            approximate=arguments.approximate,
            neighbours=arguments.neighbours,
            threads=arguments.threads,
            search=arguments.search,
            reporter=reporter,
        )
    write(table, result)


def _with_ranks(
    arguments: argparse.Namespace,
    samples: Callable[[], int],
    answer: Callable[["PointTable"], bool],
    write: Callable[["PointTable", "PointForest"], None],
) -> int:
    from ..comm.placement import locate
    from ..host.errors import ConfigError
    from ..points.distribute import read_part
    from ..points.metrics import METRICS
    from ..points.pairwise_forest import lists_all
    from ..points.point_files import checked_points
    from ..points.point_forest import distributed_forest
    from ..points.search_reporter import SearchReporter
    from ..solver.startup import compile_kernels
    from .ranks import begin

    given = argparse.Namespace(quiet=arguments.quiet, verbose=arguments.verbose)
    comm, _, progress = begin(given)
    table, answered = None, False
    with comm.raise_on_all():
        settle_metric(arguments)
        min_samples = samples()
        if comm.rank == 0:
            _check_files(arguments)
    for user in ("points", "products"):
        compile_kernels(comm, user, None, progress)
    with comm.raise_on_all():
        if arguments.approximate:
            raise ConfigError("--approximate takes one process; leave out mpirun")
        if arguments.metric not in METRICS or arguments.metric_params:
            raise ConfigError(
                f"the metric {arguments.metric} compares all pairs in one process; "
                "leave out mpirun"
            )
        if arguments.alpha != 1 or arguments.non_finite != "error":
            raise ConfigError(
                "--alpha and --non-finite take one process; leave out mpirun"
            )
        if comm.rank == 0:
            table = _load(arguments, min_samples, comm.size)
            answered = answer(table)
            if not answered and lists_all(min_samples, len(table.points)):
                # Distributed, each rank would hold its points' lists of all neighbours
                read = checked_points(table.points, f"{arguments.points}: ")
                table = table._replace(points=read)
                _find_alone(arguments, table, min_samples, write)
                answered = True
    if comm.bcast(answered):
        return 0
    points = None if table is None else table.points
    part, _ = read_part(comm, points, Path(arguments.points))
    with about(arguments.points):
        result = distributed_forest(
            comm,
            part,
            arguments.metric,
            min_samples,
            neighbours=arguments.neighbours,
            threads=arguments.threads or locate(comm).share,
            search=arguments.search,
            reporter=SearchReporter(progress if comm.rank == 0 else None),
        )
    with comm.raise_on_all():
        if result is not None and table is not None:
            write(table, result)
    return 0


def _check_files(arguments: argparse.Namespace) -> None:
    from ..io.atomic_output import check_outputs
    from ..io.output_kinds import CLUSTERS, FOREST_OR_TABLE, PICTURE, POINTS

    outputs = (
        *((path, CLUSTERS) for path in arguments.outputs),
        (arguments.forest, FOREST_OR_TABLE),
        (arguments.save, POINTS),
        (arguments.plot, PICTURE),
    )
    check_outputs([arguments.points], outputs, overwrite=arguments.overwrite)


def _load(arguments: argparse.Namespace, min_samples: int, ranks: int) -> "PointTable":
    """Return the points; with several ranks, mapped."""
    from ..points.pairwise_forest import with_variances

    if arguments.plot is not None:
        optional("matplotlib", "plot")  # missing: say so before any work
    finite = arguments.non_finite == "error"
    table = load_points(arguments, ranks > 1, typed=True, finite=finite)
    points = table.points
    arguments.given_params = arguments.metric_params
    arguments.metric_params = with_variances(
        points, arguments.metric, arguments.metric_params
    )
    check_search_room(arguments, points, len(points), min_samples, ranks)
    if arguments.outputs or arguments.forest is not None:
        from ..points.point_files import start_uuid

        table = table._replace(uuid=start_uuid(table.points))
    return table


def check_search_room(
    arguments: argparse.Namespace,
    points: "np.ndarray",
    count: int,
    min_samples: int,
    ranks: int = 1,
) -> None:
    """Raise InputError if `count` points like these need more memory than there is."""
    from ..host.memory import FREE_MEMORY
    from ..io.memory_limit import check_room
    from ..points.pairwise_forest import lists_all

    neighbours = min(max(arguments.neighbours, min_samples + 16), count)
    if lists_all(min_samples, count):
        neighbours, ranks = 1, 1  # rank 0 keeps core distances alone
    each = POINT_BYTES + COORDINATE_BYTES * points.shape[1]
    each += NEIGHBOUR_BYTES * neighbours
    nbytes = count // ranks * each
    if ranks > 1:
        nbytes += count * GATHERED_POINT_BYTES
    source = arguments.points or arguments.model
    check_room(FREE_MEMORY, source, nbytes, "the forest of its points")


def write(
    arguments: argparse.Namespace,
    table: "PointTable",
    result: "PointForest | None",
    min_samples: int,
    facts: dict[str, object],
    columns: dict[str, "np.ndarray"],
    pictures: "ClusterPictures | None",
    events: "list[ClusterEvent] | None" = None,
) -> None:
    """Write the requested files; all of them appear, or none.

    `result` and `pictures` are None if no requested file needs them, `events` for
    points that have not changed. `facts` are attributes and `columns` datasets of the
    cluster file.
    """
    from ..comm.world import SingleProcess
    from ..io.atomic_output import AtomicOutput
    from ..io.output_kinds import FOREST_OR_TABLE
    from ..io.results.clusters_file import write_clusters
    from ..io.results.forest_file import ForestHeader, write_forest_in
    from ..io.results.text_tables import COLUMNS, SEPARATORS, write_table
    from ..points.point_files import names_of_ids

    points = table.points
    if table.ids is not None:
        facts = {**facts, "ids-name": table.id_name or "id"}
        columns = {**columns, "ids": table.ids}
    uuid = "" if table.uuid is None else table.uuid.result()
    if result is not None and not arguments.quiet:
        _print_forest(result)
    with AtomicOutput(SingleProcess(), overwrite=arguments.overwrite) as files:
        about = {"graph-uuid": uuid, "num_vertices": len(points), **facts}
        for path in arguments.outputs:
            write_clusters(path, about, columns, files)
        if arguments.forest is not None and result is not None:
            forest = result.forest
            config = {
                "metric": arguments.metric,
                "min_samples": min_samples,
                "approximate": arguments.approximate,
                **arguments.metric_params,
                **({} if arguments.alpha == 1 else {"alpha": arguments.alpha}),
            }
            header = ForestHeader(
                uuid, len(points), forest.total_weight, forest.digest, config
            )
            edges = forest.src, forest.dst, forest.weight
            source = arguments.points or arguments.model
            names = names_of_ids(source, table.ids)
            if arguments.forest.suffix in SEPARATORS:
                kind = FOREST_OR_TABLE
                write_table(files, arguments.forest, COLUMNS, edges, names, kind)
            else:
                write_forest_in(files, arguments.forest, edges, header, names=names)
        save_points(files, arguments.save, points)
        if events is not None and arguments.events is not None:
            write_events(files, arguments.events, events)
        if arguments.plot is not None and pictures is not None:
            from ..report.cluster_page import write_cluster_pictures

            write_cluster_pictures(pictures, arguments.plot, arguments.picture, files)
    if not any((arguments.outputs, arguments.forest, arguments.plot)):
        notice_not_kept("the result is", arguments.quiet)


def _print_forest(result: "PointForest") -> None:
    edges = counted(len(result.forest), "edge")
    trees = counted(result.forest.num_trees, "tree")
    kind = "exact" if result.exact else "approximate"
    print(
        f"{kind} forest: {edges}, {trees}; {counted(result.certain, 'edge')} certain "
        "by the nearest neighbours alone"
    )
