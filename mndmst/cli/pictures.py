"""The commands `draw` and `report`: pictures of a forest and of a run."""

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import ConfigError, InputError, optional
from ..host.formatting import counted
from ..host.progress import notice
from ..report.forest_layout import LAYOUTS
from ..report.forest_picture import MOST_LABELS
from .options import (
    add_file,
    add_flag,
    add_moved_graph,
    add_output,
    add_overwrite,
    add_point_columns,
    add_quiet,
    read_noted_points,
    terminal_stages,
)
from .parser import Commands, on_disk

if TYPE_CHECKING:
    import numpy as np

    from ..api.forest import Forest
    from ..io.atomic_output import AtomicOutput
    from ..io.names import NameSource
    from ..points.point_files import PointTable
    from ..report.forest_picture import PlacedForest
    from ..report.record import Record


def add_draw(commands: Commands) -> None:
    """Add the command to the parser."""
    draw = commands.add_parser(
        "draw",
        help="draw a forest as a picture, or as GeoJSON for maps",
        description="Draw the edges of a forest in the colours of their weights, at "
        "the positions of points or in a layout of the trees. A forest of more than "
        "1,000,000 edges becomes an image whose pixels show mean weights. One process.",
    )
    draw.add_argument("forest", type=Path, help="forest file, from solve")
    add_output(
        draw,
        "picture, .png, .svg or .pdf; or .geojson, for points that are longitude "
        "and latitude",
        required=True,
    )
    where = draw.add_mutually_exclusive_group()
    where.add_argument(
        "--points",
        type=on_disk,
        metavar="FILE",
        help="positions of the vertices, a row each, in a format that hdbscan reads; "
        "of more than two dimensions, the first two principal components",
    )
    where.add_argument(
        "--layout",
        choices=LAYOUTS,
        help="positions without points: roots in centres, tree with leaves in a row, "
        "or springs, for small forests (default: radial)",
    )
    add_flag(
        draw, "--labels", f"write the names of the vertices, at most {MOST_LABELS}"
    )
    add_moved_graph(draw)
    add_flag(
        draw,
        "--numbers",
        "use vertex numbers instead of names: row 0 of the points is vertex 0",
    )
    add_overwrite(draw)
    add_point_columns(draw)
    add_quiet(draw)
    draw.set_defaults(process=_draw, one_process=True)


def _draw(arguments: argparse.Namespace) -> int:
    from ..io.atomic_output import check_outputs
    from ..io.output_kinds import FOREST_PICTURE
    from ..report.draw_forest import write_drawing

    inputs = arguments.forest, arguments.points, arguments.graph
    outputs = [(arguments.output, FOREST_PICTURE)]
    check_outputs(inputs, outputs, overwrite=arguments.overwrite)
    is_map = arguments.output.suffix == ".geojson"
    _check_options(arguments, is_map)
    if not is_map:
        optional("matplotlib", "plot")  # missing: say so before any work
    names = _names(arguments)
    with terminal_stages(arguments.quiet) as progress:
        progress.stage(f"reading {arguments.forest}")
        placed = _placed(arguments, names, is_map)
        forest = placed.forest
        labels = None
        if arguments.labels:
            every = range(forest.num_vertices)
            labels = list(map(str, every))
            if names is not None:
                labels = names.take(slice(None)).texts()
        progress.stage(f"drawing {arguments.output}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", "Glyph .* missing from font")
            write_drawing(
                placed,
                arguments.output,
                labels,
                lambda v: v.tolist() if names is None else names.take(v).values(),
                arguments.overwrite,
            )
        lacking = any("missing from font" in str(one.message) for one in caught)
        if lacking and not arguments.quiet:
            notice(
                f"{arguments.output}: the font has no picture of some letters of the "
                "names, which are boxes; a font with them in Matplotlib's font.family "
                "shows them"
            )
    if not arguments.quiet:
        print(
            f"{arguments.output}: {counted(forest.num_vertices, 'vertex')}, "
            f"{counted(len(forest), 'edge')}, {counted(forest.num_trees, 'tree')}"
        )
        if placed.axis_names is not None and not is_map:
            print(f"axes: {', '.join(placed.axis_names)}")
    return 0


def _check_options(arguments: argparse.Namespace, is_map: bool) -> None:
    if is_map and arguments.points is None:
        raise ConfigError(
            f"{arguments.output}: GeoJSON needs --points with longitude and latitude; "
            "for a layout give a name in .png, .svg or .pdf"
        )
    if is_map and arguments.labels:
        raise ConfigError(
            "--labels goes with pictures; GeoJSON has the names in src and dst"
        )
    if arguments.points is None and (arguments.columns or arguments.key):
        raise ConfigError("--columns and --key go with --points; give both")


def _names(arguments: argparse.Namespace) -> "NameSource | None":
    """Return the names of the vertices, if the output or the points need them."""
    from ..io.results.graph_names import names_of_forest

    if arguments.numbers or not (arguments.labels or arguments.points):
        return None
    return names_of_forest(arguments.forest, arguments.graph)


def _placed(
    arguments: argparse.Namespace, names: "NameSource | None", is_map: bool
) -> "PlacedForest":
    """Read the forest, and position its vertices."""
    from ..api.forest import Forest
    from ..report.draw_forest import check_labels, placed_forest
    from ..report.forest_picture import check_geographic

    forest = Forest.read(arguments.forest).numbers
    points, axis_names = None, None
    if arguments.labels:
        check_labels(forest, arguments.forest)
    if arguments.points is not None:
        table = read_noted_points(arguments, arguments.points)
        points = table.points[_rows(arguments, table, forest.num_vertices, names)]
        axis_names = table.names or None
        if is_map:
            check_geographic(points, arguments.points)
    layout = arguments.layout or "radial"
    return placed_forest(forest, points, layout, arguments.forest, axis_names)


