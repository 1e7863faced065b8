"""What a strategy is bound to: exceptions are called, and others take over from it."""

import hashlib
import json
from collections.abc import Callable
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


@pytest.mark.parametrize(
    ("ranks", "way"),
    [
        (1, {"two_workers": True, "ratio": 0.5}),
        (2, {}),
        (2, {"light_edges": 0}),
        (2, {"merge": "ring", "leader_edges": 0}),
        (2, {"stored": 40}),
    ],
)
def test_an_exception_of_ones_own_is_called_on_every_rank(
    mpirun: Callable, path: Path, ranks: int, way: dict[str, Any]
) -> None:
    run = mpirun(ranks, "-m", "mpi4py", PROGRAM, path, "messages", json.dumps(way))
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["strategy"]["name"] == way.get("merge", "messages")
    assert len(found["calls"]) == ranks and min(found["calls"]) > 0
    assert found["complete"] == 0  # it is asked about borders only
    assert found["forest_edges"] == len(ANSWER.src)
    assert found["labels"] == LABELS_DIGEST


@pytest.mark.parametrize("step", ["peer", "publish", "merge", "receive"])
def test_a_device_that_fails_lets_the_next_strategy_take_over(
    mpirun: Callable, path: Path, step: str
) -> None:
    run = mpirun(2, "-m", "mpi4py", PROGRAM, path, "devices", step)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["digest"] == ANSWER.digest
    assert found["strategy"]["name"] == "hosts"
    (reason,) = found["strategy"]["refused"].values()
    assert "GPU" in reason if step == "peer" else "too little memory" in reason
    steps = ("peer", "publish", "merge", "receive")
    passed = list(steps[1 : steps.index(step) + 1])
    received = [name for name in passed if name != "merge"]
    first = received if step == "publish" else passed
    assert found["passed"] == [first, received]


@pytest.mark.parametrize(
    ("ranks", "way", "joined"),
    [
        (4, {}, [["hook", 1, 4, False], ["heavier", 1, 4, False]]),
        (4, {"hosts": 2}, [["hook", 2, 2, False], ["heavier", 2, 2, False]]),
        (4, {"hosts": 2, "light_edges": 0}, [["hook", 2, 2, False]]),
        (4, {"alternate": 2}, [["hook", 2, 2, False], ["heavier", 2, 2, False]]),
        (3, {"hosts": 2}, [["hook", 2, 2, False], ["heavier", 2, 2, False]]),
        (2, {"merge": "replicated"}, [["hook", 2, 1, False], ["heavier", 2, 1, False]]),
        (4, {"hosts": 2, "much_left": True}, [["hook", 2, 2, True]]),
    ],
)
def test_ranks_of_a_host_are_one_part(
    mpirun: Callable, path: Path, ranks: int, way: dict[str, Any], joined: list
) -> None:
    run = mpirun(ranks, "-m", "mpi4py", PROGRAM, path, "hosts", json.dumps(way))
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["digest"] == ANSWER.digest
    assert found["strategy"]["name"] == way.get("merge", "hosts")
    assert found["joined"] == joined


@pytest.mark.parametrize("merge", ["auto", "ring"])
@pytest.mark.parametrize("what", ["forest", "components"])
def test_a_run_that_ends_before_its_end_leaves_nothing_behind(
    mpirun: Callable, path: Path, merge: str, what: str
) -> None:
    program = PROGRAM.with_name("give_up_program.py")
    run = mpirun(2, "-m", "mpi4py", program, path, 1300, merge, what)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    expected = {"forest": ANSWER.digest, "components": LABELS_DIGEST}
    assert found["digest"] == expected[what]
    assert found["steps"] >= 6  # of two portions
    assert found["ended"] == list(range(1, found["steps"] + 1))
