"""The whole program with GPU workers against the oracle."""

import json
from collections.abc import Callable
from pathlib import Path

import graphs
import pytest
from oracle import Answer, kruskal
from processes import ROOT

from mndmst.backends import accelerator
from mndmst.backends.cuda import unavailable

PROGRAM = ROOT / "tests" / "mpi" / "solve_program.py"
CONFIGS: list[dict] = [
    {"backend": "cuda"},
    {"backend": "cuda", "no_peer": True},
    {"backend": "cuda", "merge": "messages"},
    {"backend": "cuda", "merge": "boruvka", "light_edges": 0.4},
    {"backend": "auto", "ratio": 0.5, "light_edges": 0, "merge": "ring"},
    {"backend": "auto", "ratio": 0.3, "recursion_edges": 0},
    {"backend": "cuda", "merge": "devices"},
    {"backend": "auto", "ratio": 1.0, "merge": "devices"},
]

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.mpi,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Answer]]:
    """Return a folder of graphs and configurations, and the right answers."""
    folder = tmp_path_factory.mktemp("cases")
    large = graphs.random(20_000, 300_000, 1)
    chosen = [
        *graphs.NASTY.values(),
        large.with_weights(list(range(1000, 0, -1)), "float64"),
        large.with_weights([3, -3, 1], "int32"),
    ]
    cases = [
        str(graphs.write_graph(folder / str(number), graph, parts=3))
        for number, graph in enumerate(chosen)
    ]
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "configs.json").write_text(json.dumps(CONFIGS))
    return folder, [kruskal(*graph) for graph in chosen]


@pytest.mark.parametrize("ranks", [1, 4])
def test_the_forest_of_the_oracle(
    mpirun: Callable, answers: tuple[Path, list[Answer]], ranks: int
) -> None:
    folder, expected = answers
    run = mpirun(ranks, "-m", "mpi4py", PROGRAM, folder, 1, timeout=280)
    assert run.returncode == 0, run.stderr[-3000:]
    runs = json.loads(run.stdout)
    assert len(runs) == len(expected) * len(CONFIGS)
    for found in runs:
        answer = expected[found["case"]]
        place = found["case"], CONFIGS[found["config"]]
        assert found["digest"] == answer.digest, place
        assert (found["m"], found["weight"]) == (answer.m, str(answer.total)), place


def test_devices_merge_by_themselves(mpirun: Callable, tmp_path: Path) -> None:
    if len(accelerator("cuda").device_ids()) < 2:
        pytest.skip("there is one device: ranks that share it wait for one of them")
    graph = graphs.random(20_000, 300_000, 1)
    path = graphs.write_graph(tmp_path / "graph", graph, parts=3)
    report = tmp_path / "report.json"
    run = mpirun(
        3, "-m", "mndmst", "solve", path, "--backend", "cuda", "--merge", "devices",
        "--report", report,
    )  # fmt: skip
    assert run.result["digest"] == kruskal(*graph).digest
    stages = json.loads(report.read_text())["ranks"][0]["stages"]
    (stage,) = [entry for entry in stages if entry["stage"] == "devices"]
    assert stage["edges_offered"] >= len(kruskal(*graph).src)
