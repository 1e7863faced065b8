"""The benchmark: its answers are compared, and a wrong one does not pass."""

import contextlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import kruskal

from mndmst.io.atomic_output import AtomicOutput
from mndmst.report import peers
from mndmst.report.peers import Answer
from tests.benchmarks import contenders, cpu, graphs
from tests.benchmarks.__main__ import main
from tests.benchmarks.contenders import KernelContender, extra_bytes, ranks
from tests.benchmarks.cpu import block, disagreements, plot_threads, take_turns

pytestmark = pytest.mark.slow

SCALE = 6
EVERY = contenders.contenders_of(tuple({peer.package for peer in peers.PEERS}))


@pytest.fixture(params=["int32", "int64", "float64"])
def graph(request: pytest.FixtureRequest) -> graphs.BenchGraph:
    pytest.importorskip("kagen")
    return graphs.make("rmat", SCALE, np.dtype(request.param))


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no other process, which takes seconds."""
    monkeypatch.setattr(cpu, "ranks", lambda folder: contextlib.nullcontext([]))
    monkeypatch.setattr(cpu, "extra_bytes", lambda folder, threads: 1000 * threads)


def make_plan(**changes: Any) -> cpu.CpuPlan:
    given = {
        "scale": SCALE,
        "threads": (1, 2),
        "repeat": 1,
        "weights": ("int32", "float64"),
        "graphs": ("rmat", "grid2d"),
        "peers": ("scipy",) if "scipy" in peers.installed() else (),
        "orders": graphs.HARD,
    }
    return cpu.CpuPlan(**given | changes)


def test_graphs_list_every_edge_once(graph: graphs.BenchGraph) -> None:
    u, v, weights = graph.upper()
    assert (u < v).all()
    assert len(u) == graph.num_edges == graph.indptr[-1] // 2
    assert weights.dtype == graph.weights.dtype


def test_hard_weights_lie_as_named(graph: graphs.BenchGraph) -> None:
    hard = {one.order: one for one in graphs.hardened(graph)}
    assert len(np.unique(hard["equal"].weights)) == 1
    inside = np.ones(len(graph.indices) - 1, bool)
    starts = graph.indptr[1:-1]
    inside[starts[(starts > 0) & (starts < len(graph.indices))] - 1] = False
    for order, sign in (("ascending", 1), ("descending", -1)):
        steps = sign * np.diff(hard[order].weights)
        assert (steps[inside] > 0).all()
        assert (steps[~inside] <= 0).any()  # or rows would not matter
        np.testing.assert_array_equal(hard[order].indices, graph.indices)


@pytest.mark.parametrize("peer", EVERY, ids=lambda peer: peer.name)
@pytest.mark.filterwarnings("default::DeprecationWarning")  # of the peers' imports
def test_peers_agree_with_the_oracle(
    peer: peers.Peer, graph: graphs.BenchGraph
) -> None:
    if importlib.util.find_spec(peer.package) is None:
        pytest.skip(f"{peer.package} is not installed")
    truth = kruskal(graph.num_vertices, *graph.upper())
    expected = Answer(len(truth.src), truth.total)
    contender = contenders.PeerContender(peer, graph)
    for _ in range(2):  # what the first turn uses up is renewed for the second
        _, forest = contender.timed()
        assert expected.agrees(contender.answer(forest))


def test_the_kernel_agrees_with_the_oracle(graph: graphs.BenchGraph) -> None:
    truth = kruskal(graph.num_vertices, *graph.upper())
    kernel = KernelContender(graph.rows(), graph.weights.dtype, 2)
    assert kernel.answer(kernel.solve()) == Answer(len(truth.src), truth.total)


def test_processes_solve_the_graph_and_tell_their_memory(
    graph: graphs.BenchGraph, tmp_path: Path
) -> None:
    graph.save(tmp_path)
    kernel = KernelContender(graph.rows(), graph.weights.dtype, 1)
    ours = kernel.answer(kernel.solve())
    with ranks(tmp_path) as contenders:
        for rank in contenders:
            ms, forest = rank.timed()
            assert ms > 0
            assert rank.answer(forest) == ours
    extra = extra_bytes(tmp_path, 1)
    assert extra is None or extra >= 0


def wrong_peer(more: int = 0, factor: float = 1.0) -> peers.Peer:
    """Return a peer with edges too many, or a total that is a little too large."""
    scipy = peers.SCIPY

    def answer(graph: Any, forest: Any) -> Answer:
        edges, weight = scipy.answer(graph, forest)
        return Answer(edges + more, weight * factor)

    return scipy._replace(answer=answer)


@pytest.mark.parametrize("change", [{"more": 1}, {"factor": 1 + 1e-8}])
def test_a_wrong_answer_is_noticed(
    graph: graphs.BenchGraph, change: dict[str, Any]
) -> None:
    pytest.importorskip("scipy")
    peer = contenders.PeerContender
    kernel = KernelContender(graph.rows(), graph.weights.dtype, 1)
    right, wrong = take_turns([kernel, peer(wrong_peer(**change), graph)], 2)
    assert right.agrees
    assert not wrong.agrees
    right, fine = take_turns([kernel, peer(peers.SCIPY, graph)], 2)
    assert fine.agrees


def test_integers_are_compared_exactly_as_far_as_floats_reach() -> None:
    total = 1 << 52
    assert Answer(3, total).agrees(Answer(3, float(total)))
    assert not Answer(3, total).agrees(Answer(3, float(total + 1)))
    assert Answer(3, total << 8).agrees(Answer(3, float(total + 1) * 256))
    assert not Answer(3, total << 8).agrees(Answer(3, total * 257.0))


@pytest.mark.usefixtures("alone")
def test_a_run_has_every_case() -> None:
    pytest.importorskip("kagen")
    said: list[str] = []
    cases = list(cpu.run(make_plan(graphs=("grid2d",)), said.append))
    found = [(case.weights, case.order) for case in cases]
    hard = [("int32", order) for order in ("equal", "ascending", "descending")]
    assert found == [("int32", "given"), *hard, ("float64", "given")]
    assert said[:2] == ["making grid2d, int32", "timing grid2d, int32, given weights"]
    assert len(said) == 2 + len(hard) + 2
    for case in cases:
        assert all(result.agrees for result in case.results)
        assert disagreements(case) == []
        one, two = case.results[:2]
        assert (one.contender, two.contender) == ("1 thread", "2 threads")
        assert two.relative["1 thread"] == pytest.approx(two.ms / one.ms)
        assert one.floor == pytest.approx(case.floors[0].ms / one.ms)
        assert 0 < one.interpreter < 1
    given, *others = (case.results[0] for case in cases)
    for other, what in zip(others, ["given"] * 3 + ["int32"], strict=True):
        assert other.relative == {what: pytest.approx(other.ms / given.ms)}


@pytest.mark.usefixtures("alone")
def test_the_command_fails_loudly_on_a_wrong_weight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    pytest.importorskip("kagen")
    pytest.importorskip("scipy")
    file = tmp_path / "bench.json"
    command = ["cpu", "--scale", str(SCALE), "--repeat", "1", "--threads", "1"]
    command += ["--weights", "float64", "--graphs", "grid2d", "--peers", "scipy"]
    assert main([*command, "--json", str(file)]) == 0
    assert json.loads(file.read_text())["disagreements"] == []
    wrong = wrong_peer(factor=1 + 1e-8)
    monkeypatch.setattr(peers, "PEERS", (wrong,))
    monkeypatch.setattr(cpu, "SCIPY", wrong)
    assert main([*command, "--json", str(file)]) == 1
    out, err = capsys.readouterr()
    assert "DISAGREES" in out
    assert "\nmndmst: DISAGREEMENT on grid2d, float64" in err
    record = json.loads(file.read_text())
    assert len(record["disagreements"]) == len(record["cases"]) == 4
    for case in record["cases"]:
        agrees = {r["contender"]: r["agrees"] for r in case["results"]}
        assert agrees == {"1 thread": True, "scipy": False}


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture) -> None:
    assert main(["cpu", "--graphs", "rmat,tree"]) == 1
    assert "--graphs tree: unknown here; give some of rmat" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["cpu", "--threads", "1,0"])


@pytest.mark.usefixtures("alone")
def test_how_threads_scale_is_drawn(graph: graphs.BenchGraph, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    case = cpu.contest(graph, make_plan(threads=(1, 2)), (), print)
    for name in ("threads.svg", "threads.png"):
        with AtomicOutput() as files:
            plot_threads([case], tmp_path / name, files)
    text = (tmp_path / "threads.svg").read_text()
    assert text.rstrip().endswith("</svg>")
    assert (tmp_path / "threads.png").stat().st_size > 1000


@pytest.mark.usefixtures("alone")
def test_the_table_lines_up(graph: graphs.BenchGraph) -> None:
    case = cpu.contest(graph, make_plan(), (), str)
    title, _, headings, *rows = block(case).splitlines()
    assert title.startswith(f"rmat, {graph.weights.dtype}, given weights")
    end = headings.index("ms") + len("ms")
    assert [float(row[:end].split()[-1]) for row in rows] == pytest.approx(
        [result.ms for result in case.results], abs=0.005
    )
    end = headings.index("B/vertex") + len("B/vertex")
    one, two = (float(row[:end].split()[-1]) for row in rows)
    assert one == pytest.approx(1000 / case.num_vertices, abs=0.06)
    assert two == pytest.approx(2000 / case.num_vertices, abs=0.06)
