"""Commands on points: hdbscan, linkage, neighbours and predict."""

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..host.errors import about, optional
from ..host.formatting import counted
from ..host.option_types import real, whole
from ..host.progress import notice
from .cluster import print_sizes
from .options import (
    add_file,
    add_flag,
    add_new_graph,
    add_output,
    add_overwrite,
    add_plot,
    add_point_columns,
    add_quiet,
    add_talk,
    notice_not_kept,
    print_notes,
    read_points,
)
from .parser import MOST_PARTS, MOST_POINTS, Parser, on_disk, threads

if TYPE_CHECKING:
    import numpy as np

    from ..io.atomic_output import AtomicOutput
    from ..points.clusters.cluster_pictures import ClusterPictures
    from ..points.clusters.density import Clustering
    from ..points.clusters.density_clusters import DensityRule
    from ..points.point_files import PointTable
    from ..points.point_forest import PointForest
    from ..points.search_reporter import SearchReporter


# Of points, of their tree, of neighbours and of what follows, for each of them.
BYTES_A_COORDINATE, BYTES_A_NEIGHBOUR, BYTES_A_POINT = 24, 20, 200
# Of the forest and its dendrogram, for each point of all ranks: one rank has them.
BYTES_GATHERED = 120


def add_source(parser: Parser) -> None:
    """Add the points that a command reads: a file or an example."""
    parser.add_argument(
        "points",
        type=on_disk,
        metavar="POINTS",
        help="file of an array (.npy, .npz) or a table (.csv, .tsv, .txt, .parquet, "
        ".arrow), one point per row, or an example: rings, blobs",
    )
    add_point_columns(parser)
    parser.add_argument(
        "--count",
        type=whole(1, MOST_POINTS),
        metavar="N",
        help="number of points of an example (default: 100000)",
    )
    add_file(parser, "--save", "also write the points to this file", metavar="FILE.npy")


def add_points(parser: Parser, output: str, pictures: Sequence[str]) -> None:
    """Add the points, the outputs and the options of the search."""
    add_source(parser)
    add_overwrite(parser)
    add_output(parser, f"{output}; without it, nothing is kept")
    add_file(
        parser,
        "--forest",
        "also write the minimum spanning forest, .h5; verify proves it",
    )
    add_plot(parser, pictures)
    parser.add_argument(
        "--metric",
        default="euclidean",
        metavar="NAME",
        help="euclidean, manhattan, chebyshev, cosine, correlation, haversine of "
        "latitude and longitude in radians; or, comparing all pairs of points, hamming "
        "or jaccard of categorical rows, minkowski, seuclidean, mahalanobis, "
        "sqeuclidean, braycurtis, canberra, and of binary rows dice, rogerstanimoto, "
        "russellrao, sokalsneath, yule; or precomputed: POINTS is a matrix of "
        "distances, with or without names",
    )
    parser.add_argument(
        "--p", type=real(1), metavar="P", help="exponent, for minkowski (default: 2)"
    )
    parser.add_argument(
        "--w",
        metavar="W,...",
        help="weight of each dimension, for minkowski and other metrics of all pairs",
    )
    parser.add_argument(
        "--V",
        metavar="V,...",
        help="variance of each dimension, for seuclidean (default: that of the "
        "points); for mahalanobis the covariance, row by row, or a file of it",
    )
    parser.add_argument(
        "--boxsize",
        metavar="L,...",
        help="sides of a periodic box, for euclidean: one for all dimensions or one "
        "for each, 0 where not periodic; compares all pairs of points",
    )
    parser.add_argument(
        "--missing",
        type=real(-math.inf),
        metavar="X",
        help="number that marks a missing entry, for hamming and jaccard",
    )
    parser.add_argument(
        "--missing-rule",
        choices=("ignore", "equal", "differ"),
        help="hamming: leave columns with a missing entry out (default), or count them "
        "as equal or as different",
    )
    add_flag(
        parser,
        "--approximate",
        "use only the nearest-neighbour graph, and print how many edges of its "
        "forest are certain",
    )
    parser.add_argument(
        "--threads",
        type=threads(),
        default=0,
        metavar="N",
        help="number of threads (default: one per core)",
    )
    add_search(parser)
    parser.advanced.add_argument(
        "--neighbours",
        type=whole(0, MOST_POINTS),
        default=0,
        metavar="K",
        help="nearest neighbours searched first; the result depends on it only with "
        "--approximate",
    )


