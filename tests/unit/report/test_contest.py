"""A contest: which answers agree, what a peer leaves out, and what tables say."""

import csv
import io
import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import kruskal

from mndmst.io.edge_file import Edges
from mndmst.report import contest
from mndmst.report.contest import (
    Case,
    ContestPlan,
    Result,
    SizeOfGraph,
    SizeOfPoints,
    in_memory,
    notes_of,
    without_names,
)
from mndmst.report.contest_tables import WRITERS, text_table
from mndmst.report.peer_process import measure, negated, save, save_points
from mndmst.report.peers import (
    INFINITE,
    PEERS,
    SCIPY,
    ZERO,
    Answer,
    Peer,
    TreeAnswer,
    answers_without,
    installed,
    of_packages,
    ours,
)
from mndmst.report.point_peers import POINT_TASKS, blobs

# OpenBLAS has 64 MB for each of many cores
PLAN = ContestPlan(turns=2, seconds=60.0, memory=16 << 30)
# A triangle with a tail, and a pair: 7 vertices, two trees
SRC, DST = np.array([0, 1, 0, 2, 5]), np.array([1, 2, 2, 3, 6])
WEIGHTS = {
    "ordinary": [3, 1, 2, 7, 5],
    "zero": [0, 0, 1, 4, 0],
    "negative": [-3, -1, 2, -7, 5],
    "infinite": [1.0, 2.0, 9.0, math.inf, 4.0],
}


def edges_of(weights: list[float]) -> Edges:
    ends = SRC.astype(np.uint32), DST.astype(np.uint32)
    return Edges(8, *ends, np.array(weights), directed=False)


def result(program: str = "mndmst", **changes: Any) -> Result:
    given = {
        "version": "1", "build": 0.5, "turns": (1.0, 3.0, 2.0), "failure": "",
        "answers": {"": Answer(6, 40)},
    }  # fmt: skip
    return Result(program, **(given | changes))


def case(*results: Result) -> Case:
    return Case("roads", SizeOfGraph(8, 9, "int32"), ("A note.",), results)


def last(peer: Peer, edges: Edges | np.ndarray) -> Any:
    """Return the answer of a peer by the way in which its process takes it."""
    first = next(entry for entry in measure(peer, edges, 1) if "answers" in entry)
    (answer,) = first["answers"].values()
    return answer


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.filterwarnings("default::DeprecationWarning")  # of the peers' imports
def test_every_peer_agrees_apart_from_what_it_omits(
    peer: Peer, kind: str, maximum: bool
) -> None:
    if find_spec(peer.package) is None:
        pytest.skip(f"{peer.package} is not installed")
    edges = edges_of(WEIGHTS[kind])
    own = ours("mndmst", 1, maximum)
    expected = answers_without(own.solve(own.convert(edges)))
    found = last(negated(peer) if maximum else peer, edges)
    assert expected[peer.omits].agrees(found)


def test_our_answer_is_the_oracle_s_also_without_some_weights() -> None:
    for weights in WEIGHTS.values():
        edges = edges_of(weights)
        own = ours("mndmst", 1, False)
        found = answers_without(own.solve(own.convert(edges)))
        truth = kruskal(8, SRC, DST, edges.weight)
        weight = np.asarray(truth.weight)
        finite = weight[np.isfinite(weight)]
        assert found[""] == (len(weight), weight.sum())
        assert found[ZERO] == (np.count_nonzero(weight), weight.sum())
        assert found[INFINITE] == (len(finite), finite.sum())


def test_another_forest_is_named() -> None:
    right, wrong = result(), result("scipy", answers={"": Answer(6, 41)})
    shown = case(right, wrong)
    assert not shown.differs(right)
    assert shown.differs(wrong)
    assert shown.verdict(right) == "same forest"
    assert shown.verdict(wrong) == "DIFFERS: 6 edges of weight 41"


def test_a_peer_is_compared_without_what_it_omits() -> None:
    own = result(answers={"": Answer(6, 40), ZERO: Answer(4, 40)})
    peer = result("scipy", answers={ZERO: Answer(4, 40)})
    assert not case(own, peer).differs(peer)
    assert case(own, result("igraph", answers={"": Answer(4, 40)})).differs(
        result("igraph", answers={"": Answer(4, 40)})
    )


def test_without_an_answer_of_ours_nothing_agrees() -> None:
    failed = result(answers={}, turns=(), failure="not done within 1 s")
    peer = result("scipy")
    assert case(failed, peer).verdict(failed) == "not done within 1 s"
    assert case(failed, peer).verdict(peer) == "not compared"
    assert case(failed, peer).times(peer) is None


