"""Options of the commands on points: points, metrics and their parameters, search."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..host.errors import ConfigError
from ..host.option_types import real, whole
from .options import (
    add_file,
    add_flag,
    add_from,
    add_outputs,
    add_overwrite,
    add_plot,
    add_point_columns,
    add_talk,
)
from .parser import MOST_POINTS, Parser, on_disk, threads

if TYPE_CHECKING:
    from ..points.clusters.parameters import Parameter


DEFAULT_METRIC = "euclidean"
ID_FILE = (
    "a line each (.txt), or a table (.csv, .tsv, .parquet, .arrow) with their column"
)
# What the help of a parameter's option says besides its effect.
MORE_HELP = {
    "min_samples": " (default: --min-cluster-size)",
    "store_centers": "; the cluster file has them",
}


def add_source(parser: Parser, optional: bool = False) -> None:
    """Add the points that a command reads: a file or an example."""
    parser.add_argument(
        "points",
        nargs="?" if optional else None,
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


def add_points(
    parser: Parser, output: str, pictures: Sequence[str], optional: bool = False
) -> None:
    """Add the points, the outputs and the options of the search.

    POINTS may be left out if they are `optional`.
    """
    add_source(parser, optional)
    add_overwrite(parser)
    add_outputs(parser, output)
    add_file(
        parser,
        "--forest",
        "also write the minimum spanning forest, .h5, which verify proves, or a table, "
        ".csv or .tsv",
    )
    add_plot(parser, pictures)
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="euclidean, manhattan, chebyshev, cosine, correlation, haversine of "
        "latitude and longitude in radians; or, comparing all pairs of points, hamming "
        "or jaccard of categorical rows, alleles or allele_shares (number or share of "
        "loci that differ) of a table of alleles, minkowski, seuclidean, mahalanobis, "
        "sqeuclidean, braycurtis, canberra, and of binary rows dice, rogerstanimoto, "
        "russellrao, sokalsneath, yule; or precomputed: POINTS is a matrix of "
        f"distances, with or without names (default: {DEFAULT_METRIC})",
    )
    add_from(parser, "POINTS")
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
        help="hamming and alleles: leave columns with a missing entry out (default), "
        "or count them as equal or as different",
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


def add_parameter(parser: Parser, parameter: "Parameter", more: str = "") -> None:
    """Add the option of a parameter, with its help and `more`."""
    option = "--" + parameter.name.replace("_", "-")
    text = parameter.effect + more
    if parameter.kind is bool:
        add_flag(parser, option, text)
    elif parameter.kind is str:
        parser.add_argument(
            option, choices=parameter.choices, default=parameter.default, help=text
        )
    else:
        number = whole if parameter.kind is int else real
        parser.add_argument(
            option,
            type=number(parameter.least, parameter.most),
            default=parameter.default,
            metavar="N" if parameter.kind is int else "X",
            help=text,
        )


# The parameters of clusters in a service; others have their defaults
SERVED = (
    "min_cluster_size", "min_samples", "cluster_selection_method",
    "cluster_selection_epsilon", "cluster_selection_epsilon_max",
    "cluster_selection_persistence", "allow_single_cluster", "max_cluster_size",
)  # fmt: skip


def add_default(parser: "argparse.ArgumentParser") -> None:
    """Add `--default`, for commands where a parameter that is not given stays."""
    parser.add_argument(
        "--default",
        action="append",
        type=lambda word: word.replace("-", "_"),
        choices=SERVED,
        metavar="NAME",
        help="give this parameter its default again, such as min_samples; more than "
        "once for several",
    )


def given_parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that are given, also by `--default`; see `SERVED`."""
    from ..points.clusters.parameters import PARAMETERS

    values = {name: getattr(arguments, name) for name in SERVED}
    given = {name: value for name, value in values.items() if value is not None}
    defaults = {name: PARAMETERS[name].default for name in arguments.default or ()}
    for name in given.keys() & defaults:
        option = name.replace("_", "-")
        raise ConfigError(f"give --{option} or --default {option}, but not both")
    return given | defaults


def add_served_points(parser: Parser) -> None:
    """Add the part of a file, the metric and the parameters of points in a service."""
    from ..points.clusters.parameters import PARAMETERS

    add_point_columns(parser)
    parser.add_argument(
        "--metric",
        default=DEFAULT_METRIC,
        metavar="NAME",
        help="distance between points: euclidean, manhattan, chebyshev, cosine, "
        "correlation, or haversine of latitude and longitude in radians",
    )
    for name in SERVED:
        add_parameter(parser, PARAMETERS[name], MORE_HELP.get(name, ""))
    others = {n: p.default for n, p in PARAMETERS.items() if n not in SERVED}
    parser.set_defaults(**others)


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


def settle_metric(arguments: argparse.Namespace) -> None:
    """Replace the metric by its first name, and set its parameters.

    Raises ConfigError if no such metric is offered on the command line, or it takes
    none of the parameters.
    """
    from ..host.errors import ConfigError
    from ..points.metrics import METRICS
    from ..points.pairwise_forest import ALIASES, ALL_PAIRS, simplified
    from ..points.search.search_choice import check_search

    given: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("from", "missing", "missing_rule", "p")
        if getattr(arguments, name) is not None
    }
    metric = arguments.metric or DEFAULT_METRIC
    metric = ALIASES.get(metric, metric)
    offered = (*METRICS, *ALL_PAIRS, "precomputed")
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


def _variances(text: str, metric: str) -> list[float] | list[list[float]]:
    """Return the variances of seuclidean, or the covariance of mahalanobis."""
    import numpy as np

    from ..host.errors import ConfigError
    from ..io.formats.point_tables import is_point_file
    from ..points.point_files import read_point_table

    file = Path(text)
    values = (
        read_point_table(file).points
        if is_point_file(file)
        else np.array(_numbers("V", text))
    )
    if metric != "mahalanobis":
        return values.ravel().tolist()
    side = math.isqrt(values.size)
    if side * side != values.size:
        raise ConfigError(f"--V {text}: mahalanobis takes a square matrix, row by row")
    return values.reshape(side, side).tolist()
