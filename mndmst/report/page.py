"""One self-contained page of a run, or the same charts as one picture.

The page fetches nothing and has no scripts: the charts are SVG inside the HTML.
"""

import io
from collections.abc import Callable, Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..api.forest import Forest
from ..host import __version__
from ..host.errors import optional
from ..host.formatting import counted, size_text
from ..io.atomic_output import AtomicOutput, write_picture_file
from ..io.output_kinds import CREATOR, PAGE
from . import draw
from .advice import advice
from .record import Record, command, meanings, options, stage_rows

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; margin: 2em auto;
  max-width: 1100px; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
.advice { background: #fff6e5; border-left: 4px solid #e6842a; padding: .5em 1em;
  margin-bottom: 1em }
.advice p { margin: .2em 0 }
table { border-collapse: collapse } td, th { padding: .15em 1.2em .15em 0 }
td { overflow-wrap: anywhere; vertical-align: top }
td:first-child { color: #666; white-space: nowrap } th { text-align: left }
.stages td:last-child { min-width: 17em }
td.number, th.number { text-align: right; white-space: nowrap }
svg { max-width: 100%; height: auto } .pair { display: flex; flex-wrap: wrap; gap: 1em }
.pair > div { flex: 1 1 340px; min-width: 0; max-width: 540px }
h3 { font-size: 1em } .wide, .stages { overflow-x: auto; margin-top: 1em }
.wide svg { min-width: 640px } .small-window { display: none }
.merges td:first-child { color: inherit }
.merges .number { white-space: normal }
@media (max-width: 640px) {
  body { margin: 1em auto; padding: 0 .7em }
  .large-window { display: none } .small-window { display: block }
  td, th { padding-right: .7em }
  .stages tr:first-child { display: none }
  .stages tr { display: block; padding: .5em 0; border-top: 1px solid #ddd }
  .stages td, .stages td.number { display: inline-block; padding: 0 .8em 0 0 }
  .stages td:first-child { display: block; color: #222; font-weight: 600 }
  .stages td:last-child { display: block; min-width: 0 }
  .stages td.number::before { content: attr(data-name) " "; color: #666 }
}
"""


def write_page(
    records: list[Record], path: Path, files: AtomicOutput, forest: Forest | None = None
) -> None:
    """Write the page of the first run, with the scaling of all of them.

    `forest` is that of the first run, for a section about it. Raises OutputError if the
    page cannot be written; MissingExtraError if Matplotlib is not installed.
    """
    record = records[0]
    ranks = min(len(record["ranks"]), draw.SHOWN_RANKS)
    begins = dict.fromkeys((0.0, draw.end_of_start(record)))
    charts = [*(_time_line(record, begin, 1.7 + 0.42 * ranks) for begin in begins)]
    charts += [
        pair_of(
            svg_of(5.4, 1.6 + 0.25 * ranks, lambda axes: draw.shares(axes, record)),
            svg_of(5.4, 1.6 + 0.25 * ranks, lambda axes: draw.memory(axes, record)),
        )
    ]
    small = [svg_of(5.4, 4.2, lambda axes: draw.edges_left(axes, record))]
    if any(row.bytes_sent for row in stage_rows(record)):
        small.append(svg_of(5.4, 4.2, lambda axes: draw.bytes_sent(axes, record)))
    if len(records) > 1:
        small.append(svg_of(5.4, 4.2, lambda axes: draw.scaling(axes, records)))
    charts.append(pair_of(*small))
    body = (
        f"{_advice(record)}{_facts(record)}"
        f"{''.join(charts)}<h2>Stages</h2>{_stages(record)}"
        f"{'' if forest is None else _forest(forest)}"
        f"<h2>Options and versions</h2>{table_of(options(record))}"
        f"<br>{table_of(_software(record))}"
    )
    with files.file(path, PAGE) as temporary:
        page = html_page(_title(record), body)
        temporary.write_text(page, encoding="utf-8")


def html_page(title: str, body: str) -> str:
    """Return an HTML page with a title and a body."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="generator" content="{CREATOR}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1>{body}<p>mndmst {__version__}</p></body></html>\n"
    )


def write_picture(records: list[Record], path: Path, files: AtomicOutput) -> None:
    """Write the charts as one .png, .svg or .pdf; see `write_page`."""
    record = records[0]
    begins = list(dict.fromkeys((0.0, draw.end_of_start(record))))
    lines = [[f"time {begin}"] * 2 for begin in begins]
    figure = figure_of(14, 8 + 3 * len(lines))
    grid = figure.subplot_mosaic([*lines, ["share", "edges"], ["mem", "sent"]])
    for begin, line in zip(begins, lines, strict=True):
        draw.timeline(grid[line[0]], record, begin)
    draw.shares(grid["share"], record)
    draw.edges_left(grid["edges"], record)
    if len(records) > 1:
        draw.scaling(grid["mem"], records)
    else:
        draw.memory(grid["mem"], record)
    draw.bytes_sent(grid["sent"], record)
    figure.suptitle("\n".join([_title(record), *advice(record)]))
    write_picture_file(figure, files, path, PAGE, dpi=130)


def _title(record: Record) -> str:
    edges, vertices = record.get("num_edges", 0), record.get("num_vertices", 0)
    ranks = counted(record["num_ranks"], "rank")
    return (
        f"{counted(vertices, 'vertex')}, {counted(edges, 'edge')}, {ranks}: "
        f"{record['seconds']:.2f} s"
    )


def _facts(record: Record) -> str:
    hosts = sorted({rank["host"] for rank in record["ranks"]})
    processors = sorted({r["processor"] for r in record["ranks"] if "processor" in r})
    memory = sorted({r["memory_bytes"] for r in record["ranks"] if "memory_bytes" in r})
    devices = sorted({d for rank in record["ranks"] for d in rank.get("devices", ())})
    results = {}
    if "forest_edges" in record:
        edges = counted(record["forest_edges"], "edge")
        trees = counted(record["trees"], "tree")
        results["forest"] = f"{edges}, {trees}, weight {record['weight']}"
    if "components" in record:
        largest = counted(record["largest"], "vertex")
        results["components"] = f"{record['components']:,}, the largest of {largest}"
    return table_of(
        results
        | {
            "digest": record.get("digest", ""),
            "hosts": ", ".join(hosts),
            "processors": ", ".join(processors),
            "memory of a host": ", ".join(map(size_text, memory)),
            "devices": ", ".join(devices),
            "strategy": record["ranks"][0].get("strategy", {}).get("name", ""),
            "command": command(record),
            "date": record.get("date", ""),
        }
    )


def _software(record: Record) -> dict[str, str]:
    """Return the packages of a run, its commit, its MPI and its system."""
    others = {key: record.get(key, "") for key in ("commit", "mpi", "system")}
    return record.get("versions", {}) | others


def _advice(record: Record) -> str:
    lines = (f"<p>{escape(line)}</p>" for line in advice(record))
    return f'<div class="advice">{"".join(lines)}</div>'


def _stages(record: Record) -> str:
    names = ("stage", "least s", "mean s", "most s", "MB sent", "what happens")
    kinds = ("", *["number"] * 4, "")
    rows = [
        (row.name, *(f"{number:.3f}" for number in row[1:4]),
         f"{row.bytes_sent / 1e6:.2f}", meanings().get(row.name, ""))
        for row in stage_rows(record)
    ]  # fmt: skip

    def cells(tag: str, values: Iterable[str]) -> str:
        return "".join(
            f'<{tag} class="{kind}" data-name="{name}">{escape(value)}</{tag}>'
            for name, kind, value in zip(names, kinds, values, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<tr>{cells('th', names)}</tr>"
    return f'<div class="stages"><table>{head}{body}</table></div>'


def _forest(forest: Forest) -> str:
    """Return the section about the forest: charts, and the largest merges."""
    merges = draw.Merges.of(forest)
    charts = [
        svg_of(5.4, 3.2, lambda axes: draw.weights(axes, forest)),
        svg_of(5.4, 3.2, lambda axes: draw.tree_sizes(axes, forest)),
        svg_of(5.4, 3.2, lambda axes: draw.degrees(axes, forest)),
    ]
    if len(forest):
        growth = svg_of(5.4, 3.2, lambda axes: draw.growth(axes, merges))
        charts.append(growth)
    text = f"<h2>The forest</h2>{pair_of(*charts[:2])}{pair_of(*charts[2:])}"
    shown = merges.largest()
    if not len(shown):
        return text
    head = "".join(
        f'<th class="number">{name}</th>'
        for name in ("weight", "smaller part", "larger part")
    )
    rows = "".join(
        f'<tr><td class="number">{merges.weight[n]:.6g}</td>'
        f'<td class="number">{merges.smaller[n]:,}</td>'
        f'<td class="number">{merges.larger[n]:,}</td></tr>'
        for n in shown.tolist()
    )
    way = "descending" if merges.maximum else "ascending"
    return (
        f"{text}<h3>Largest merges, by {way} weight</h3>"
        f'<table class="merges"><tr>{head}</tr>{rows}</table>'
    )


def _time_line(record: Record, begin: float, height: float) -> str:
    """Return a time line twice, of which the page shows what fits the window."""
    charts = {
        kind: svg_of(width, height, lambda axes: draw.timeline(axes, record, begin))
        for kind, width in (("large", 11), ("small", 5.4))
    }
    return "".join(
        f'<div class="{kind}-window">{svg}</div>' for kind, svg in charts.items()
    )


def table_of(facts: Mapping[str, object]) -> str:
    """Return facts as a table of HTML, without the empty ones."""
    rows = (
        f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
        if value != ""
    )
    return f"<table>{''.join(rows)}</table>"


def pair_of(*charts: str) -> str:
    """Put charts side by side, where a window is wide enough."""
    return (
        f'<div class="pair">{"".join(f"<div>{chart}</div>" for chart in charts)}</div>'
    )


def figure_of(width: float, height: float) -> Any:
    """Return a Matplotlib figure of some inches."""
    figure = optional("matplotlib.figure", "plot").Figure
    return figure(figsize=(width, height), layout="constrained")


def svg_of(width: float, height: float, chart: Callable[[Any], object]) -> str:
    """Return a chart as an SVG element; width and height are inches."""
    figure = figure_of(width, height)
    chart(figure.add_subplot())
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()[stream.getvalue().index("<svg") :]
