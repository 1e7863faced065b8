"""The real graphs: known weights, one digest for every number of ranks, a proof."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import ROOT

from mndmst.__main__ import main
from mndmst.io.shards.sharded_graph import open_graph

PROGRAM = ROOT / "tests" / "mpi" / "solve_program.py"
# For each number of ranks, ways to compute; and which graphs, one of so many for each.
RANKS = {
    1: ([{}], 1),
    2: ([{}], 1),
    4: ([{"threads": 1}, {"merge": "boruvka"}], 2),
    16: ([{}], 4),
}
# One of each kind for the command: others are like these.
SHOWN = (
    "rome99", "osm-world-highways", "web-cnr-2000", "snap-email-Enron",
    "mesh-copter2", "knn8-geonames-cities500",
)  # fmt: skip

pytestmark = [pytest.mark.mpi, pytest.mark.data, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def shards(real_graphs: list, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every real graph in 16 parts."""
    folder = tmp_path_factory.mktemp("real")
    for graph in real_graphs:
        target = str(folder / graph.name)
        assert main(["partition", str(graph.path), target, "--parts", "16"]) == 0
    cases = [str(folder / graph.name) for graph in real_graphs]
    (folder / "cases.json").write_text(json.dumps(cases))
    return folder


def test_vertices_and_arcs_are_those_of_the_files(
    shards: Path, real_graphs: list
) -> None:
    for real_graph in real_graphs:
        graph = open_graph(shards / real_graph.name)
        assert graph.num_vertices == real_graph.n, real_graph.name
        assert graph.num_arcs == 2 * real_graph.m, real_graph.name


def test_known_answers_on_any_ranks(
    mpirun: Callable, shards: Path, real_graphs: list
) -> None:
    digests = set()
    for ranks, (configs, stride) in RANKS.items():
        (shards / "configs.json").write_text(json.dumps(configs))
        run = mpirun(ranks, "-m", "mpi4py", PROGRAM, shards, stride, timeout=500)
        assert run.returncode == 0, run.stderr[-3000:]
        found = json.loads(run.stdout)
        assert len(found) >= len(real_graphs) * len(configs) // stride
        for one in found:
            graph = real_graphs[one["case"]]
            assert one["weight"] == str(graph.weight), graph.name
            assert one["m"] == graph.m, graph.name
            assert one["edges"] == graph.n - graph.trees, graph.name
            digests.add((graph.name, one["digest"], one["labels"]))
    assert len(digests) == len(real_graphs)


@pytest.mark.parametrize("name", SHOWN)
def test_the_command_and_its_proof(
    mpirun: Callable, mndmst: Callable, shards: Path, real_graphs: list, name: str
) -> None:
    real_graph = next(graph for graph in real_graphs if graph.name == name)
    graph, forest = shards / name, shards / f"{name}.h5"
    solved = mpirun(4, "-m", "mndmst", "solve", graph, "-o", forest, "-q")
    assert solved.returncode == 0, solved.stderr
    assert solved.result["weight"] == str(real_graph.weight)
    assert solved.result["trees"] == str(real_graph.trees)
    proof = mndmst("verify", graph, forest)
    assert proof.returncode == 0, proof.stdout + proof.stderr
    facts = json.loads(mndmst("info", forest, "--json").stdout)
    assert facts["digest"] == solved.result["digest"]


def test_known_numbers_of_components(
    mpirun: Callable, shards: Path, real_graphs: list
) -> None:
    (shards / "configs.json").write_text("[{}]")
    program = PROGRAM.with_name("components_program.py")
    digests = set()
    for ranks in (1, 4):
        run = mpirun(ranks, "-m", "mpi4py", program, shards, 1, timeout=300)
        assert run.returncode == 0, run.stderr[-3000:]
        for one in json.loads(run.stdout):
            graph = real_graphs[one["case"]]
            assert one["components"] == graph.trees, graph.name
            digests.add((graph.name, one["digest"]))
    assert len(digests) == len(real_graphs)
