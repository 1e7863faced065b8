"""Pictures of clusters as files: one picture, all of them, or a page with the facts."""

from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path

import numpy as np

from ..host.errors import optional
from ..host.formatting import counted
from ..io.atomic_output import AtomicOutput, write_picture_file
from ..io.output_kinds import PICTURE, check_ending
from ..points.clusters.cluster_pictures import KINDS, ClusterPictures
from ..points.clusters.density import clusters_by_label
from .page import figure_of, html_page, svg_of, table_of

ALL = "all"
HEADINGS = {
    "clusters": "Clusters",
    "condensed": "Condensed tree",
    "dendrogram": "Dendrogram",
    "reachability": "Reachability",
}
SIZES = {
    "clusters": (8.5, 7),
    "condensed": (9, 6.5),
    "dendrogram": (12, 5.5),
    "reachability": (12, 4.5),
}
PIXELS_PER_INCH = 150
MOST_ROWS = 200  # clusters that the table of a page lists


def write_cluster_pictures(
    pictures: ClusterPictures, path: Path, kind: str | None, files: AtomicOutput
) -> None:
    """Write a picture as .png, .svg or .pdf, or a page of all, .html.

    `kind` is one of `KINDS`, or "all"; by default the first that can be drawn. Raises
    ConfigError if data that the picture needs are missing, or the suffix is unknown;
    OutputError if the file cannot be written; MissingExtraError if Matplotlib is not
    installed.
    """
    check_ending(path, PICTURE)
    if path.suffix == ".html":
        with files.file(path, PICTURE) as temporary:
            temporary.write_text(_page(pictures), encoding="utf-8")
        return
    kind = kind or pictures.kinds[0]
    if kind != ALL:
        pictures.check(kind)
    shown = pictures.kinds if kind == ALL else (kind,)
    if len(shown) == 1:
        figure = figure_of(*SIZES[kind])
        pictures.draw(kind, figure.add_subplot())
    else:
        mosaic = [[each] * 2 for each in shown]
        if len(shown) == len(KINDS):
            mosaic = [["clusters", "condensed"], ["dendrogram"] * 2]
            mosaic.append(["reachability"] * 2)
        figure = figure_of(16, 5.2 * len(mosaic))
        heights = [1.5, 1, 0.8][-len(mosaic) :]
        grid = figure.subplot_mosaic(mosaic, height_ratios=heights)
        for each in shown:
            pictures.draw(each, grid[each])
    write_picture_file(figure, files, path, PICTURE, dpi=PIXELS_PER_INCH)


def _page(pictures: ClusterPictures) -> str:
    """Return the page of all pictures, the facts and the clusters."""
    optional("matplotlib", "plot")
    charts = {
        kind: svg_of(*SIZES[kind], partial(pictures.draw, kind))
        for kind in pictures.kinds
    }
    sections = [
        f'<h2>{HEADINGS[kind]}</h2><div class="wide">{chart}</div>'
        for kind, chart in charts.items()
    ]
    body = table_of(pictures.facts) + "".join(sections) + _cluster_table(pictures)
    return html_page(_title(pictures), body)


def _title(pictures: ClusterPictures) -> str:
    title = f"{pictures.source}: {counted(len(pictures.linkage) + 1, 'point')}"
    if pictures.labels is not None:
        clusters = counted(int(pictures.labels.max(initial=-1)) + 1, "cluster")
        title += f", {clusters}, {int((pictures.labels < 0).sum()):,} noise"
    return title


def _cluster_table(pictures: ClusterPictures) -> str:
    """Return a table of the largest clusters."""
    labels = pictures.labels
    if labels is None or labels.max(initial=-1) < 0:
        return ""
    columns: dict[str, Callable[[int], str]] = {}
    sizes = np.bincount(labels[labels >= 0])
    columns["label"] = str
    columns["points"] = lambda label: f"{sizes[label]:,}"
    persistence = pictures.persistence
    if persistence is not None:
        columns["persistence"] = lambda label: f"{persistence[label]:.3f}"
    if pictures.tree is not None and pictures.chosen is not None:
        tree = pictures.tree
        cluster = clusters_by_label(tree, pictures.chosen, labels)
        columns["born at distance"] = lambda label: f"{tree.birth[cluster[label]]:.4g}"
        columns["ends at distance"] = lambda label: f"{tree.death[cluster[label]]:.4g}"
    largest = np.argsort(-sizes, kind="stable")[:MOST_ROWS].tolist()
    head = "".join(f'<th class="number">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="number">{escape(text(label))}</td>'
            for text in columns.values()
        )
        + "</tr>"
        for label in largest
    )
    more = len(sizes) - len(largest)
    rest = f"<p>and {counted(more, 'smaller cluster')}</p>" if more else ""
    return f"<h2>Sizes</h2><table><tr>{head}</tr>{body}</table>{rest}"
