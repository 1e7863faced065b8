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


def test_rows_are_held_by_a_gpu_streamed_through_it_or_neither() -> None:
    size = GraphSize(64_000_000, 2_000_000_000, np.dtype(np.int32))
    node = Node(cores=16, memory=128 << 30, gpus=4)
    held, streamed, neither = (
        plan_ranks(size, 1, replace(node, gpu_memory=gib << 30), gpus=True)
        for gib in (40, 24, 4)
    )
    assert held is not None and not held.streamed
    assert 8 * size.num_arcs < held.gpu_memory <= 40 << 30
    assert streamed is not None and streamed.streamed
    assert streamed.gpu_memory <= 24 << 30 < held.gpu_memory
    assert streamed.seconds > held.seconds
    assert neither is None


@pytest.mark.parametrize(("ranks", "nodes"), [(1, 1), (4, 1), (5, 2), (9, 3)])
def test_each_gpu_has_one_rank(ranks: int, nodes: int) -> None:
    node = replace(NODE, memory=1 << 40, gpus=4, gpu_memory=141 << 30)
    plan = plan_ranks(SIZE, ranks, node, gpus=True)
    assert plan is not None and plan.nodes == nodes
    assert plan.ranks_per_node * nodes >= ranks and plan.ranks_per_node <= node.gpus


def test_more_vertices_than_a_gpu_numbers_are_planned_for_cpus() -> None:
    node = Node(64, 1 << 42, gpus=8, gpu_memory=1 << 42)
    size = GraphSize(2**30 + 1, 8, np.dtype(np.float32))
    assert plan_ranks(size, 1, node, gpus=True) is None
    assert plan_ranks(size, 2, node, gpus=True) is not None  # few neighbours
    assert plan_ranks(size, 1, node) is not None


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


def test_a_plan_with_gpus_submits_the_script_of_gpus(
    capsys: pytest.CaptureFixture,
) -> None:
    node = ["--node-memory", "1TiB", "--node-cores", "64"]
    words = ["plan", "64M,8G", *node, "--ranks", "1", "4"]
    assert main([*words, "--gpu-memory", "141GB", "--node-gpus", "4"]) == 0
    _, node_line, _, *rows, last = capsys.readouterr().out.splitlines()
    assert node_line == "node: 64 cores, 1 TiB, 4 GPUs of 131.3 GiB"
    devices = [row.split(" s  ")[1].split(" with")[0] for row in rows]
    assert devices == ["CPU", "GPU, streams the rows", "CPU", "GPU, holds the rows"]
    assert re.fullmatch(
        r"sbatch --nodes=1 --ntasks-per-node=4 --cpus-per-task=16 --gpus-per-node=4 "
        r"--mem=\d+M slurm/gpu\.sbatch GRAPH FOREST\.h5",
        last,
    )


def test_gpus_that_are_too_small_leave_the_plan_of_cpus(
    capsys: pytest.CaptureFixture,
) -> None:
    words = ["plan", "64M,1G", "--node-memory", "1TiB", "--gpu-memory", "1GiB"]
    assert main(words) == 0
    *_, said, last = capsys.readouterr().out.splitlines()
    assert said.startswith("No rank of these runs suits a GPU") and "1 GiB" in said
    assert "slurm/cpu.sbatch" in last


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("4M,5M --node-gpus 2", "--node-gpus: give the memory of a GPU, too"),
        ("0,5", "give 1 to 2^48 vertices"),
        ("5,-1", "5,-1: give a graph, or whole numbers of vertices and edges"),
        (
            "1e9,1e10 --weights int32",
            "whole numbers of vertices and edges, such as 24M",
        ),
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
