"""The command `report`."""

import argparse
from pathlib import Path
from typing import Any

from .options import add_overwrite


def add_report(commands: Any) -> None:
    """Add the command to the parser."""
    report = commands.add_parser(
        "report",
        help="draw a run from the JSON of solve --report, or a cluster file",
        description="Draw the first run: stages of its ranks and work of its devices "
        "over time, remaining edges, bytes sent, memory; with several runs, also time "
        "against ranks. Without -o and --trace, print a table. Of a cluster file, draw "
        "the dendrogram and the reachability; with --prediction-data also the points "
        "and the condensed tree.",
    )
    report.add_argument(
        "runs",
        type=Path,
        nargs="+",
        metavar="RUN.json",
        help="file of solve --report, or one cluster file of hdbscan, linkage or "
        "cluster",
    )
    report.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="page, .html, or picture, .png, .svg or .pdf",
    )
    report.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="JSON file to write for chrome://tracing or ui.perfetto.dev",
    )
    add_overwrite(report)
    report.set_defaults(process=_report)


def _report(arguments: argparse.Namespace) -> int:
    from ..io.atomic_output import AtomicOutput
    from ..io.file_suffixes import PAGE, PICTURE, TRACE
    from ..io.output_checks import check_outputs
    from ..report.record import read_record

    of_clusters = arguments.runs[0].suffix in (".h5", ".hdf5")
    page = PICTURE if of_clusters else PAGE
    outputs = (arguments.output, page), (arguments.trace, TRACE)
    check_outputs(arguments.runs, outputs, overwrite=arguments.overwrite)
    if of_clusters:
        return _draw_clusters(arguments)
    records = [read_record(path) for path in arguments.runs]
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        if arguments.output is not None:
            _draw(records, arguments.output, files)
        if arguments.trace is not None:
            from ..report.trace import write_trace

            write_trace(records[0], arguments.trace, files)
    if arguments.output is None and arguments.trace is None:
        from ..run.report import text

        print(text(records[0]))
    return 0


def _draw_clusters(arguments: argparse.Namespace) -> int:
    from ..cluster.cluster_pictures import ClusterPictures
    from ..host.errors import ConfigError
    from ..io.atomic_output import AtomicOutput
    from ..io.results.clusters_file import read_dendrogram
    from ..points.prediction_file import StoredModel
    from ..report.cluster_page import ALL, write_cluster_pictures

    path = arguments.runs[0]
    if len(arguments.runs) > 1 or arguments.trace or arguments.output is None:
        raise ConfigError(
            f"{path}: a cluster file takes -o alone; give one file and -o"
        )
    stored = read_dendrogram(path)
    model = StoredModel.read(path) if "dimensions" in stored.facts else None
    pictures = ClusterPictures(
        stored.linkage,
        stored.labels,
        tree=None if model is None else model.tree,
        points=None if model is None else model.points,
        chosen=None if model is None else model.chosen,
        persistence=stored.persistence,
        source=str(path),
        facts=stored.facts,
    )
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        write_cluster_pictures(pictures, arguments.output, ALL, files)
    return 0


def _draw(records: list[Any], path: Path, files: Any) -> None:
    from ..report.page import write_page, write_picture

    write = write_page if path.suffix == ".html" else write_picture
    write(records, path, files)
