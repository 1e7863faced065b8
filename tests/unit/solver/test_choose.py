"""The choice of a strategy: by facts alone, with a reason for each that was refused."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import graphs
import numpy as np
import pytest
from drawn import edge_list
from oracle import kruskal

from mndmst.backends.base import Backend, ContractedComponents
from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.world import world
from mndmst.graph.model import ReducedGraph
from mndmst.graph.tuning import Tuning
from mndmst.host.errors import ConfigError
from mndmst.host.progress import Progress
from mndmst.pipeline import contract
from mndmst.solver import part_graph as step
from mndmst.solver.config import MERGES, Config
from mndmst.solver.contract import any_cut_edge, lightest_cut_edge
from mndmst.solver.merging import hosts
from mndmst.solver.merging.choose import AUTO, CANDIDATES, GIVEN_UP, choose
from mndmst.solver.merging.peer_devices import MergeOnDevices, RankForest
from mndmst.solver.merging.strategy import (
    Facts,
    NotSuitableError,
    Strategy,
    StrategySetting,
)
from mndmst.solver.run import Run
from mndmst.solver.run_report import Report

DEVICES, HOSTS, MESSAGES = (kind.name for kind in AUTO)
REPLICATED = "replicated"
KINDS = {kind for kinds in CANDIDATES.values() for kind in kinds}
GRAPH = graphs.random(60, 400, seed=1)
# Ranks of a host, each with one device, and a graph without locality.
CUT_SHARE = Tuning.default.locality_share
FACTS = Facts(
    ranks=4,
    one_host=True,
    workers=1,
    pieces=1,
    resumed=False,
    cut_share=0.75,
    num_vertices=1000,
    custom_exception=False,
    locality_share=CUT_SHARE,
)
CHOICES: list[tuple[str, dict[str, Any], str]] = [
    ("auto", {}, DEVICES),
    ("auto", {"cut_share": 0.0}, DEVICES),
    ("devices", {}, DEVICES),
    ("auto", {"pieces": 2, "workers": 2}, HOSTS),
    ("devices", {"pieces": 2, "workers": 2}, HOSTS),
    ("auto", {"pieces": 2, "workers": 2, "ranks": 1, "cut_share": 0.0}, HOSTS),
    ("auto", {"pieces": 2}, MESSAGES),
    ("auto", {"one_host": False}, HOSTS),
    ("devices", {"one_host": False}, HOSTS),
    ("hosts", {}, HOSTS),
    ("hosts", {"cut_share": CUT_SHARE}, MESSAGES),
    ("replicated", {}, REPLICATED),
    ("replicated", {"cut_share": CUT_SHARE}, MESSAGES),
    ("messages", {}, MESSAGES),
    ("auto", {"pieces": 2, "workers": 2, "one_host": False}, HOSTS),
    ("auto", {"pieces": 2, "cut_share": CUT_SHARE}, MESSAGES),
    ("auto", {"one_host": False, "cut_share": CUT_SHARE}, MESSAGES),
    ("messages", {"cut_share": CUT_SHARE}, MESSAGES),
    ("ring", {}, "ring"),
    ("boruvka", {}, "boruvka"),
    ("auto", {"ranks": 1, "cut_share": 0.0}, MESSAGES),
    ("auto", {"ranks": 1, "pieces": 2, "cut_share": 0.0}, MESSAGES),
    ("auto", {"pieces": 2, "cut_share": 0.0}, MESSAGES),
    ("auto", {"resumed": True}, MESSAGES),
    ("auto", {"custom_exception": True}, MESSAGES),
    ("auto", {"pieces": 2, "num_vertices": 1 << 33}, MESSAGES),
]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """Make a run with a small graph; what it says goes to its `stream`."""

    def make(merge: str = "auto", **options: Any) -> Run:
        path = graphs.write_graph(tmp_path / "graph", GRAPH)
        progress = Progress(True, io.StringIO(), verbose=True)
        config = Config(backend="cpu", merge=merge, **options)
        return step.part_graph(world(), path, config, Report(world(), progress))

    return make


@pytest.fixture
def choose_by(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Facts], tuple[Run, Strategy]]:
    """Choose by given facts; strategies begin without their resources."""

    def begin(self: Strategy, setting: StrategySetting) -> None:
        self.run = setting.run
        self.choose_next = setting.choose_next  # type: ignore[attr-defined]

    for kind in KINDS:
        monkeypatch.setattr(kind, "__init__", begin)

    def make(merge: str, facts: Facts) -> tuple[Run, Strategy]:
        monkeypatch.setattr(Facts, "of", lambda *_: facts)
        made = run(merge)
        return made, choose(made)

    return make


def said(run: Run) -> str:
    return run.report.progress.stream.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("merge", "changed", "name"), CHOICES)
def test_facts_decide(
    choose_by: Callable, merge: str, changed: dict[str, Any], name: str
) -> None:
    run, strategy = choose_by(merge, replace(FACTS, **changed))
    assert strategy.name == name
    told = run.report.facts["strategy"]
    names = [kind.name for kind in CANDIDATES[merge]]
    assert told["name"] == name
    assert list(told["refused"]) == names[: names.index(name)]
    assert f"merging by {name}" in said(run)
    assert all(reason in said(run) for reason in told["refused"].values())


def test_every_value_of_the_option_has_candidates() -> None:
    """MERGES is apart from the strategies, so that options load none of them."""
    assert set(CANDIDATES) == set(MERGES)


@pytest.mark.parametrize("merge", MERGES)
def test_the_last_candidate_serves_every_run(merge: str) -> None:
    hardest = Facts(1000, False, 1, 2, True, 1.0, 1 << 40, True, CUT_SHARE)
    *others, last = CANDIDATES[merge]
    assert last.refuses(hardest) is None
    reasons = {kind.name: kind.refuses(hardest) for kind in others}
    assert all(reasons.values())


@pytest.mark.parametrize("merge", ["devices", "hosts", "replicated"])
def test_a_run_says_why_it_does_not_merge_as_it_was_told(
    choose_by: Callable, merge: str
) -> None:
    run, strategy = choose_by(merge, replace(FACTS, ranks=1))
    assert strategy.name == MESSAGES
    assert f"merging by {MESSAGES}: there is one rank" in said(run)


def test_one_that_cannot_begin_is_refused(
    choose_by: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise NotSuitableError("the host has no room for shared arrays")

    monkeypatch.setattr(AUTO[0], "__init__", fail)
    run, strategy = choose_by("auto", FACTS)
    assert strategy.name == HOSTS
    refused = run.report.facts["strategy"]["refused"]
    assert refused == {DEVICES: "the host has no room for shared arrays"}


def no_memory_to_share(*_: Any) -> None:
    raise ConfigError("no memory to share")


@pytest.mark.parametrize(
    ("name", "fails", "reason"),
    [
        ("free_bytes", lambda: 0, "a list of all vertices is too large"),
        ("HostComponents", no_memory_to_share, "a host has no room for shared arrays"),
    ],
)
def test_hosts_without_room_are_refused_and_free_their_communicators(
    run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    fails: Callable,
    reason: str,
) -> None:
    freed: list[hosts.Hosts] = []
    setting = StrategySetting(run(), FACTS, lightest_cut_edge, no_memory_to_share)
    monkeypatch.setattr(hosts.Hosts, "free", lambda made: freed.append(made))
    monkeypatch.setattr(hosts, name, fails)
    with pytest.raises(NotSuitableError, match=reason):
        hosts.MergeOnHosts(setting)
    assert len(freed) == 1


def test_one_that_gives_up_lets_the_next_take_over(choose_by: Callable) -> None:
    run, devices = choose_by("devices", FACTS)
    assert devices.name == DEVICES
    assert devices.choose_next().name == HOSTS
    told = run.report.facts["strategy"]
    assert told == {"name": HOSTS, "refused": {DEVICES: GIVEN_UP}}
    assert f"merging by {HOSTS}: {GIVEN_UP}" in said(run)


def test_no_edge_remains_after_devices_have_merged(run: Callable[..., Run]) -> None:
    made, labels = run(), np.zeros(GRAPH.n, np.int64)
    rest = RankForest(edge_list([(0, 1, 5)]), labels)
    MergeOnDevices.post_process(SimpleNamespace(run=made), rest)
    assert made.report.levels[-1] == {"after": "devices", "edges": 0}
    assert made.state.forest_edges == [rest.edges]
    np.testing.assert_array_equal(made.directory.parent, labels)


@pytest.mark.parametrize("exception", [lightest_cut_edge, any_cut_edge])
def test_the_facts_of_a_rank_alone(
    run: Callable[..., Run], exception: Callable[..., ContractedComponents]
) -> None:
    assert Facts.of(run(), exception) == Facts(
        1, True, 1, 1, False, 0, 60, False, CUT_SHARE
    )


def test_an_exception_of_ones_own_is_called_at_borders_between_devices(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank with one device has no border, and nothing to except."""
    called: list[ReducedGraph] = []

    def nothing(backend: Backend, graph: ReducedGraph) -> ContractedComponents:
        called.append(graph)
        return ContractedComponents(
            np.zeros(len(graph), np.bool_), np.arange(len(graph.labels))
        )

    devices = lambda *_: ([CpuBackend(1), CpuBackend(1)], 1)  # noqa: E731
    monkeypatch.setattr(step, "make_backends", devices)
    made = run(ratio=0.5)
    strategy = choose(made, nothing)
    assert strategy.name == MESSAGES
    assert Facts.of(made, nothing).custom_exception
    contract(made, exception=nothing)
    assert called and not any(graph.complete for graph in called)
    found = sum(len(edges) for edges in made.state.forest_edges)
    assert found == len(kruskal(*GRAPH).src)
