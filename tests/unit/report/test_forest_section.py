"""The section of a report page about the forest: distributions, and largest merges."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from graphs import Graph, write_graph
from processes import command, without_first_uses

pytest.importorskip("matplotlib", reason="needs matplotlib")

import mndmst
from mndmst.report import draw
from mndmst.report.draw import Merges
from mndmst.report.page import svg_of

# Two squares of weights 1 to 3, joined by an edge of weight 9; vertex 8 is alone.
SRC = np.array([0, 1, 2, 0, 4, 5, 6, 4, 3])
DST = np.array([1, 2, 3, 3, 5, 6, 7, 7, 4])
WEIGHT = np.array([1, 2, 3, 8, 1, 2, 3, 8, 9])


def test_merges_are_by_weight_with_the_sizes_of_both_parts() -> None:
    merges = Merges.of(mndmst.minimum_spanning_forest(SRC, DST, WEIGHT, num_vertices=9))
    assert merges.weight.tolist() == [1, 1, 2, 2, 3, 3, 9]
    assert merges.smaller.tolist() == [1, 1, 1, 1, 1, 1, 4]
    assert merges.larger.tolist() == [1, 1, 2, 2, 3, 3, 4]
    assert merges.largest().tolist() == [6]  # a vertex alone is no part worth a row


def test_a_forest_without_edges_has_no_merges() -> None:
    none = np.zeros(0, np.int64)
    merges = Merges.of(mndmst.minimum_spanning_forest(none, none, none, num_vertices=3))
    assert len(merges.weight) == len(merges.largest()) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("no_formulas")
@pytest.mark.parametrize("n", [3, 30, 3000])
def test_charts_need_no_fonts_for_formulas(n: int) -> None:
    src, dst = np.random.default_rng(1).integers(0, n, (2, n))
    forest = mndmst.minimum_spanning_forest(src, dst, src + dst, num_vertices=n)
    merges = Merges.of(forest)
    for chart in (draw.weights, draw.tree_sizes, draw.degrees):
        assert "<svg" in svg_of(4, 3, lambda axes, chart=chart: chart(axes, forest))
    assert "<svg" in svg_of(4, 3, lambda axes: draw.growth(axes, merges))


def status_and_errors(*words: object) -> tuple[int, str]:
    done = command(*words)
    return done.returncode, without_first_uses(done.stderr)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Solve a graph; return the folder of its report r.json and its forest f.h5."""
    graph, forest = tmp_path / "g", tmp_path / "f.h5"
    write_graph(graph, Graph(9, SRC, DST, WEIGHT.astype(np.int32)))
    report = ("--report", tmp_path / "r.json")
    assert status_and_errors("solve", graph, "-o", forest, *report, "-q") == (0, "")
    return tmp_path


def report(folder: Path, page: str, forest: str) -> tuple[int, str]:
    files = ("-o", folder / page, "--forest", folder / forest)
    return status_and_errors("report", folder / "r.json", *files)


@pytest.mark.slow
def test_the_page_shows_the_forest_of_its_run(run: Path) -> None:
    assert report(run, "p.html", "f.h5") == (0, "")
    text = (run / "p.html").read_text()
    section = text[text.index("<h2>The forest</h2>") : text.index("<h2>Options")]
    assert section.count("<svg") == 4 and "<script" not in section
    for chart in re.findall(r"<svg.*?</svg>", section, re.S):
        ElementTree.fromstring(chart)
    cells = re.findall(r'<td class="number">(.*?)</td>', section)
    assert cells == ["9", "4", "4"]  # the edge between the squares is the only merge


@pytest.mark.slow
def test_the_forest_of_another_run_is_refused(run: Path) -> None:
    forest = mndmst.minimum_spanning_forest(SRC, DST, WEIGHT + 1, num_vertices=9)
    forest.write(run / "other.h5")
    code, told = report(run, "p.html", "other.h5")
    assert code == 1 and "Give the forest of that run." in told, told
    code, told = report(run, "p.png", "f.h5")
    assert code == 1 and "--forest goes with a page" in told, told


def test_merges_of_a_maximum_forest_have_its_weights_from_the_heaviest_down() -> None:
    forest = mndmst.minimum_spanning_forest(
        SRC, DST, WEIGHT, num_vertices=9, maximum=True
    )
    merges = Merges.of(forest)
    assert merges.maximum
    assert merges.weight.tolist() == sorted(forest.weight.tolist(), reverse=True)
    mirrored = Merges.of(
        mndmst.minimum_spanning_forest(SRC, DST, -np.array(WEIGHT), num_vertices=9)
    )
    assert merges.smaller.tolist() == mirrored.smaller.tolist()
    assert merges.larger.tolist() == mirrored.larger.tolist()