def add_search(parser: Parser) -> None:
    """Add `--search`, which changes times and no result, and `-q` and `-v`."""
    parser.add_argument(
        "--search",
        choices=("auto", "tree", "product"),
        default="auto",
        help="find neighbours by a tree, or by matrix products, on a GPU where there "
        "is one; auto probes a sample of the points; the result is the same",
    )
    add_talk(parser, "which search finds the neighbours, and why")


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
        found = metric_forest(
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
    write(table, found)


def settle_metric(arguments: argparse.Namespace) -> None:
    """Replace the metric by its first name, and set its parameters.

    Raises ConfigError if no such metric is offered on the command line, or it takes
    none of the parameters.
    """
    from ..host.errors import ConfigError
    from ..points.metrics import METRICS
    from ..points.pairwise_forest import ALIASES, PAIRWISE, simplified
    from ..points.search.search_choice import check_search

    given: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("missing", "missing_rule", "p")
        if getattr(arguments, name) is not None
    }
    metric = ALIASES.get(arguments.metric, arguments.metric)
    offered = (*METRICS, *PAIRWISE, "precomputed")
    if metric not in offered:
        raise ConfigError(f"no metric '{metric}'; give one of {', '.join(offered)}")
    if metric == "precomputed" and arguments.non_finite != "error":
        raise ConfigError(
            "--non-finite takes rows of coordinates. Give a matrix without missing "
            "distances, or take mndmst.HDBSCAN in Python."
        )
    if arguments.boxsize is not None:
        sides = _numbers("boxsize", arguments.boxsize)
        given["boxsize"] = sides if len(sides) > 1 else sides[0]
    if arguments.w is not None:
        given["w"] = _numbers("w", arguments.w)
    if arguments.V is not None:
        given["V"] = _variances(arguments.V, metric)
    name, _ = simplified(metric, given)
    searched = name in METRICS
    arguments.metric = str(name) if searched else metric
    arguments.metric_params = {} if searched else given
    if searched:
        check_search(arguments.search, arguments.metric)


def _numbers(option: str, text: str) -> list[float]:
    from ..host.errors import ConfigError

    try:
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise ConfigError(f"--{option} {text}: give numbers such as 1,1,2") from error


def _variances(text: str, metric: str) -> list:
    """Return the variances of seuclidean, or the covariance of mahalanobis."""
    import numpy as np

    from ..host.errors import ConfigError
    from ..io.formats.point_tables import is_point_file
    from ..points.point_files import read_points as read_array

    file = Path(text)
    values = read_array(file) if is_point_file(file) else np.array(_numbers("V", text))
    if metric != "mahalanobis":
        return values.ravel().tolist()
    side = math.isqrt(values.size)
    if side * side != values.size:
        raise ConfigError(f"--V {text}: mahalanobis takes a square matrix, row by row")
    return values.reshape(side, side).tolist()


@contextmanager
def reported(arguments: argparse.Namespace) -> Iterator["SearchReporter"]:
    """Yield a reporter of a search, and remove its bar at the end."""
    from ..host.progress import Progress, process_start
    from ..points.search_reporter import SearchReporter

    verbose = arguments.verbose and not arguments.quiet
    progress = Progress(not arguments.quiet, since=process_start(), verbose=verbose)
    try:
        with about(arguments.points):
            yield SearchReporter(progress)
    finally:
        progress.close()


def spent() -> str:
    """Return the seconds and the peak memory of this process, for lines RESULT."""
    from ..host.memory import peak_bytes
    from ..host.progress import process_start

    seconds = time.monotonic() - process_start()
    return f"seconds={seconds:.2f} peak_mib={peak_bytes() / 2**20:.0f}"


