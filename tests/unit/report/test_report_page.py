"""Reports as pages, pictures and traces; what they show is what the JSON says."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib")

from mndmst.host.errors import InputError
from mndmst.host.formatting import size_text
from mndmst.io.atomic_output import AtomicOutput
from mndmst.report import draw
from mndmst.report.page import write_page, write_picture
from mndmst.report.record import (
    read_record,
    solve_seconds,
    stage_name,
    stage_rows,
    write_trace,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_formulas")]


def run(ranks: int = 3, scale: float = 1.0) -> dict[str, Any]:
    def stage(name: str, begin: float, seconds: float, **more: Any) -> dict[str, Any]:
        numbers = {"bytes_sent": 1000, "messages": 2, "edges_sent": 5}
        return (
            {"stage": name, "begin": begin, "seconds": seconds * scale} | numbers | more
        )

    def rank(number: int) -> dict[str, Any]:
        work = [
            {"device": "NVIDIA H200 (0)", "begin": 1.2, "end": 1.9},
            {"device": "cpu, 4 threads", "begin": 1.2, "end": 2.0},
        ]
        return {
            "rank": number,
            "host": "node<1>",
            "peak_bytes": (200 + number) << 20,
            "devices": ["cpu, 4 threads"],
            "stages": [
                stage("start", 0, 1),
                stage("read", 1, 0.2),
                stage("indComp", 1.2, 0.8, work=work),
                stage("ring", 2.0, 0.5, round=2, seconds_waited=0.1),
                stage("write", 2.5, 0.1),
            ],
        }

    return {
        "schema": 1,
        "command": ["mndmst", "solve", "<graph>"],
        "versions": {"mndmst": "0"},
        "num_ranks": ranks,
        "seconds": 2.6,
        "levels": [{"after": "read", "edges": 5000}, {"after": "ring", "edges": 0}],
        "ranks": [rank(number) for number in range(ranks)],
        "config": {"memory": 1 << 30},
        "num_vertices": 1000,
        "num_edges": 5000,
        "weight": 7,
        "digest": "abc",
    }


def test_page_needs_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    with AtomicOutput() as files:
        write_page([run(), run(1, 2.5)], page, files)
    text = page.read_text()
    assert "<script" not in text
    assert not re.search(r'(src|href)="(?!#)', text.replace("xlink:", ""))
    assert "&lt;graph&gt;" in text and "node&lt;1&gt;" in text
    # Two time lines, since the start takes most of the run, each for two widths;
    # five more
    assert text.count("<svg") == 9
    assert text.count("What the ranks did, after the start") == 2
    for chart in re.findall(r"<svg.*?</svg>", text, re.S):
        ElementTree.fromstring(chart)
    assert "5,000" in text


def test_stages_are_readable_on_a_narrow_screen(tmp_path: Path) -> None:
    """Below 640 pixels each stage is a block, its figures named, not a wide row."""
    page = tmp_path / "report.html"
    with AtomicOutput() as files:
        write_page([run()], page, files)
    text = page.read_text()
    narrow = text[text.index("@media (max-width: 640px)") :]
    assert ".stages tr { display: block" in narrow and "min-width: 0" in narrow
    assert re.search(r'<td class="number" data-name="mean s">[0-9.]+</td>', text)


def test_page_is_in_words_that_can_be_used(tmp_path: Path) -> None:
    record = run()
    record["command"] = ["/home/me/mndmst/__main__.py", "solve", "my graph"]
    record["config"] = {"memory": 0, "ratio": None, "timeout": 0, "group_size": 4}
    page = tmp_path / "report.html"
    with AtomicOutput() as files:
        write_page([record], page, files)
    text = page.read_text()
    assert "mpirun -n 3 python -m mndmst solve &#x27;my graph&#x27;" in text
    assert "/home/me" not in text
    rows = re.findall(r"<tr><td>(--[\w -]+)</td><td>([^<]*)</td></tr>", text)
    assert rows == [
        ("--memory", "auto"),
        ("--ratio", "auto"),
        ("--timeout", "none"),
        ("--set group_size", "4"),
    ]
    assert "every device contracts its part up to the border" in text
    assert "38 % of the time was start-up" in text


def test_a_page_has_only_charts_with_something_in_them(tmp_path: Path) -> None:
    record = run(1) | {"components": 7, "largest": 900, "num_ranks": 1}
    for entry in record["ranks"][0]["stages"]:
        entry["bytes_sent"] = 0
    page = tmp_path / "report.html"
    with AtomicOutput() as files:
        write_page([record], page, files)
    text = page.read_text()
    assert "Sent between ranks" not in text and text.count("<svg") == 7
    assert "7, the largest of 900 vertices" in text and "<td>forest</td>" not in text


def test_the_time_line_has_the_whole_run() -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    draw.timeline(axes, record := run())
    assert axes.get_xlim() == (0, 2.6)
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {
        *("start", "read", "compute", "merge", "write", "GPU works", "CPU works")
    }
    later = Figure().add_subplot()
    draw.timeline(later, record, draw.end_of_start(record))
    assert later.get_xlim() == (1, 2.6)
    assert "start" not in {t.get_text() for t in later.get_legend().get_texts()}
    record["seconds"] = 10
    assert draw.end_of_start(record) == 0


def test_portions_of_the_edges_have_their_colours() -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    record = run() | {
        "levels": [
            {"after": "read", "edges": 900},
            {"after": "hook", "edges": 40, "portion": "band 0"},
            {"after": "heavier", "edges": 70, "portion": "heavier"},
            {"after": "level 1", "edges": 0, "portion": "heavier"},
        ]
    }
    draw.edges_left(axes, record)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["all edges", "band 0", "heavier"]
    colours = [bar.get_facecolor() for bar in axes.patches]
    assert colours[2] == colours[3] and len(set(colours)) == 3


@pytest.mark.parametrize("width", [5.4, 11])
def test_legends_cover_nothing(width: float) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for chart in (draw.timeline, draw.shares, draw.edges_left, draw.memory):
        figure = Figure(figsize=(width, 3), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        chart(axes, run())
        figure.draw_without_rendering()
        legend = axes.get_legend().get_window_extent()
        for other in (axes, axes.xaxis.label, *axes.get_xticklabels()):
            assert not legend.overlaps(other.get_window_extent()), (chart, other)
        assert figure.bbox.y0 <= legend.y0


def test_numbers_of_the_charts() -> None:
    record = run()
    sent = {row.name: row.bytes_sent for row in stage_rows(record)}
    assert sent["ring"] == 3000
    assert solve_seconds(record) == pytest.approx(1.3)
    assert stage_name({"stage": "ring", "round": 2}) == "ring 2"


def test_scaling_takes_the_best_of_equal_runs() -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    draw.scaling(axes, [run(4), run(4, 0.5), run(1, 3)])
    ranks, seconds = axes.lines[0].get_data()
    assert list(ranks) == [1, 4]
    assert list(seconds) == pytest.approx([3.9, 0.65])


def test_memory_shows_the_limit() -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    draw.memory(axes, run())
    assert [bar.get_width() for bar in axes.patches] == [200, 201, 202]
    assert axes.lines[0].get_xdata()[0] == 1024


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_picture(tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"run{suffix}"
    with AtomicOutput() as files:
        write_picture([run(), run(1)], picture, files)
    assert picture.stat().st_size > 10_000


def test_trace_has_stages_and_devices(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    with AtomicOutput() as files:
        write_trace(run(2), trace, files)
    events = json.loads(trace.read_text())["traceEvents"]
    ring = [e for e in events if e["ph"] == "X" and e["name"] == "ring 2"]
    assert [(e["pid"], e["ts"], e["dur"]) for e in ring] == [
        (0, 2e6, 5e5),
        (1, 2e6, 5e5),
    ]
    threads = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert threads == {"stages", "NVIDIA H200 (0)", "cpu"}


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"schema": 99}'])
def test_no_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"run\.json"):
        read_record(path)


def test_of_a_real_run(mndmst, tmp_path: Path) -> None:
    record, page = tmp_path / "run.json", tmp_path / "run.html"
    assert mndmst("solve", "partitions/demo", "-q", "--report", record).returncode == 0
    done = mndmst("report", record, "-o", page, "--trace", tmp_path / "trace.json")
    assert done.returncode == 0, done.stderr
    text, made = page.read_text(), json.loads(record.read_text())
    assert "5,184 vertices" in text
    for fact in ("date", "system", "mpi"):
        assert escape(made[fact]) in text
    assert escape(made["ranks"][0]["processor"]) in text
    assert size_text(made["ranks"][0]["memory_bytes"]) in text
    assert made["commit"] in text
    wrong = mndmst("report", record, "-o", tmp_path / "run.doc")
    assert wrong.returncode == 1
    assert "run.doc" in wrong.stderr
