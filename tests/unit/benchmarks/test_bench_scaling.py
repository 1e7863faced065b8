"""`tests.benchmarks scaling`: what it makes of the times, and one small run of it."""

import json
from pathlib import Path

import pytest

from mndmst.host.errors import ConfigError, MndmstError
from mndmst.io.atomic_output import AtomicOutput
from tests.benchmarks import scaling
from tests.benchmarks.commands import check_files
from tests.benchmarks.scaling import (
    Point,
    ScalingPlan,
    _mixtures,
    _panel,
    block,
    disagreements,
    plot,
    run,
)

pytestmark = pytest.mark.slow


def point(ranks: int, seconds: float, series: str = "strong", **other: object) -> Point:
    """Return a point with a graph of 1000 edges, or for weak scaling for each rank."""
    edges = 1000 * (ranks if series == "weak" else 1)
    return Point(
        **{
            "graph": f"gnm-m{edges}",
            "series": series,
            "method": "auto",
            "group_size": 4,
            "ranks": ranks,
            "threads": 1,
            "num_vertices": 100,
            "num_edges": edges,
            "seconds": [99.0, seconds, 0.1],
            "rank_seconds": [seconds] * ranks,
            "cpu_seconds": ranks * seconds,
            "bytes_sent": 4000,
            "edges_sent": 25,
            "peak_bytes": 200 << 20,
            "digests": ["same"],
            "stages": {"indComp": seconds},
            **other,
        }
    )


def test_speed_up_and_efficiency() -> None:
    base = point(1, 8.0)
    strong, weak = point(4, 4.0), point(4, 10.0, "weak")
    strong.compare(base)
    weak.compare(point(1, 8.0, "weak"))
    assert (strong.time, strong.speedup, strong.efficiency) == (4.0, 2.0, 0.5)
    assert weak.speedup == pytest.approx(3.2)
    assert weak.efficiency == pytest.approx(0.8)


def test_the_table_and_the_plot(tmp_path: Path) -> None:
    series = [
        [point(r, 8.0 / r, s, method=m) for r in (1, 2, 4) for m in ("auto", "ring")]
        for s in ("strong", "weak")
    ]
    table = block(series[0])
    assert "strong scaling, gnm-m1000: n=100 m=1,000" in table
    fields = table.splitlines()[-1].split()
    assert " ".join(fields) == "4 x 1 ring 4 2.000 8.000 1.00 1.00 40.00 2.50% 200"
    pytest.importorskip("matplotlib")
    for name in ("plot.svg", "plot.png"):
        check_files(None, tmp_path / name)
        with AtomicOutput() as files:
            plot(series, tmp_path / name, files)
        assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(ConfigError, match=r"\.svg"):
        check_files(None, tmp_path / "plot.txt")
    with pytest.raises(ConfigError, match=r"\.json"):
        check_files(tmp_path / "all.csv", None)


def test_one_rank_has_as_many_threads_and_so_do_ranks_between(tmp_path: Path) -> None:
    plan = ScalingPlan(("gnm",), 9, (1, 2, 8), 2, 1, (4,), False, "cpu", tmp_path)
    assert _mixtures(plan) == [(1, 4), (1, 16), (2, 8)]
    figure = pytest.importorskip("matplotlib.figure").Figure()
    mixed = [point(1, 2.0, threads=4), point(2, 1.5, threads=2)]
    _panel(figure.subplots(), [point(1, 8.0), point(4, 2.0), *mixed])
    (axes,) = figure.axes
    drawn = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
    assert drawn == {
        "auto": [1, 4],
        "auto, 1 rank": [1, 4],
        "auto, 2 x 2": [4],
        "ideal": [1, 4],
    }


def test_different_forests_are_seen() -> None:
    agreed, other = [point(1, 1.0), point(2, 1.0)], point(4, 1.0, digests=["x", "y"])
    assert disagreements(agreed) == []
    (line,) = disagreements([*agreed, other])
    assert line == "DISAGREEMENT on gnm-m1000: 3 different forests"


def test_sizes_follow_the_scale() -> None:
    assert scaling.size_of("gnm", 10) == {"n": 1024, "m": 16384}
    assert scaling.size_of("grid2d", 23)["side"] == 8192
    for kind in scaling.KINDS:
        assert scaling.size_of(kind, 8)


@pytest.mark.mpi
def test_a_small_run(tmp_path: Path) -> None:
    pytest.importorskip("kagen")
    plan = ScalingPlan(("gnm",), 9, (1, 2), 1, 2, (2, 4), False, "cpu", tmp_path)
    (points,) = run(plan)
    found = [(p.ranks, p.threads, p.name) for p in points]
    methods = ("auto", "replicated", "ring 2", "ring 4")
    assert found == [
        *((r, 1, method) for r in (1, 2) for method in methods),
        (1, 2, "auto"),
    ]
    assert disagreements(points) == []
    assert all(len(p.seconds) == 2 and p.time > 0 for p in points)
    assert points[0].bytes_sent == 0 < points[5].bytes_sent
    assert points[5].peak_bytes > 50 << 20
    assert len(points[5].rank_seconds) == 2
    assert points[5].stages["hook"] > 0
    assert points[5].cpu_seconds > 0
    assert json.dumps([p.as_dict() for p in points])


@pytest.mark.mpi
def test_a_job_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(MndmstError, match="no such file") as caught:
        scaling.job(tmp_path / "nothing", "strong", 2, 1, "cpu", 1, (4,))
    assert "nothing" in str(caught.value)