def _with_ranks(
    arguments: argparse.Namespace,
    samples: Callable[[], int],
    answer: Callable[["PointTable"], bool],
    write: Callable[["PointTable", "PointForest"], None],
) -> int:
    from ..comm.placement import locate
    from ..host.errors import ConfigError
    from ..points.metrics import METRICS
    from ..points.pairwise_forest import lists_all
    from ..points.point_files import checked_points
    from ..points.point_forest import distributed_forest
    from ..points.ranks.distribute import read_part
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
    compile_kernels(comm, "points", None, progress)
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
        found = distributed_forest(
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
        if found is not None and table is not None:
            write(table, found)
    return 0


def _check_files(arguments: argparse.Namespace) -> None:
    from ..io.atomic_output import check_outputs
    from ..io.output_kinds import CLUSTERS, FOREST, PICTURE, POINTS

    outputs = (
        (arguments.output, CLUSTERS),
        (arguments.forest, FOREST),
        (arguments.save, POINTS),
        (arguments.plot, PICTURE),
    )
    check_outputs([arguments.points], outputs, overwrite=arguments.overwrite)


def _load(arguments: argparse.Namespace, min_samples: int, ranks: int) -> "PointTable":
    """Return the points; with several ranks, mapped."""
    from ..host.memory import FREE_MEMORY
    from ..io.memory_limit import check_room
    from ..points.pairwise_forest import lists_all, with_variances

    if arguments.plot is not None:
        optional("matplotlib", "plot")  # missing: say so before any work
    finite = arguments.non_finite == "error"
    table = load_points(arguments, ranks > 1, typed=True, finite=finite)
    points = table.points
    arguments.metric_params = with_variances(
        points, arguments.metric, arguments.metric_params
    )
    neighbours = min(max(arguments.neighbours, min_samples + 16), len(points))
    if lists_all(min_samples, len(points)):
        neighbours, ranks = 1, 1  # rank 0 keeps core distances alone
    each = BYTES_A_POINT + BYTES_A_COORDINATE * points.shape[1]
    each += BYTES_A_NEIGHBOUR * neighbours
    nbytes = len(points) // ranks * each + (ranks > 1) * len(points) * BYTES_GATHERED
    check_room(FREE_MEMORY, arguments.points, nbytes, "the forest of its points")
    if arguments.output is not None or arguments.forest is not None:
        from ..points.point_files import start_uuid

        table = table._replace(uuid=start_uuid(table.points))
    return table


def load_points(
    arguments: argparse.Namespace,
    mapped: bool = False,
    typed: bool = False,
    finite: bool = True,
) -> "PointTable":
    """Return the points that a command reads, and print notes on the columns."""
    from ..points.point_files import named_points

    metric = getattr(arguments, "metric", "")  # neighbours has none
    table = named_points(
        arguments.points,
        arguments.count,
        mapped,
        arguments.columns,
        arguments.key,
        typed,
        finite,
        metric,
    )
    if metric == "precomputed":
        table = table.as_distances()
    print_notes(table.notes, arguments.quiet)
    return table


def write(
    arguments: argparse.Namespace,
    table: "PointTable",
    found: "PointForest | None",
    min_samples: int,
    facts: dict[str, Any],
    columns: dict[str, "np.ndarray"],
    pictures: "ClusterPictures | None",
) -> None:
    """Write the requested files; all of them appear, or none.

    `found` and `pictures` are None if no requested file needs them. `facts` are
    attributes and `columns` datasets of the cluster file.
    """
    from ..io.atomic_output import AtomicOutput
    from ..io.results.clusters_file import write_clusters
    from ..io.results.forest_file import ForestHeader, write_forest_in
    from ..points.point_files import names_of_ids

    points = table.points
    if table.ids is not None:
        facts = {**facts, "ids-name": table.id_name or "id"}
        columns = {**columns, "ids": table.ids}
    uuid = "" if table.uuid is None else table.uuid.result()
    if found is not None and not arguments.quiet:
        _print_forest(found)
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        if arguments.output is not None:
            about = {"graph-uuid": uuid, "num_vertices": len(points), **facts}
            write_clusters(arguments.output, about, columns, files)
        if arguments.forest is not None and found is not None:
            forest = found.forest
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
            names = names_of_ids(arguments.points, table.ids)
            write_forest_in(files, arguments.forest, edges, header, names=names)
        save_points(files, arguments.save, points)
        if arguments.plot is not None and pictures is not None:
            from ..report.cluster_page import write_cluster_pictures

            write_cluster_pictures(pictures, arguments.plot, arguments.picture, files)
    if not any((arguments.output, arguments.forest, arguments.plot)):
        notice_not_kept("the result is", arguments.quiet)


def save_points(files: "AtomicOutput", path: Path | None, points: "np.ndarray") -> None:
    """Write points to a file, if one is named."""
    import numpy as np

    from ..io.output_kinds import POINTS

    if path is not None:
        with files.file(path, POINTS) as temporary, temporary.open("wb") as file:
            np.save(file, points)


def _print_forest(found: "PointForest") -> None:
    edges = counted(len(found.forest), "edge")
    trees = counted(found.forest.num_trees, "tree")
    kind = "exact" if found.exact else "approximate"
    print(
        f"{kind} forest: {edges}, {trees}; {counted(found.certain, 'edge')} certain by "
        "the nearest neighbours alone"
    )


def add_linkage(commands: Any) -> None:
    """Add the command to the parser."""
    linkage = commands.add_parser(
        "linkage",
        help="find the exact single-linkage dendrogram of points",
        description="Find the minimum spanning forest of the distances between all "
        "points, exactly, and the single-linkage dendrogram, as SciPy's linkage "
        "returns it. Under mpirun or alone.",
    )
    add_points(
        linkage,
        "file to write with the dendrogram: .h5, .csv, or .nwk (Newick)",
        ("dendrogram", "reachability"),
    )
    linkage.set_defaults(process=_linkage, alpha=1.0, non_finite="error")


def _linkage(arguments: argparse.Namespace) -> int:
    write = partial(_write_linkage, arguments)
    return with_forest(arguments, lambda: 0, lambda _: False, write)


def _write_linkage(
    arguments: argparse.Namespace, table: "PointTable", found: "PointForest"
) -> None:
    from ..points.clusters.cluster_pictures import ClusterPictures
    from ..tree.linkage import single_linkage

    linkage = single_linkage(found.forest)
    facts = {"rule": "single linkage", "metric": arguments.metric}
    pictures = ClusterPictures(linkage, source=str(arguments.points), facts=facts)
    write(arguments, table, found, 0, facts, {"linkage": linkage}, pictures)
    forest = found.forest
    print(
        f"RESULT n={len(table.points)} edges={len(forest)} trees={forest.num_trees} "
        f"weight={forest.total_weight} digest={forest.digest} exact={found.exact} "
        f"search={found.search or 'none'} {spent()}",
        flush=True,
    )


def add_hdbscan(commands: Any) -> None:
    """Add the command to the parser."""
    hdbscan = commands.add_parser(
        "hdbscan",
        help="find clusters of points: HDBSCAN*, exactly",
        description="Find the minimum spanning forest of the mutual reachability "
        "distances between all points, exactly, and the clusters of HDBSCAN*. Options "
        "are named as in hdbscan. Under mpirun or alone.",
    )
    add_points(
        hdbscan,
        "cluster file to write, .h5; the labels as .csv; the dendrogram as .nwk",
        ("clusters", "condensed", "dendrogram", "reachability"),
    )
    hdbscan.add_argument(
        "--min-cluster-size",
        type=whole(2),
        default=5,
        metavar="N",
        help="smallest number of points that form a cluster",
    )
    hdbscan.add_argument(
        "--min-samples",
        type=whole(1),
        metavar="N",
        help="neighbours within the core distance, not counting the point itself, as "
        "in hdbscan; scikit-learn counts it (default: --min-cluster-size)",
    )
    hdbscan.add_argument(
        "--cluster-selection-method",
        choices=("eom", "leaf"),
        default="eom",
        help="select clusters by excess of mass, or the leaves of the condensed tree",
    )
    hdbscan.add_argument(
        "--cluster-selection-epsilon",
        type=real(0),
        default=0.0,
        metavar="X",
        help="merge clusters born below this distance into their first ancestor born "
        "above it",
    )
    hdbscan.add_argument(
        "--cluster-selection-epsilon-max",
        type=real(0),
        default=math.inf,
        metavar="X",
        help="do not select clusters born above this distance; with eom only",
    )
    hdbscan.add_argument(
        "--cluster-selection-persistence",
        type=real(0),
        default=0.0,
        metavar="X",
        help="merge leaves of the condensed tree of a smaller persistence, in 1 / "
        "distance",
    )
    add_flag(
        hdbscan,
        "--allow-single-cluster",
        "allow a single cluster, whose outliers are noise",
    )
    hdbscan.add_argument(
        "--max-cluster-size",
        type=whole(0, MOST_POINTS),
        default=0,
        metavar="N",
        help="do not select larger clusters; with eom only, 0 for no limit",
    )
    hdbscan.add_argument(
        "--alpha",
        type=real(1e-300),
        default=1.0,
        metavar="X",
        help="divide distances, but not core distances, by this number; compares all "
        "pairs of points unless it is 1",
    )
    hdbscan.add_argument(
        "--non-finite",
        choices=("noise", "codes", "error"),
        default="error",
        help="refuse rows with NaN or infinite coordinates, or take them as noise, or "
        "give them the labels -3 with NaN and -2 without",
    )
    hdbscan.add_argument(
        "--store-centers",
        choices=("centroid", "medoid", "both"),
        help="also store in the cluster file the mean point of each cluster, weighted "
        "by probabilities, or the medoid, or both",
    )
    add_flag(
        hdbscan,
        "--prediction-data",
        "also store the points and the selected clusters in the cluster file, for "
        "mndmst predict",
    )
    hdbscan.set_defaults(process=_hdbscan)


def _hdbscan(arguments: argparse.Namespace) -> int:
    from ..host.errors import ConfigError
    from ..points.clusters.cluster_measures import NO_CENTERS
    from ..points.pairwise_forest import NO_POINTS

    def samples() -> int:
        rule = _density_rule(arguments)
        if arguments.metric == "precomputed" and arguments.prediction_data:
            raise ConfigError(NO_POINTS)
        if arguments.metric == "precomputed" and arguments.store_centers:
            raise ConfigError(NO_CENTERS)
        if arguments.prediction_data:
            _check_cluster_file("--prediction-data goes", arguments.output)
        if arguments.store_centers:
            _check_cluster_file("--store-centers goes", arguments.output)
        return rule.samples

    def answer(table: "PointTable") -> bool:
        rule = _density_rule(arguments)
        count, output = len(table.points), arguments.output
        rule.check_points(count)
        if rule.too_few(count) and not arguments.quiet:
            notice(f"{arguments.points}: {rule.too_few(count)}")
        if not rule.finds_no_cluster(count):
            return False
        trees = None if output is None or output.suffix == ".csv" else output
        needs = arguments.forest or arguments.plot or trees
        if needs:
            if not arguments.quiet:
                notice(
                    f"{needs}: needs the forest of the points, which takes a search; "
                    "labels in a .csv need none"
                )
            return False
        _write_noise(arguments, table, rule)
        return True

    return with_forest(arguments, samples, answer, partial(_write_hdbscan, arguments))


def _write_noise(
    arguments: argparse.Namespace, table: "PointTable", rule: "DensityRule"
) -> None:
    """Write the labels of points among which no cluster is possible."""
    from ..points.clusters.density import Clustering
    from ..points.pairwise_forest import check_forest

    check_forest(
        table.points,
        arguments.metric,
        alpha=arguments.alpha,
        parameters=arguments.metric_params,
        approximate=arguments.approximate,
        search=arguments.search,
    )
    flat = _coded(arguments, table, Clustering.all_noise(len(table.points)))
    if not arguments.quiet:
        print_sizes(flat.labels, "point")
    columns = flat._asdict() | _centers(arguments, table, flat)
    write(arguments, table, None, rule.samples, {}, columns, None)
    _print_result(flat.labels, "exact=True search=none")


def _coded(
    arguments: argparse.Namespace, table: "PointTable", flat: "Clustering"
) -> "Clustering":
    """Return the clusters, with codes for rows that are not finite if that is asked."""
    from ..points.clusters.density import Clustering
    from ..points.coordinates import LABEL_CODES, PROBABILITY_CODES, coded

    if arguments.non_finite != "codes":
        return flat
    codes = LABEL_CODES, PROBABILITY_CODES
    pairs = zip(flat, codes, strict=True)
    return Clustering(*(coded(column, table.points, code) for column, code in pairs))


def _centers(
    arguments: argparse.Namespace, table: "PointTable", flat: "Clustering"
) -> dict[str, "np.ndarray"]:
    """Return the datasets of `--store-centers`."""
    from ..points.clusters.cluster_measures import centers_of

    return centers_of(
        table.points,
        flat.labels,
        flat.probabilities,
        arguments.store_centers,
        arguments.metric,
        arguments.metric_params,
    )


def _print_result(labels: "np.ndarray", how: str) -> None:
    clusters, noise = int(labels.max()) + 1, int((labels < 0).sum())
    print(
        f"RESULT n={len(labels)} clusters={clusters} noise={noise} {how} {spent()}",
        flush=True,
    )


def _check_cluster_file(goes: str, output: Path | None) -> None:
    """Raise ConfigError unless there is a cluster file for further results."""
    from ..host.errors import ConfigError

    if output is None or output.suffix in (".csv", ".nwk"):
        given = "no file is named" if output is None else f"{output} is a table or tree"
        raise ConfigError(
            f"{goes} into a cluster file, and {given}. Give -o a name in .h5."
        )


def _density_rule(arguments: argparse.Namespace) -> "DensityRule":
    """Return the rule of the options; ConfigError if a value is out of range."""
    from ..points.clusters.density_clusters import DensityRule
    from ..points.clusters.selection import ClusterSelection

    return DensityRule(
        arguments.min_cluster_size,
        arguments.min_samples,
        ClusterSelection(
            arguments.cluster_selection_method,
            arguments.cluster_selection_epsilon,
            arguments.cluster_selection_epsilon_max,
            arguments.allow_single_cluster,
            arguments.max_cluster_size,
        ),
        arguments.cluster_selection_persistence,
    ).checked()


def _write_hdbscan(
    arguments: argparse.Namespace, table: "PointTable", found: "PointForest"
) -> None:
    import numpy as np

    from ..points.clusters.cluster_measures import exemplars_of, relative_validity
    from ..points.clusters.cluster_pictures import ClusterPictures
    from ..points.clusters.density_clusters import clusters_of
    from ..points.clusters.prediction_file import prediction_columns, prediction_facts

    rule = _density_rule(arguments)
    clusters = clusters_of(found, rule)
    flat = _coded(arguments, table, clusters.flat)
    facts = {
        "num_clusters": int(flat.labels.max()) + 1,
        "rule": _in_words(rule, arguments.alpha) + " approximate" * (not found.exact),
        "metric": arguments.metric,
        "relative_validity": relative_validity(found.forest, flat.labels),
    }
    none = np.empty(0, np.int64)
    columns = {
        "labels": flat.labels,
        "probabilities": flat.probabilities,
        "outlier_scores": clusters.outlier_scores,
        "persistence": clusters.persistence,
        "exemplars": np.concatenate([none, *exemplars_of(clusters.tree, flat.labels)]),
        "linkage": clusters.linkage,
        **clusters.tree.columns(),
        **_centers(arguments, table, flat),
    }
    if arguments.prediction_data:
        facts |= prediction_facts(
            table.points,
            rule,
            arguments.alpha,
            arguments.metric_params,
            arguments.non_finite,
            table.names,
        )
        columns |= prediction_columns(table.points, clusters)
    if not arguments.quiet:
        print_sizes(flat.labels, "point")
    pictures = ClusterPictures(
        clusters.linkage,
        flat.labels,
        None if arguments.metric == "precomputed" else table.points,
        table.names or None,
        clusters.tree,
        clusters.chosen,
        clusters.persistence,
        str(arguments.points),
        facts,
    )
    write(arguments, table, found, rule.samples, facts, columns, pictures)
    _print_result(flat.labels, f"exact={found.exact} search={found.search or 'none'}")


def _in_words(rule: "DensityRule", alpha: float) -> str:
    """Return the rule as the cluster file records it; defaults are left out."""
    selection = rule.selection
    words = (
        f"hdbscan min_cluster_size {rule.min_cluster_size} min_samples {rule.samples} "
        f"{selection.method} epsilon {selection.epsilon:g}"
    )
    if alpha != 1:
        words += f" alpha {alpha:g}"
    if selection.epsilon_max < math.inf:
        words += f" epsilon_max {selection.epsilon_max:g}"
    if rule.persistence:
        words += f" persistence {rule.persistence:g}"
    if selection.max_cluster_size:
        words += f" max_cluster_size {selection.max_cluster_size}"
    return words + " allow_single_cluster" * selection.allow_single_cluster


def add_neighbours(commands: Any) -> None:
    """Add the command to the parser."""
    neighbours = commands.add_parser(
        "neighbours",
        help="build the nearest-neighbour graph of points, for clustering",
        description="Connect each point with its nearest neighbours. The forest of "
        "this graph approximates the forest of all distances; linkage and hdbscan are "
        "exact.",
    )
    add_source(neighbours)
    add_new_graph(neighbours)
    neighbours.add_argument(
        "--k",
        type=whole(1, MOST_POINTS),
        metavar="N",
        help="neighbours per point (default: 16 or --core, whichever is larger; all "
        "other points if these are fewer)",
    )
    neighbours.add_argument(
        "--core",
        type=whole(0, MOST_POINTS),
        default=0,
        metavar="K",
        help="use mutual reachability distances of K neighbours as weights, for "
        "cluster --min-size (default: plain distances)",
    )
    neighbours.add_argument(
        "--parts",
        type=whole(1, MOST_PARTS),
        default=1,
        metavar="N",
        help="number of shards",
    )
    add_search(neighbours)
    neighbours.set_defaults(process=_neighbours, one_process=True)


def _neighbours(arguments: argparse.Namespace) -> int:
    from ..host.errors import OutputError
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.file_info import describe_graph
    from ..io.output_kinds import POINTS
    from ..io.partitioner.partition import build_shards, check_new_graph
    from ..points.neighbour_graph import neighbour_graph
    from .partition import print_graph

    outputs = [(arguments.save, POINTS)]
    check_outputs([arguments.points], outputs, overwrite=arguments.overwrite)
    save, out = arguments.save, arguments.out
    if save is not None and save.resolve().is_relative_to(out.resolve()):
        raise OutputError(
            f"{save}: is inside {out}, which holds only the graph. Give --save a file "
            "elsewhere."
        )
    check_new_graph(arguments.out, arguments.parts, arguments.overwrite)
    points = load_points(arguments).points
    # The points are on disk before the graph is made, and are named after it.
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        save_points(files, arguments.save, points)
        name = str(arguments.points)
        with reported(arguments) as reporter:
            edges = neighbour_graph(
                points,
                arguments.k,
                arguments.core,
                name,
                arguments.search,
                reporter,
            )
        facts: dict[str, Any] = {}
        build_shards(
            edges,
            arguments.out,
            arguments.parts,
            arguments.overwrite,
            lambda _: facts.update(describe_graph(arguments.out)),
        )
    return print_graph(facts, arguments.quiet)


def add_predict(commands: Any) -> None:
    """Add the command to the parser."""
    predict = commands.add_parser(
        "predict",
        help="find the clusters of new points, without changing the clusters",
        description="Find the label and probability of each new point in the clusters "
        "of hdbscan --prediction-data. The clusters do not change. The result is that "
        "of HDBSCAN.approximate_predict in Python.",
        epilog="Example: mndmst hdbscan old.npy -o clusters.h5 --prediction-data; "
        "mndmst predict clusters.h5 new.npy -o labels.csv",
    )
    predict.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="cluster file that hdbscan has written with --prediction-data",
    )
    predict.add_argument(
        "points",
        type=on_disk,
        metavar="POINTS",
        help="file of the new points, in a format that hdbscan reads",
    )
    add_point_columns(predict)
    add_output(
        predict,
        "file to write with the labels and probabilities, .h5 or .csv; without "
        "it, nothing is kept",
    )
    add_overwrite(predict)
    add_quiet(predict)
    predict.set_defaults(process=_predict, one_process=True)


