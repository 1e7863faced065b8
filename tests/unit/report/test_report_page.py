"""Reports as pages, pictures and traces; what they show is what the JSON says."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib")

from mndmst.host.errors import InputError
from mndmst.io.whole_file import WholeFiles
from mndmst.report import draw
from mndmst.report.page import write_page, write_picture
from mndmst.report.record import read_record, solve_seconds, stage_name, totals
from mndmst.report.trace import write_trace


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
    with WholeFiles() as files:
        write_page([run(), run(1, 2.5)], page, files)
    text = page.read_text()
    assert "<script" not in text
    assert not re.search(r'(src|href)="(?!#)', text.replace("xlink:", ""))
    assert "&lt;graph&gt;" in text and "node&lt;1&gt;" in text
    assert text.count("<svg") == 6
    for chart in re.findall(r"<svg.*?</svg>", text, re.S):
        ElementTree.fromstring(chart)
    assert "5,000" in text


def test_numbers_of_the_charts() -> None:
    record = run()
    assert totals(record, "bytes_sent")["ring"] == 3000
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
    with WholeFiles() as files:
        write_picture([run(), run(1)], picture, files)
    assert picture.stat().st_size > 10_000


def test_trace_has_stages_and_devices(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    with WholeFiles() as files:
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
    assert "5,184 vertices" in page.read_text()
    wrong = mndmst("report", record, "-o", tmp_path / "run.doc")
    assert wrong.returncode == 1
    assert "run.doc" in wrong.stderr
