"""The division of rows: what it is based on, and what it decides."""

import numpy as np
import pytest

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.graph.model import Rows
from mndmst.graph.tuning import Tuning
from mndmst.host.progress import Progress
from mndmst.solver.config import Config
from mndmst.solver.run_report import Report
from mndmst.solver.split import Speeds, assign_rows, bounded_ratio, measure, split
from mndmst.solver.startup import Background


def ring(n: int, degree: int) -> Rows:
    """Every vertex has arcs to its next neighbours on both sides."""
    steps = np.arange(1, degree // 2 + 1)
    ends = (np.arange(n)[:, None] + np.concatenate((-steps, steps))) % n
    ends.sort(axis=1)
    indices = ends.ravel().astype(np.uint32)
    tails = np.repeat(np.arange(n), degree)
    low, high = np.minimum(tails, indices), np.maximum(tails, indices)
    keys = ((low * 7919 + high * 104729) % 1009).astype(np.uint32)
    return Rows(0, n, degree * np.arange(n + 1), indices, keys)


def backends() -> list[CpuBackend]:
    return [CpuBackend(1), CpuBackend(2)]


GRAPH = ring(1 << 16, 16)
PART = GRAPH.cut(0, 1 << 15)  # with ghosts


def test_devices_of_one_speed_share_if_merging_is_cheap() -> None:
    assert Speeds(1e-8, 1e-8, 0.1, 1e-9, 1e-9).best_ratio(PART) == 0.5
    assert Speeds(1e-8, 3e-8, 0.1, 1e-9, 1e-9).best_ratio(PART) == pytest.approx(0.75)


def test_the_better_device_stays_alone_if_merging_is_dear() -> None:
    assert Speeds(1e-8, 1.2e-8, 0.1, 1e-7, 1e-7).best_ratio(PART) == 1.0
    assert Speeds(1.2e-8, 1e-8, 0.1, 1e-7, 1e-7).best_ratio(PART) == 0.0


def test_two_devices_must_gain_a_tenth() -> None:
    # Alone the first needs 1 of time; together both need 11/12, or 9/11.
    assert Speeds(1e-8, 11e-8, 0.1, 0, 0).best_ratio(PART) == 1.0
    assert Speeds(1e-8, 4.5e-8, 0.1, 0, 0).best_ratio(PART) == pytest.approx(9 / 11)


def test_a_device_far_behind_gets_nothing() -> None:
    assert Speeds(1e-9, 1e-7, 0.1, 1e-9, 1e-9).best_ratio(PART) == 1.0


@pytest.mark.parametrize("merge", [0.0, 1e-7])
def test_the_faster_device_of_a_rank_alone_has_all_rows(merge: float) -> None:
    assert Speeds(1e-8, 1.01e-8, 0.1, 0.0, merge).best_ratio(GRAPH) == 1.0
    assert Speeds(1.01e-8, 1e-8, 0.1, 0.0, merge).best_ratio(GRAPH) == 0.0


def test_parts_are_contracted_and_two_of_them_merged() -> None:
    speeds = Speeds(1e-8, 1e-8, 0.1, 1e-7, 3e-7)
    assert speeds.seconds(1.0, PART) == pytest.approx(2e-8 * PART.num_arcs)
    assert speeds.seconds(0.5, PART) == pytest.approx(4e-8 * PART.num_arcs)


def test_parts_have_their_share_of_the_arcs() -> None:
    one, other = split(GRAPH, 0.25)
    assert (one.num_arcs, len(one) + len(other)) == (GRAPH.num_arcs // 4, len(GRAPH))
    assert [len(part) for part in split(GRAPH, 1.0)] == [len(GRAPH), 0]
    assert [len(part) for part in split(GRAPH, 0.0)] == [0, len(GRAPH)]


def test_the_ratio_keeps_within_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = CpuBackend(1)
    monkeypatch.setattr(backend, "rows_nbytes", lambda rows: backend.memory().total)
    assert bounded_ratio(backend, GRAPH, 1.0) < 1.0


@pytest.mark.parametrize("rows", (GRAPH, GRAPH.cut(100, 60_000), ring(3, 2)))
def test_what_is_measured(rows: Rows) -> None:
    tuning = Tuning(ratio_samples=2, ratio_share=0.3)
    speeds = measure(backends(), rows, Config(tuning=tuning))
    assert all(value > 0 for value in speeds)
    assert 0 < speeds.forest_edges <= 1


def test_where_the_ratio_comes_from() -> None:
    def run(rows: Rows, **options) -> dict:
        report = Report(None, Progress(False))
        background = Background(lambda: None)
        config = Config(**options)
        workers, ratio = assign_rows(backends(), rows, background, config, report)
        assert sum(len(worker.rows) for worker in workers) == len(rows)
        assert report.facts["ratio"] == ratio
        return report.facts

    first = run(GRAPH)
    assert first["ratio_source"] == "measured"
    assert all(value > 0 for value in first["speeds"].values())
    assert run(GRAPH, ratio=0.25)["ratio_source"] == "given"
    assert run(GRAPH.cut(0, 99))["ratio_source"] == "few arcs"
