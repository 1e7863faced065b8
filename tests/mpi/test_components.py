"""Connected components, and the calls of HyPar with other exception conditions."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import graphs
import h5py
import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from strides import sampled

PROGRAM = Path(__file__).with_name("components_program.py")

CONFIGS: list[dict] = [
    {},
    {"merge": "ring", "group_size": 2, "leader_edges": 0, "ring_gain": 0.0},
    {"merge": "boruvka", "light_edges": 0.4},
    {"two_workers": True, "ratio": 0.3, "recursion_edges": 0},
    {"exception": "nothing"},
    {"exception": "lightest cut edge", "merge": "boruvka"},
    {"exception": "any cut edge", "merge": "ring", "leader_edges": 0},
    {"near": True},
    {"near": True, "exception": "nothing"},
    {"near": True, "exception": "any cut edge", "light_edges": 0.4},
]

pytestmark = pytest.mark.mpi


def expected(graph: graphs.Graph) -> dict:
    """Return SciPy's answer in our terms."""
    shape = (graph.n, graph.n)
    matrix = coo_array((np.ones(len(graph.src)), (graph.src, graph.dst)), shape)
    count, component = (
        connected_components(matrix, directed=False)
        if graph.n
        else (0, np.empty(0, int))
    )
    # Vertices are visited in descending order, so the smallest of each is the last.
    smallest = np.zeros(count, np.int64)
    smallest[component[::-1]] = np.arange(graph.n)[::-1]
    sizes = np.bincount(component, minlength=count).tolist()
    histogram = np.bincount([size.bit_length() - 1 for size in sizes] or [])
    return {
        "components": count,
        "largest": max(sizes, default=0),
        "histogram": histogram.tolist(),
        "digest": hashlib.sha256(smallest[component].astype("<i8")).hexdigest(),
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict]]:
    """Return a folder with graphs and configurations, and the right answers."""
    folder = tmp_path_factory.mktemp("cases")
    chosen = [
        *graphs.NASTY.values(),
        graphs.random(3000, 2000, 1),
        graphs.random(3000, 1500, 2).with_weights([3, 1, 2, 3], "float64"),
        graphs.random(400, 6000, 3)._replace(n=1000).with_weights([7, 5], "int64"),
    ]
    for number, graph in enumerate(chosen):
        graphs.write_graph(folder / str(number), graph, parts=1 + number % 4)
    cases = [str(folder / str(number)) for number in range(len(chosen))]
    (folder / "cases.json").write_text(json.dumps(cases))
    (folder / "configs.json").write_text(json.dumps(CONFIGS))
    return folder, [expected(graph) for graph in chosen]


@pytest.mark.parametrize(
    ("ranks", "stride"), sampled({1: 10, 4: 10}, more={1: 3, 2: 3, 4: 5})
)
def test_every_condition_finds_scipys_components(
    mpirun: Callable, answers: tuple[Path, list[dict]], ranks: int, stride: int
) -> None:
    folder, right = answers
    run = mpirun(ranks, "-m", "mpi4py", PROGRAM, folder, stride, timeout=280)
    assert run.returncode == 0, run.stderr[-3000:]
    runs = json.loads(run.stdout)
    assert len(runs) >= len(right) * len(CONFIGS) // stride
    for found in runs:
        place = found.pop("case"), CONFIGS[found.pop("config")]
        assert found == {name: right[place[0]][name] for name in found}, place


def test_the_command_writes_labels(
    mpirun: Callable, mndmst: Callable, tmp_path: Path
) -> None:
    graph = graphs.random(2000, 1500, 4)
    right = expected(graph)
    shards = graphs.write_graph(tmp_path / "graph", graph, parts=3)
    labels, report = tmp_path / "labels.h5", tmp_path / "report.json"
    run = mpirun(
        3, "-m", "mndmst", "components", shards, "-o", labels, "--report", report
    )
    assert run.returncode == 0, run.stderr
    for name in ("components", "largest", "digest"):
        assert run.result[name] == str(right[name])
    table = [line.replace(",", "").split() for line in run.stdout.splitlines()]
    assert ["1", str(right["histogram"][0])] in table
    assert ["2", "to", "3", str(right["histogram"][1])] in table
    assert json.loads(report.read_text())["histogram"] == right["histogram"]
    with h5py.File(labels) as file:
        written = file["labels"][:]
    assert hashlib.sha256(written.astype("<i8")).hexdigest() == right["digest"]
    facts = json.loads(mndmst("info", labels, "--json").stdout)
    assert facts["num_components"] == right["components"] and not facts["damage"]


def test_info_sees_labels_that_were_changed(
    mpirun: Callable, mndmst: Callable, tmp_path: Path
) -> None:
    shards = graphs.write_graph(tmp_path / "graph", graphs.path(9))
    labels = tmp_path / "labels.h5"
    assert mpirun(1, "-m", "mndmst", "components", shards, "-o", labels).returncode == 0
    with h5py.File(labels, "r+") as file:
        file["labels"][8] = 8
    run = mndmst("info", labels, "--json")
    assert run.returncode == 1
    first, second = json.loads(run.stdout)["damage"]
    assert "num_components is 2" in first and "digest" in second
    labels.write_bytes(labels.read_bytes()[:-1])
    broken = mndmst("info", labels)
    assert broken.returncode == 1 and f"{labels}: damaged or cut short" in broken.stderr