def test_a_result_that_a_limit_ended_says_after_how_many_turns() -> None:
    stopped = result("igraph", turns=(1.0,), failure="not done within 1 s")
    assert case(result(), stopped).verdict(stopped) == (
        "same forest; 1 turn, then: not done within 1 s"
    )


def test_times_count_the_conversion() -> None:
    own, peer = result(build=None), result("scipy", build=4.0, turns=(2.0,))
    assert case(own, peer).times(own) == 1
    assert case(own, peer).times(peer) == 3


@pytest.mark.parametrize(
    ("weights", "maximum", "said"),
    [
        ([1, 2], False, []),
        ([0, 2], False, ["SciPy leaves edges of weight 0"]),
        ([-1, 2], False, ["negative weights"]),
        ([1.0, math.inf], False, ["infinite weight"]),
        ([1.0, math.inf], True, []),
        ([-math.inf, 1.0], True, ["negative weights", "infinite weight"]),
        ([1, 2**53 + 1], False, ["exceed 2^53"]),
        ([2.0**60], False, []),
    ],
)
def test_notes_say_what_packages_do_with_the_weights(
    weights: list, maximum: bool, said: list[str]
) -> None:
    first, *others = notes_of(np.array(weights), maximum)
    assert ("negated" in first) == maximum
    assert len(others) == len(said)
    for note, words in zip(others, said, strict=True):
        assert words in note


def test_a_graph_without_edges_has_no_notes_on_weights() -> None:
    assert len(notes_of(np.empty(0, np.int32), False)) == 1


FACTS = {
    "date": "2026-11-28T12:00:00+00:00", "commit": "0a1b", "system": "Linux 6",
    "mpi": "none", "versions": {"mndmst": "1", "python": "3", "numpy": "2"},
    "processor": "Zen", "cores": 4, "memory_bytes": 1 << 34, "load": 0.5,
    "devices": ["cpu, 4 threads"], "plan": PLAN._asdict(),
}  # fmt: skip
CASES = [
    case(
        result(),
        result("scipy"),
        result("a|b", build=None, turns=(), answers={}, failure="no\nline"),
    )
]


def test_a_table_lines_up() -> None:
    title, heading, *rows = text_table(CASES[0]).splitlines()
    assert title == ("roads: 8 vertices, 9 edges, weights int32; 6 edges of weight 40")
    end = heading.index("solve s") + len("solve s")
    assert [row[:end].split()[-1] for row in rows[:2]] == ["2.0000"] * 2


def test_a_page_of_markdown_has_a_row_for_each_program() -> None:
    page = WRITERS[".md"](FACTS, CASES, ["networkit"])
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 3
    assert {row.replace("\\|", "").count("|") for row in rows} == {8}
    for fact in (
        "mndmst 1 (commit 0a1b), python 3",
        "Zen, 4 cores, 16 GiB",
        "Linux 6",
        "MPI: none",
        "2026",
    ):
        assert fact in page
    assert "Not installed: networkit." in page


def test_csv_has_the_machine_in_every_row() -> None:
    rows = list(csv.DictReader(io.StringIO(WRITERS[".csv"](FACTS, CASES, []))))
    assert [row["program"] for row in rows] == ["mndmst", "scipy", "a|b"]
    assert {row["processor"] for row in rows} == {"Zen"}
    assert [row["solve_seconds"] for row in rows] == ["2.0", "2.0", ""]
    assert rows[2]["result"] == "no\nline"


def test_json_has_every_turn() -> None:
    record = json.loads(WRITERS[".json"](FACTS, CASES, ["networkit"]))
    assert list(record)[:2] == ["format", "creator"]
    assert record["missing"] == ["networkit"]
    first, *_ = record["inputs"][0]["results"]
    assert first["seconds"] == [1.0, 3.0, 2.0]
    assert first["forest_weight"] == 40


NAMES = "vm17.example.org", "vm17", "jdoe", "private", "secret"


