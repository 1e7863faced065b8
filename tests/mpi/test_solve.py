"""The same forest for every number of ranks and every way to compute it.

`bash launch/test-everything.sh tests/mpi/test_solve.py` solves every graph in every way
on every number of ranks. Without it a sample is solved.
"""

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import graphs
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from oracle import kruskal, smallest_of_trees
from strides import EVERY_RUN, sampled

PROGRAM = Path(__file__).with_name("solve_program.py")

# Thresholds low enough that tiny graphs take every path of large ones.
CONFIGS: list[dict] = [
    {},
    {"light_edges": 0.4, "team": 1},
    {"merge": "messages"},
    {"merge": "replicated"},
    {"merge": "hosts", "light_edges": 0.4},
    {"group_size": 2, "merge": "ring", "leader_edges": 0, "ring_gain": 0.0},
    {"group_size": 3, "merge": "ring", "leader_edges": 0, "light_edges": 0},
    {"group_size": 8, "merge": "ring", "light_edges": 0.4},
    {"merge": "boruvka"},
    {"near": True},
    {"near": True, "light_edges": 0.7, "merge": "boruvka"},
    {"near": True, "light_edges": 0.4, "merge": "ring", "leader_edges": 0},
    {"merge": "devices"},
    {"host_peers": True},
    {"merge": "ring", "leader_edges": 0, "no_room": True},
    {"merge": "messages", "rounds": True, "round_gain": 0.0, "light_edges": 0.4},
    {"merge": "replicated", "much_left": True},
    {"hosts": 2, "team": 1, "threads": 2},
    {"alternate": 3, "light_edges": 0.4},
    {"hosts": 2, "much_left": True, "light_edges": 0.7},
    {
        "merge": "replicated",
        "much_left": True,
        "rounds": True,
        "round_gain": 0.0,
        "light_edges": 0,
    },
    {"two_workers": True, "ratio": 0.7, "team": 1, "threads": 2},
    {"merge": "replicated", "two_workers": True, "ratio": 0.3, "recursion_edges": 0},
    {"two_workers": True, "ratio": 0.6, "light_edges": 0, "merge": "ring"},
    {"two_workers": True, "ratio": 1.0, "threads": 2},
    {"stored": 7},
    {"stored": 1, "merge": "ring", "leader_edges": 0, "ring_gain": 0.0},
    {"stored": 7, "stopped": True},
    {"stored": 3, "two_workers": True, "ratio": 0.5, "merge": "boruvka"},
]

pytestmark = pytest.mark.mpi


def dense(n: int, m: int, distinct: int, dtype: str, seed: int) -> graphs.Graph:
    """Return a graph with enough edges for light bands, and many ties."""
    values = np.random.default_rng(seed).integers(0, distinct, m)
    return graphs.random(n, m, seed).with_weights(values.tolist(), dtype)


def clustered(clusters: int, size: int) -> graphs.Graph:
    """Return cliques of heavy edges, joined by still heavier ones: no giant."""
    first = np.repeat(np.arange(clusters) * size, size * (size - 1) // 2)
    ends = np.tile(np.triu_indices(size, 1), clusters) + first
    bridges = np.stack([np.arange(clusters - 1), np.arange(1, clusters)]) * size
    src, dst = np.concatenate([ends, bridges], axis=1)
    weight = np.concatenate([ends.sum(axis=0) % 7, bridges.sum(axis=0) + 100])
    return graphs.Graph(clusters * size, src, dst, weight.astype(np.int32))


def drawn(count: int) -> list[graphs.Graph]:
    """Return graphs drawn by hypothesis, the same ones every time."""
    found: list[graphs.Graph] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(graphs.graphs())
    def draw(graph: graphs.Graph) -> None:
        found.append(graph)

    draw()
    return found[:count]


def write_cases(folder: Path, cases: list[Path], configs: list[dict]) -> None:
    """Write the input of the program."""
    (folder / "cases.json").write_text(json.dumps(list(map(str, cases))))
    (folder / "configs.json").write_text(json.dumps(configs))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict]]:
    """Return a folder with graphs and configurations, and the right answers."""
    folder = tmp_path_factory.mktemp("cases")
    chosen = [
        *graphs.NASTY.values(),
        dense(60, 2500, 4, "int32", 1),
        dense(100, 3000, 1 << 30, "uint64", 2),
        dense(250, 3000, 50, "float64", 3),
        dense(120, 2000, 1, "int64", 4),
        clustered(12, 10),
        dense(60, 2500, 9, "int32", 5)._replace(n=400),
        *drawn(12),
    ]
    answers = []
    for number, graph in enumerate(chosen):
        graphs.write_graph(folder / str(number), graph, parts=1 + number % 5)
        answer = kruskal(*graph)
        labels = smallest_of_trees(graph.n, answer.src, answer.dst)
        found = {"digest": answer.digest, "weight": str(answer.total)}
        found |= {"edges": len(answer.src), "m": answer.m}
        answers.append(found | {"labels": zlib.crc32(labels.tobytes())})
    write_cases(folder, [folder / str(i) for i in range(len(chosen))], CONFIGS)
    return folder, answers


LIMIT = 7200 if EVERY_RUN else 280
# Each stride leaves a run for every graph and every configuration.
STRIDES = sampled({1: 29, 2: 29, 3: 29, 4: 29}, more={1: 7, 2: 8, 3: 9, 4: 10, 16: 30})


@pytest.mark.timeout(LIMIT + 20)
@pytest.mark.parametrize(("ranks", "stride"), STRIDES)
def test_one_forest(
    mpirun: Callable, answers: tuple[Path, list[dict]], ranks: int, stride: int
) -> None:
    folder, expected = answers
    run = mpirun(ranks, "-m", "mpi4py", PROGRAM, folder, stride, timeout=LIMIT)
    assert run.returncode == 0, run.stderr[-3000:]
    runs = json.loads(run.stdout)
    pairs = np.add.outer(np.arange(len(expected)), np.arange(len(CONFIGS)))
    assert len(runs) == np.count_nonzero((pairs + ranks) % stride == 0)
    for found in runs:
        place = found.pop("case"), CONFIGS[found.pop("config")]
        assert found == expected[place[0]], place
