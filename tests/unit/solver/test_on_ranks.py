"""Strategies that merge by messages, on ranks that are threads of one process.

Every strategy finds the forest of a graph, and says in its report how it came there.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import graphs
import numpy as np
import pytest
from drawn import between, reduced, triples
from thread_ranks import expected, forest, on_ranks

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import Comm
from mndmst.comm.directory import Directory
from mndmst.comm.world import world
from mndmst.graph.tuning import Tuning
from mndmst.host.memory import Budget
from mndmst.host.memory_costs import REDUCED_GRAPH_COPIES
from mndmst.host.progress import Progress
from mndmst.pipeline import contract
from mndmst.solver import part_graph as part_graph_step
from mndmst.solver import read
from mndmst.solver.config import Config
from mndmst.solver.contract import any_cut_edge, lightest_cut_edge
from mndmst.solver.heavier import CrossEdges
from mndmst.solver.merging import leaders
from mndmst.solver.merging.hosts import HostComponents
from mndmst.solver.merging.leaders import (
    cheapest_path,
    merge_ranks,
    pass_segment,
    to_leader,
)
from mndmst.solver.merging.rounds import agree, first_round, global_round
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run import Run, State
from mndmst.solver.run_report import Report

RANKS = 3
GRAPH = graphs.random(60, 400, seed=1)
SMALL = graphs.random(30, 40, seed=5)
ALWAYS_ROUNDS = Tuning(few_edges=0)


def begin(comm: Comm, path: Path, tuning: Tuning | None = None, **options: Any) -> Run:
    config = Config(backend="cpu", threads=1, tuning=tuning or Tuning.default)
    config = config.updated(options)
    run = part_graph(comm, path, config, Report(comm, Progress(False)))
    run.report.facts["saves"] = []

    def save(state: State) -> None:
        run.report.facts["saves"].append(sum(map(len, state.forest_edges)))

    return replace(run, save=save)


def saves(run: Run) -> list[int]:
    """Return how many forest edges the rank had at each safe point."""
    return run.report.facts["saves"]


def stages(run: Run) -> list[str]:
    return [entry["stage"] for entry in run.report.stages]


WAYS: list[dict[str, Any]] = [
    {"merge": "messages"},
    {"merge": "messages", "tuning": ALWAYS_ROUNDS},
    {"merge": "messages", "tuning": ALWAYS_ROUNDS, "light_edges": 0},
    {"merge": "boruvka"},
    {"merge": "ring"},
    {"merge": "ring", "leader_edges": 0, "ring_gain": 0.0, "group_size": 2},
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("graph", [GRAPH, SMALL])
def test_ranks_find_the_forest(tmp_path: Path, way: dict, graph: Any) -> None:
    path = graphs.write_graph(tmp_path / "graph", graph)

    def program(comm: Comm) -> Run:
        run = begin(comm, path, **way)
        contract(run)
        run.directory.resolve()
        return run

    runs = on_ranks(RANKS, program)
    assert forest(runs) == expected(graph)
    names = np.concatenate([run.directory.parent for run in runs])
    assert len(np.unique(names)) == graph.n - len(forest(runs))


ROUND, LEADER = "global round", "level 1"


@pytest.mark.parametrize(
    ("way", "paths", "after"),
    [
        ({"merge": "messages"}, ["leader"], [LEADER]),
        ({"merge": "messages", "leader_edges": 0}, ["leader"], [LEADER]),
        ({"merge": "messages", "tuning": ALWAYS_ROUNDS}, ["round"], [ROUND]),
        ({"merge": "boruvka"}, ["round"], [ROUND]),
        ({"merge": "ring", "group_size": 2}, ["levels"] * 2, [LEADER, "level 2"]),
        ({"merge": "ring", "group_size": 3}, ["levels"], [LEADER]),
    ],
)
def test_the_report_says_how_ranks_merged(
    tmp_path: Path, way: dict[str, Any], paths: list[str], after: list[str]
) -> None:
    path = graphs.write_graph(tmp_path / "graph", GRAPH)

    def program(comm: Comm) -> Run:
        run = begin(comm, path, light_edges=0, **way)
        contract(run)
        return run

    runs = on_ranks(RANKS, program)
    for run in runs:
        assert [choice["path"] for choice in run.report.choices] == paths
        levels = [level["after"] for level in run.report.levels]
        assert levels == ["read", "indComp", *after]
        # A state is saved after mergeParts, after each level, and at the end.
        assert len(saves(run)) == 2 + after.count(LEADER) + after.count("level 2")
    assert sum(saves(run)[0] for run in runs) > 0
    assert sum(saves(run)[-1] for run in runs) == len(expected(GRAPH))


@pytest.mark.parametrize(("rank", "sent"), [(0, 1), (1, 0), (2, 3)])
def test_edges_in_shares_of_other_ranks_count_as_sent(rank: int, sent: int) -> None:
    """Three ranks have 5, 0 and 7 edges; each contracts 4 of them."""
    counts = np.array([[5], [0], [7]])
    team = SimpleNamespace(
        rank=rank, counts=lambda _: counts, share=lambda _: (4 * rank, 4 * rank + 4)
    )
    report = Report(world(), Progress(False))
    components = SimpleNamespace(team=team, run=SimpleNamespace(report=report))
    HostComponents._count_shared(components, counts[rank, 0])
    assert report.edges_sent == sent


def rule(edges: int, before: int, few: int = 100, gain: float = 0.1) -> str:
    tuning = Tuning(few_edges=few, round_gain=gain)
    run = SimpleNamespace(config=Config(tuning=tuning))
    return cheapest_path(run, edges, before)  # type: ignore[arg-type]


def test_rounds_go_on_while_many_edges_are_left_and_each_round_pays() -> None:
    assert rule(100, 0) == "leader"
    assert rule(101, 0) == "round"  # the first
    assert rule(900, 1000) == "round"
    assert rule(901, 1000) == "leader"
    assert rule(100, 1000) == "leader"


# 0 -1- 1 -4- 2 -2- 3 -5- 4 -3- 5, and 0 -9- 5; rank 0 owns 0, 1, 2.
PATH = [(0, 1, 1), (1, 2, 4), (2, 3, 2), (3, 4, 5), (4, 5, 3), (0, 5, 9)]
HALVES = [
    ([edge for edge in PATH if edge[0] < 3], [0, 1, 2, 3, 5], (3, 5)),
    ([edge for edge in PATH if edge[1] > 2], [0, 2, 3, 4, 5], (0, 2)),
]


@pytest.fixture
def on_halves(tmp_path: Path) -> Callable[..., list[Any]]:
    """Run a function of (run, graph) on two ranks, each with half of the path."""
    path = graphs.write_graph(tmp_path / "path", graphs.path(6))

    def start(function: Callable[[Run, Any], Any]) -> list[Any]:
        def program(comm: Comm) -> Any:
            run = begin(comm, path)
            run = replace(run, state=State(Directory(comm, np.array([0, 3, 6]))))
            return function(run, reduced(*HALVES[comm.rank]))

        return on_ranks(2, program)

    return start


def test_a_cut_edge_stays_on_one_rank_if_both_have_it(on_halves) -> None:
    def program(run: Run, graph: Any) -> Any:
        if run.comm.rank == 1:  # it knows that (0, 5) is the last of a cycle
            graph = graph.take(graph.edges.key != 9)
        assert agree(run, graph, giant=3) is graph  # edges of a giant are hidden
        return between(agree(run, graph, None))

    here, there = on_halves(program)
    # Owners of even and of odd ends take turns: 2 + 3 is odd.
    assert here == [(0, 1, 1), (1, 2, 4)]
    assert there == [(2, 3, 2), (3, 4, 5), (4, 5, 3)]


def test_a_round_takes_the_lightest_edge_of_components_on_two_ranks(on_halves) -> None:
    def program(run: Run, graph: Any) -> Any:
        left = global_round(run, graph)
        (found,) = run.state.forest_edges
        return triples(found), run.directory.parent.tolist(), between(left)

    (one, names, _), (other, more, _) = on_halves(program)
    assert sorted(one + other) == [(0, 1, 1), (2, 3, 2), (4, 5, 3)]
    assert names + more == [0, 0, 2, 2, 4, 4]


def test_the_first_round_proposes_no_edge_of_interior_components(on_halves) -> None:
    def program(run: Run, graph: Any) -> Any:
        left = first_round(run, graph, None)
        (found,) = run.state.forest_edges
        assert run.report.edges_sent == 0  # each rank has all edges of its vertices
        return triples(found), between(left)

    (one, here), (other, there) = on_halves(program)
    assert sorted(one + other) == [(0, 1, 1), (2, 3, 2), (4, 5, 3)]
    # Each edge is left once, and the last of the cycle too: no rank has the cycle.
    assert sorted(here + there) == [(0, 2, 4), (0, 4, 9), (2, 4, 5)]


def test_the_giant_component_is_chosen_and_does_not_choose(on_halves) -> None:
    def program(run: Run, graph: Any) -> Any:
        interior = graph.interior & (graph.labels != 2)
        first_round(run, replace(graph, interior=interior), giant=2)
        (found,) = run.state.forest_edges
        return triples(found)

    one, other = on_halves(program)
    assert sorted(one + other) == [(0, 1, 1), (2, 3, 2), (4, 5, 3)]


def test_a_leader_gets_the_edges_of_its_group(on_halves) -> None:
    def program(run: Run, graph: Any) -> Any:
        left = to_leader(run, run.comm, graph)
        return between(left), run.report.edges_sent

    (edges, sent), (nothing, sent_by_other) = on_halves(program)
    assert edges == sorted(edge for edge in PATH if edge[2] != 9)
    assert (sent, nothing, sent_by_other) == (0, [], 4)


def test_neighbours_of_a_ring_pass_segments(on_halves) -> None:
    def program(run: Run, graph: Any) -> Any:
        return between(pass_segment(run, run.comm, graph)), run.report.edges_sent

    (here, sent), (there, sent_by_other) = on_halves(program)
    assert sorted({*here, *there}) == sorted(PATH)
    # Components 0 and 1, and 3 and 4: with 4 ends of the 5 edges, and 3 edges.
    assert (sent, sent_by_other) == (3, 3)


def planted_budget(**methods: Any) -> Budget:
    """Return a budget that answers by some methods in place of its own."""
    return type("PlantedBudget", (Budget,), methods)()


def test_a_segment_is_as_large_as_the_neighbour_has_room_for(on_halves) -> None:
    def program(run: Run, graph: Any) -> int:
        two_edges = 2 * graph.nbytes / len(graph)
        room = int(REDUCED_GRAPH_COPIES * (two_edges + 1))
        run = replace(run, budget=planted_budget(room=lambda _: room))
        pass_segment(run, run.comm, graph)
        return run.report.edges_sent

    assert on_halves(program) == [2, 2]


def test_segments_go_to_the_left_of_three_ranks(tmp_path: Path) -> None:
    path = graphs.write_graph(tmp_path / "path", graphs.path(6))

    def program(comm: Any) -> list[tuple[int, int]]:
        run, partners = begin(comm, path), []
        exchange = comm.isendrecv

        def record(arrays: Any, dest: int, source: int) -> Any:
            partners.append((dest, source))
            return exchange(arrays, dest, source)

        comm.isendrecv = record
        pass_segment(run, comm, reduced(PATH, list(range(6))))
        return partners

    # Each rank tells its right neighbour what room it has, for that one's segment.
    assert on_ranks(3, program) == [
        [(1, 2), (2, 1)],
        [(2, 0), (0, 2)],
        [(0, 1), (1, 0)],
    ]


class Counted(list):
    """A graph of some edges, whose components are interior."""

    interior = np.ones(1, np.bool_)


def ring(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], others: int = 0, **options: Any
) -> tuple[int, int]:
    """Return how often a group passes segments and counts its edges.

    Its graph has one of the sizes after another; other groups go on for some rounds.
    """
    rounds = [Counted([0] * size) for size in sizes]
    passed, counted, waited = [], [], iter([1] * others + [0] * 99)

    def count(value: Any) -> Any:
        counted.append(value)
        return value

    monkeypatch.setattr(leaders, "pass_segment", lambda *_: passed.append(1))
    monkeypatch.setattr(leaders, "contract_graph", lambda *_: rounds.pop(0))
    monkeypatch.setattr(leaders, "learn_names", lambda _, graph: graph)
    comm = SimpleNamespace(max=lambda going: max(going, next(waited)), sum=int)
    config = Config(tuning=Tuning(**options))
    report = Report(world(), Progress(False))
    run: Any = SimpleNamespace(comm=comm, config=config, report=report)
    group: Any = SimpleNamespace(size=2, sum=count)
    leaders.ring_rounds(run, group, rounds.pop(0), any_cut_edge)
    return len(passed), len(counted)


def test_a_ring_ends_with_a_round_that_gains_too_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options: dict[str, Any] = {"ring_gain": 0.1, "leader_edges": 10}
    for sizes, rounds in (
        ([10, 1], 0),  # a leader takes these at once
        ([11, 10, 1], 1),
        ([200, 180, 1], 1),  # 180 is not less than 0.9 times 200
        ([200, 179, 170, 1], 2),
        ([200, 150, 100, 50, 10, 1], 4),
    ):
        assert ring(monkeypatch, sizes, **options) == (rounds, rounds + 1)


def test_a_group_that_has_ended_only_waits_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options: dict[str, Any] = {"ring_gain": 0.1, "leader_edges": 10}
    assert ring(monkeypatch, [200, 190, 1], others=4, **options) == (1, 2)


def test_the_report_numbers_the_rounds_of_a_ring(tmp_path: Path) -> None:
    path = graphs.write_graph(tmp_path / "graph", GRAPH)
    options = {"merge": "ring", "leader_edges": 0, "ring_gain": 0.0, "light_edges": 0}

    def program(comm: Comm) -> list[str]:
        run = begin(comm, path, group_size=3, **options)
        contract(run)
        return [level["after"] for level in run.report.levels[2:]]

    for found in on_ranks(RANKS, program):
        rounds = [f"ring round {number}" for number in range(1, len(found))]
        assert rounds and found == [*rounds, "level 1"]


def test_nothing_is_passed_to_a_neighbour_without_room(on_halves) -> None:
    def program(run: Run, graph: Any) -> Any:
        run = replace(run, budget=Budget(1))
        return between(pass_segment(run, run.comm, graph)), run.report.edges_sent

    for (found, sent), (edges, *_) in zip(on_halves(program), HALVES, strict=True):
        assert found == sorted(edges) and sent == 0


def test_rounds_shrink_graphs_until_a_leader_holds_them(on_halves) -> None:
    def program(run: Run, graph: Any) -> Any:
        run = replace(run, budget=planted_budget(fits=lambda _, nbytes: nbytes < 200))
        left = CrossEdges(graph, with_owners=False)
        merge_ranks(run, left, lightest_cut_edge, lambda *_: "leader")
        return stages(run), forest([run])

    (steps, one), (_, other) = on_halves(program)
    assert steps[-2:] == ["global round", "leaders"]
    assert set(one + other) <= {edge[:2] for edge in PATH if edge[2] != 9}


def test_a_path_is_chosen_by_what_the_round_before_has_left(on_halves) -> None:
    def program(run: Run, graph: Any) -> list[tuple[int, int]]:
        chosen: list[tuple[int, int]] = []

        def choose_path(edges: int, before: int) -> str:
            chosen.append((edges, before))
            return "round" if len(chosen) == 1 else "leader"

        left = CrossEdges(graph, with_owners=False)
        merge_ranks(run, left, lightest_cut_edge, choose_path)
        return chosen

    one, other = on_halves(program)
    assert one == other
    (edges, none), (less, before) = one
    assert none == 0
    assert before == edges > less > 0


# Each vertex has edges to the next 4: 6 % of the arcs are cut between two ranks.
SRC, NEXT = np.array([(u, u + k) for u in range(80) for k in range(1, 5)]).T
SRC, NEXT = SRC[NEXT < 80], NEXT[NEXT < 80]
WEIGHT = np.random.default_rng(2).permutation(len(SRC)).astype(np.int32)
BELT = graphs.Graph(80, SRC, NEXT, WEIGHT)


@pytest.mark.parametrize(("near", "devices"), [(1.0, 1), (0.0, 1), (1.0, 2)])
def test_a_rank_of_one_device_contracts_all_edges_where_few_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, near: float, devices: int
) -> None:
    backends = lambda *_: ([CpuBackend(1) for _ in range(devices)], 1)  # noqa: E731
    monkeypatch.setattr(part_graph_step, "make_backends", backends)
    path = graphs.write_graph(tmp_path / "graph", BELT)
    tuning = Tuning(near_share=near, locality_share=1.0)

    def program(comm: Comm) -> Run:
        run = begin(comm, path, ratio=0.5, merge="messages", tuning=tuning)
        assert len(run.workers) == devices
        contract(run)
        return run

    runs = on_ranks(2, program)
    assert forest(runs) == expected(BELT)
    alone = near == 1.0 and devices == 1
    for run in runs:
        assert (stages(run).count("indComp") == 1) == alone


@pytest.mark.parametrize("exception", [lightest_cut_edge, any_cut_edge])
def test_pieces_that_stay_in_their_file_are_merged_between_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exception: Any
) -> None:
    def cut(comm: Comm, graph: Any, begin: int, end: int, budget: Any) -> Any:
        return [begin, *range(begin + 7, end, 7), end], budget

    monkeypatch.setattr(read, "cut_rows", cut)
    path = graphs.write_graph(tmp_path / "graph", GRAPH)

    def program(comm: Comm) -> Run:
        run = begin(comm, path, memory=1 << 40)
        contract(run, exception=exception)
        run.directory.resolve()
        return run

    runs = on_ranks(RANKS, program)
    assert {run.report.facts["strategy"]["name"] for run in runs} == {"messages"}
    if exception is lightest_cut_edge:
        assert forest(runs) == expected(GRAPH)
    names = np.concatenate([run.directory.parent for run in runs])
    assert len(np.unique(names)) == 60 - len(expected(GRAPH))
