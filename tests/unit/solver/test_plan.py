"""The plan of a run: memory that suffices, nodes for the ranks, and an sbatch line."""

import re
from dataclasses import replace
from pathlib import Path

import graphs
import numpy as np
import pytest

from mndmst.__main__ import main
from mndmst.cli.main import parse
from mndmst.solver.plan import GraphSize, Node, best_plan, plan_ranks

MIB = 1 << 20
SIZE = GraphSize(24_000_000, 116_000_000, np.dtype(np.float64))
NODE = Node(cores=16, memory=4 << 30)


@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 16, 17, 40, 200])
def test_nodes_have_the_memory_and_the_cores_of_their_ranks(ranks: int) -> None:
    plan = plan_ranks(SIZE, ranks, NODE)
    if ranks == 1:
        assert plan is None  # 6.4 GiB
        return
    assert plan is not None and plan.ranks == ranks
    assert plan.ranks_per_node * plan.memory <= NODE.memory
    assert plan.ranks_per_node * plan.cores <= NODE.cores
    assert (plan.nodes - 1) * plan.ranks_per_node < ranks
    assert ranks <= plan.nodes * plan.ranks_per_node


def test_a_rank_holds_its_rows_and_the_work_on_them() -> None:
    plan = plan_ranks(SIZE, 4, NODE)
    assert plan is not None
    arcs, rows = SIZE.num_arcs // 4, SIZE.num_vertices // 4
    assert plan.memory > 12 * arcs + 8 * rows
    narrow = plan_ranks(replace(SIZE, weight_dtype=np.dtype(np.int32)), 4, NODE)
    assert narrow is not None and plan.memory - narrow.memory == 4 * arcs


def test_the_best_plan_has_few_nodes_then_time_then_ranks() -> None:
    found = [plan_ranks(SIZE, ranks, NODE) for ranks in (64, 32, 16, 8, 4, 2)]
    plans = [plan for plan in found if plan is not None]
    best = best_plan(plans)
    assert best.nodes == min(plan.nodes for plan in plans)
    alike = [plan for plan in plans if plan.nodes == best.nodes]
    assert best.seconds == min(plan.seconds for plan in alike)
    fastest = [plan.ranks for plan in alike if plan.seconds == best.seconds]
    assert best.ranks == min(fastest)


def rows_of(text: str) -> dict[int, list[str]]:
    """Return the words of the row of each number of ranks."""
    rows = [line.split() for line in text.splitlines()[3:-1]]
    return {int(words[0]): words[1:] for words in rows}


def test_vertices_and_edges_are_numbers_with_units(
    capsys: pytest.CaptureFixture,
) -> None:
    node = ["--node-memory", "256GiB", "--node-cores", "64"]
    assert main(["plan", "24M,58M", *node]) == 0
    text = capsys.readouterr().out
    assert "24,000,000 vertices, 58,000,000 edges, weights float64" in text
    assert rows_of(text)[8][:3] == ["1", "8", "8"]
    assert main(["plan", "24000000,58000k", *node]) == 0
    assert capsys.readouterr().out == text
    assert main(["plan", "24M,58M", "--ranks", "3", "--weights", "int32", *node]) == 0
    assert list(rows_of(capsys.readouterr().out)) == [3]


def test_the_last_line_submits_to_slurm(capsys: pytest.CaptureFixture) -> None:
    words = ["plan", "1G,50G", "--node-memory", "256GiB", "--node-cores", "64"]
    assert main(words) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        r"sbatch --nodes=6 --ntasks-per-node=\d+ --cpus-per-task=\d+ --mem=\d+M "
        r"slurm/nodes-srun\.sbatch GRAPH FOREST\.h5",
        last,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("0,5", "give 1 to 2^48 vertices"),
        ("5,-1", "no such file"),
        ("5", "no such file"),
        ("4M,5M --node-memory 50MiB", "too little memory for a rank"),
        ("{}/g --weights int32", "--weights goes with N,M"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture, words: str, said: str
) -> None:
    graphs.write_graph(tmp_path / "g", graphs.path(9))
    assert main(["plan", *words.format(tmp_path).split()]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_name_that_reads_as_sizes_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.write_graph(tmp_path / "5,4", graphs.path(5))
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "5,4"]) == 1
    assert "give ./5,4 for the file" in capsys.readouterr().err
    assert main(["plan", "./5,4"]) == 0
    assert "5 vertices, 4 edges" in capsys.readouterr().out


def test_types_are_those_of_graphs() -> None:
    from mndmst.graph.order import WEIGHT_DTYPES

    for dtype in WEIGHT_DTYPES:
        assert parse(["plan", "5,4", "--weights", dtype.name]).weights == dtype.name
