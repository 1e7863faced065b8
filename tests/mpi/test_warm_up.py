"""The warm-up has all kernels of a run, so that no rank compiles one on the way."""

import json
from collections.abc import Callable
from pathlib import Path

import graphs
import numpy as np
import pytest

pytestmark = pytest.mark.mpi


def side_by_side(graph: graphs.Graph) -> graphs.Graph:
    """Return two copies of a graph as one."""
    ends = (np.concatenate([end, end + graph.n]) for end in graph[1:3])
    return graphs.Graph(2 * graph.n, *ends, np.tile(graph.weight, 2))


@pytest.mark.parametrize("ranks", [1, 3])
def test_nothing_is_compiled_after_the_warm_up(
    mpirun: Callable, tmp_path: Path, ranks: int
) -> None:
    thin, thick = graphs.random(20_000, 25_000, 1), graphs.random(20_000, 200_000, 2)
    chosen = [thin, thick, thick.with_weights(list(range(1000)), "int64")]
    # Two graphs side by side have no giant component, so that bands follow.
    chosen += [side_by_side(graph) for graph in chosen[1:]]
    paths = [
        graphs.write_graph(tmp_path / str(number), graph)
        for number, graph in enumerate(chosen)
    ]
    program = Path(__file__).with_name("warm_program.py")
    run = mpirun(ranks, "-m", "mpi4py", program, *paths, timeout=280)
    assert run.returncode == 0, run.stderr[-3000:]
    assert json.loads(run.stdout) == []