def _rows_by_id(path: Path, ids: "np.ndarray") -> dict[str, int]:
    """Return the row of each id as text; InputError if two rows have one id."""
    row_of: dict[str, int] = {}
    for row, name in enumerate(map(str, ids.tolist())):
        if row_of.setdefault(name, row) != row:
            raise InputError(
                f"{path}: rows {row_of[name]} and {row} (from 0) are both of vertex "
                f"{name!r}. Leave one of them out."
            )
    return row_of


def _rows(
    arguments: argparse.Namespace,
    table: "PointTable",
    count: int,
    names: "NameSource | None",
) -> "np.ndarray | slice":
    """Return the row of each vertex: that of its name or original id, or its number."""
    import numpy as np

    from ..io.names import Names
    from ..io.results.graph_names import GraphNames

    path = arguments.points
    if names is None:
        if len(table.points) != count:
            raise InputError(
                f"{path}: has {counted(len(table.points), 'point')}, and "
                f"{arguments.forest} has {counted(count, 'vertex')}. Give the points "
                "of its vertices, a row each."
            )
        ids = table.ids
        if ids is not None and np.array_equal(np.sort(ids), np.arange(count)):
            return np.argsort(ids)  # numbers of vertices
        return slice(None)
    wanted = names.take(slice(None))
    if table.ids is not None:
        row_of = _rows_by_id(path, table.ids)
    elif isinstance(names, Names) and len(table.points) == count:
        return slice(None)  # the points that the forest is of, without their ids
    elif isinstance(names, GraphNames) and names.graph.names is None:
        first = names.graph.first_id
        row_of = {str(first + row): row for row in range(len(table.points))}
    else:
        raise InputError(
            f"{path}: has no column of ids, and the vertices of {arguments.forest} "
            "have names. Add the column, or give --numbers if row 0 is vertex 0."
        )
    rows = np.array([row_of.get(name, -1) for name in wanted.texts()], np.int64)
    if (rows < 0).any():
        missing = wanted.take(np.flatnonzero(rows < 0)[:1]).texts()[0]
        raise InputError(
            f"{path}: has no point of vertex {missing!r}. Add it, or give --numbers if "
            "row 0 is vertex 0."
        )
    return rows


def add_report(commands: Commands) -> None:
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
    add_output(report, "page, .html, or picture, .png, .svg or .pdf")
    add_file(
        report,
        "--forest",
        "forest file of the first run: the page also shows its weights, trees, "
        "degrees and largest merges",
        metavar="FOREST",
    )
    add_file(
        report, "--trace", "JSON file to write for chrome://tracing or ui.perfetto.dev"
    )
    add_overwrite(report)
    report.set_defaults(process=_report, one_process=True)


def _report(arguments: argparse.Namespace) -> int:
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.output_kinds import PAGE, PICTURE, TRACE
    from ..report.record import read_record, run_table, write_trace

    of_clusters = arguments.runs[0].suffix in (".h5", ".hdf5")
    page = PICTURE if of_clusters else PAGE
    outputs = (arguments.output, page), (arguments.trace, TRACE)
    inputs = (*arguments.runs, arguments.forest)
    check_outputs(inputs, outputs, overwrite=arguments.overwrite)
    if of_clusters:
        return _draw_clusters(arguments)
    records = [read_record(path) for path in arguments.runs]
    forest = None
    if arguments.forest is not None:
        forest = _forest_of_run(arguments.forest, arguments.output, records[0])
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        if arguments.output is not None:
            _draw_run(records, arguments.output, files, forest)
        if arguments.trace is not None:
            write_trace(records[0], arguments.trace, files)
    if arguments.output is None and arguments.trace is None:
        print(run_table(records[0]))
    return 0


def _forest_of_run(path: Path, page: Path | None, record: "Record") -> "Forest":
    """Read the forest of a run for its page.

    Raises ConfigError if there is no page, or the forest is that of another run.
    """
    from ..api.forest import Forest

    if page is None or page.suffix != ".html":
        raise ConfigError("--forest goes with a page; give -o with a name in .html")
    forest = Forest.read(path).numbers
    read = forest.digest, forest.total_weight
    made = record.get("digest"), record.get("weight")
    if read != made:
        raise ConfigError(
            f"{path}: has digest {read[0]} and weight {read[1]}, and the first run "
            f"made a forest of digest {made[0]} and weight {made[1]}. Give the forest "
            "of that run."
        )
    return forest


def _draw_clusters(arguments: argparse.Namespace) -> int:
    from ..host.errors import ConfigError
    from ..io.atomic_output import AtomicOutput
    from ..io.results.clusters_file import read_dendrogram
    from ..points.clusters.cluster_pictures import ClusterPictures
    from ..points.clusters.prediction_file import StoredModel
    from ..report.cluster_page import ALL, write_cluster_pictures

    path = arguments.runs[0]
    stored = read_dendrogram(path)
    if arguments.output is None:
        raise ConfigError(f"{path}: is a cluster file. Give -o FILE for its pictures.")
    if arguments.runs[1:] or arguments.trace or arguments.forest:
        raise ConfigError(f"{path}: is a cluster file, which goes with -o alone.")
    model = StoredModel.read(path) if "dimensions" in stored.facts else None
    pictures = ClusterPictures(
        stored.linkage,
        stored.labels if model is None else model.labels,
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


def _draw_run(
    records: "list[Record]",
    path: Path,
    files: "AtomicOutput",
    forest: "Forest | None",
) -> None:
    from ..report.page import write_page, write_picture

    if path.suffix == ".html":
        write_page(records, path, files, forest)
    else:
        write_picture(records, path, files)