def _predict(arguments: argparse.Namespace) -> int:
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.output_kinds import PREDICTIONS
    from ..io.results.clusters_file import write_clusters
    from ..points.clusters.prediction_file import StoredModel
    from ..points.point_files import uuid_of

    source, output = arguments.points, arguments.output
    given, outputs = [arguments.model, source], [(output, PREDICTIONS)]
    check_outputs(given, outputs, overwrite=arguments.overwrite)
    model = StoredModel.read(arguments.model)
    finite = model.non_finite == "error"
    table = read_points(arguments, source, finite, model.metric)
    if arguments.columns is None:
        model.check_coordinates(table.names, source)
    labels, probabilities = model.predict(table.points, source)
    facts = {
        "graph-uuid": uuid_of(table.points),
        "num_vertices": len(labels),
        "num_clusters": model.num_clusters,
        "rule": f"predicted by {model.rule}",
        "metric": model.metric,
    }
    columns = {"labels": labels, "probabilities": probabilities}
    if table.ids is not None:
        facts["ids-name"] = table.id_name or "id"
        columns["ids"] = table.ids
    if output is None:
        notice_not_kept("the labels are", arguments.quiet)
    else:
        with AtomicOutput(overwrite=arguments.overwrite) as files:
            write_clusters(output, facts, columns, files)
    print(
        f"RESULT n={len(labels)} clusters={model.num_clusters} "
        f"noise={int((labels < 0).sum())} {spent()}",
        flush=True,
    )
    return 0