@pytest.fixture
def named_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give host and user a name."""
    monkeypatch.setattr("platform.node", lambda: "vm17.example.org")
    monkeypatch.setattr("getpass.getuser", lambda: "jdoe")


@pytest.mark.usefixtures("named_machine")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no file: '/home/jdoe/my private/x'", "no file: 'FILE'"),
        ("/home/jdoe/private.h5: is damaged", "FILE: is damaged"),
        ("secret/private.gr, line 3", "FILE, line 3"),
        ("proxy:0@vm17.example.org failed for jdoe", "proxy:0@NAME failed for NAME"),
        ("vm17: out of memory", "NAME: out of memory"),
        ("needs more than 3 GiB of memory", "needs more than 3 GiB of memory"),
    ],
)
def test_sentences_lose_paths_and_names(text: str, left: str) -> None:
    assert without_names(text) == left


@pytest.mark.usefixtures("named_machine")
def test_pages_of_a_contest_name_no_host_user_or_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every program fails with the names; the facts are those of this machine."""
    said = f"jdoe@vm17: {tmp_path}/secret/private x: [vm17.example.org] lost"
    ended = contest._Ended(1.0, 1, said)
    monkeypatch.setattr(contest, "_run", lambda *_: ended)
    built = "Open MPI v4.1.4, package: Open MPI jdoe@vm17 Distribution, ident: 4.1.4"
    record = {"mpi": built, "ranks": [{"devices": ["cpu, 2 threads"]}]}
    facts = contest.machine([record]) | {"plan": PLAN._asdict()}
    assert facts["mpi"] == "Open MPI v4.1.4, ident: 4.1.4"
    graph = tmp_path / "secret"
    results = (
        in_memory("mndmst", "mndmst", 1, tmp_path, PLAN),
        contest.file_to_file(graph, 1, tmp_path, PLAN)[0],
    )
    cases = [case(*results), Case("blobs", SizeOfPoints(9, 3), (), results)]
    for write in WRITERS.values():
        page = write(facts, cases, ["igraph"])
        assert "lost" in page
        for name in (*NAMES, str(tmp_path), str(Path.home()), str(Path.cwd())):
            assert name not in page.replace("NAME", "")


@pytest.mark.slow
@pytest.mark.parametrize("task", POINT_TASKS)
@pytest.mark.filterwarnings("ignore")  # of the peers
def test_peers_of_points_agree(task: str) -> None:
    programs, points = POINT_TASKS[task], blobs(700, 2)
    (*_, first) = measure(programs.our_peer("mndmst", 1), points, 1)
    expected = first["answers"][""]
    for peer in of_packages(installed(programs.peers), programs.peers):
        if peer.package != "fast_hdbscan":  # compiles for a minute
            assert expected.agrees(last(peer, points)), peer.name


def test_trees_of_float32_distances_agree() -> None:
    own, peer = TreeAnswer(9, 1787.2067347), TreeAnswer(9, 1787.2067443)
    assert own.agrees(peer) and not own.agrees(TreeAnswer(9, 1787.2087))
    assert not Answer(*own).agrees(Answer(*peer))


@pytest.mark.slow
def test_points_are_clustered_in_a_process(tmp_path: Path) -> None:
    save_points("clusters", blobs(700, 2), tmp_path)
    own = in_memory("mndmst, 1 thread", "mndmst", 1, tmp_path, PLAN)
    assert own.failure == "" and len(own.turns) == PLAN.turns
    (found,) = own.answers.values()
    assert case(own).verdict(own) == str(found)
    assert set(found.columns()) == {"clusters", "noise"}


@pytest.mark.slow
def test_a_package_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    edges = edges_of(WEIGHTS["zero"])
    save(edges, False, tmp_path)
    own = in_memory("mndmst, 1 thread", "mndmst", 1, tmp_path, PLAN)
    peer = in_memory(SCIPY.name, SCIPY.package, 0, tmp_path, PLAN)
    assert len(own.turns) == len(peer.turns) == PLAN.turns
    assert own.build is None
    assert peer.build is not None
    assert case(own, peer).verdict(peer) == "same forest"
    assert own.failure == peer.failure == ""


@pytest.mark.slow
def test_a_limit_ends_the_process_and_is_named(tmp_path: Path) -> None:
    save(edges_of(WEIGHTS["ordinary"]), False, tmp_path)
    hurried = in_memory(
        "mndmst, 1 thread", "mndmst", 1, tmp_path, PLAN._replace(seconds=0.1)
    )
    assert hurried.failure == "not done within 0.1 s"
    assert hurried.seconds is None


@pytest.mark.slow
def test_an_error_of_a_package_is_a_sentence_without_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = in_memory("mndmst, 1 thread", "mndmst", 1, tmp_path, PLAN)
    assert failed.failure == (
        "FileNotFoundError: [Errno 2] No such file or directory: 'FILE'"
    )
    monkeypatch.setattr(contest.sys, "executable", "/bin/false")
    assert in_memory("x", "x", 0, tmp_path, PLAN).failure == "ended with status 1"
