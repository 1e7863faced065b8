"""What a strategy is bound to: exceptions are called, and others take over from it."""

import hashlib
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import graphs
import pytest
from oracle import kruskal, smallest_of_trees

PROGRAM = Path(__file__).with_name("strategy_program.py")
GRAPH = graphs.random(300, 6000, seed=3)
ANSWER = kruskal(*GRAPH)
LABELS = smallest_of_trees(GRAPH.n, ANSWER.src, ANSWER.dst)
LABELS_DIGEST = hashlib.sha256(LABELS.astype("<i8").tobytes()).hexdigest()

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "graph"
    return graphs.write_graph(folder, GRAPH, parts=2)


@pytest.fixture(scope="module")
def watch(mpirun: Callable, path: Path) -> Callable[[int, list], list[dict[str, Any]]]:
    """Return what the program has seen of strategies, in one start of the ranks."""

    def run(ranks: int, cases: list) -> list[dict[str, Any]]:
        done = mpirun(ranks, "-m", "mpi4py", PROGRAM, path, json.dumps(cases))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(
    ("ranks", "ways"),
    [
        (1, [{"two_workers": True, "ratio": 0.5}]),
        (
            2,
            [
                {},
                {"light_edges": 0},
                {"merge": "ring", "leader_edges": 0},
                {"stored": 40},
            ],
        ),
    ],
)
def test_an_exception_of_ones_own_is_called_on_every_rank(
    watch: Callable, ranks: int, ways: list[dict[str, Any]]
) -> None:
    runs = watch(ranks, [("messages", way) for way in ways])
    for found, way in zip(runs, ways, strict=True):
        assert found["strategy"]["name"] == way.get("merge", "messages"), way
        assert len(found["calls"]) == ranks and min(found["calls"]) > 0, way
        assert found["complete"] == 0, way  # it is asked about borders only
        assert found["forest_edges"] == len(ANSWER.src), way
        assert found["labels"] == LABELS_DIGEST, way


def test_a_device_that_fails_lets_the_next_strategy_take_over(watch: Callable) -> None:
    steps = ("peer", "publish", "merge", "receive")
    runs = watch(2, [("devices", step) for step in steps])
    for found, step in zip(runs, steps, strict=True):
        assert found["digest"] == ANSWER.digest, step
        assert found["strategy"]["name"] == "hosts", step
        (reason,) = found["strategy"]["refused"].values()
        assert ("GPU" if step == "peer" else "too little memory") in reason
        passed = list(steps[1 : steps.index(step) + 1])
        received = [name for name in passed if name != "merge"]
        first = received if step == "publish" else passed
        assert found["passed"] == [first, received], step


JOINED: list[tuple[int, list[tuple[dict[str, Any], list]]]] = [
    (
        4,
        [
            ({}, [["hook", 1, 4, False], ["heavier", 1, 4, False]]),
            ({"hosts": 2}, [["hook", 2, 2, False], ["heavier", 2, 2, False]]),
            ({"hosts": 2, "light_edges": 0}, [["hook", 2, 2, False]]),
            ({"alternate": 2}, [["hook", 2, 2, False], ["heavier", 2, 2, False]]),
            ({"hosts": 2, "much_left": True}, [["hook", 2, 2, True]]),
        ],
    ),
    (3, [({"hosts": 2}, [["hook", 2, 2, False], ["heavier", 2, 2, False]])]),
    (
        2,
        [
            (
                {"merge": "replicated"},
                [["hook", 2, 1, False], ["heavier", 2, 1, False]],
            )
        ],
    ),
]


@pytest.mark.parametrize(("ranks", "cases"), JOINED)
def test_ranks_of_a_host_are_one_part(
    watch: Callable, ranks: int, cases: list[tuple[dict[str, Any], list]]
) -> None:
    runs = watch(ranks, [("hosts", way) for way, _ in cases])
    for found, (way, merged) in zip(runs, cases, strict=True):
        assert found["digest"] == ANSWER.digest, way
        assert found["strategy"]["name"] == way.get("merge", "hosts"), way
        assert found["merged"] == merged, way


def test_a_run_that_ends_before_its_end_leaves_nothing_behind(
    mpirun: Callable, path: Path
) -> None:
    run = mpirun(3, "-m", "mpi4py", PROGRAM.with_name("give_up_program.py"), path)
    assert run.returncode == 0, run.stderr
    expected = {"forest": ANSWER.digest, "components": LABELS_DIGEST}
    runs = [json.loads(line) for line in run.stdout.splitlines()]
    assert {(found["merge"], found["program"]) for found in runs} == set(
        product(("auto", "ring"), expected)
    )
    for found in runs:
        assert found["digest"] == expected[found["program"]], found
        assert found["steps"] >= 6, found  # of two phases
        assert found["communicators"] > 0, found
        assert found["ended"] == list(range(1, found["steps"] + 1)), found
