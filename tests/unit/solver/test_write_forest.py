"""The forest is sorted over the owners of smaller ends, whoever found its edges."""

from pathlib import Path

import numpy as np
import pytest
from drawn import edge_list, triples

import mndmst
from mndmst.api.programs import partition
from mndmst.comm.directory import Directory
from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.io.results.forest_file import read_forest
from mndmst.kernels.threads import ALONE
from mndmst.pipeline import contract
from mndmst.solver.config import Config
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run import Run
from mndmst.solver.run_report import Report
from mndmst.solver.write import (
    owned_edges,
    send_to_owners,
    smallest_vertices,
    write_forest,
)

SORTED = [(0, 3, 5), (1, 2, 9), (2, 5, 1), (4, 5, 2)]


@pytest.fixture
def directory() -> Directory:
    return Directory(world(), np.array([0, 6]))


def in_order(edges) -> list:
    columns = (column.tolist() for column in (edges.u, edges.v, edges.key))
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize(
    "lists",
    [
        [SORTED],
        [SORTED[::-1]],
        [SORTED[2:], SORTED[:2]],
        [SORTED[::2], SORTED[1::2]],
        [[edge] for edge in SORTED[::-1]],
    ],
)
def test_lists_in_any_order_become_one_in_order(directory, lists) -> None:
    found = [edge_list(edges) for edges in lists]
    assert in_order(send_to_owners(directory, found)) == SORTED
    assert found == []  # the edges were taken out of it


def test_of_parallel_edges_the_lightest_is_left(directory) -> None:
    lists = [edge_list([(0, 3, 7), (1, 2, 9)]), edge_list([(0, 3, 5)])]
    assert triples(owned_edges(directory, lists, ALONE)) == [(0, 3, 5), (1, 2, 9)]


def test_a_tree_is_labelled_by_its_smallest_vertex(directory) -> None:
    # Trees {0, 3}, {1, 2, 5}, {4}; representatives are 3, 5 and 4.
    directory.parent[:] = [3, 5, 1, 3, 4, 5]
    assert smallest_vertices(directory).tolist() == [0, 1, 1, 0, 4, 1]


@pytest.fixture
def solved(tmp_path: Path) -> Run:
    """A contracted triangle of the vertices a, b and c."""
    (tmp_path / "g.csv").write_text("source,target,weight\nb,a,2\nc,b,1\nc,a,9\n")
    graph = partition(tmp_path / "g.csv", tmp_path / "g")
    config = Config(backend="cpu", threads=1)
    run = part_graph(world(), graph, config, Report(world(), Progress(False)))
    contract(run)
    return run


@pytest.mark.parametrize(
    ("numbers", "edges"), [(False, {"a,b,2", "b,c,1"}), (True, {"0,1,2", "1,2,1"})]
)
def test_a_table_has_names_of_vertices_or_numbers(
    tmp_path: Path, solved: Run, numbers: bool, edges: set[str]
) -> None:
    path = tmp_path / "forest.csv"
    write_forest(solved, [path], False, None, with_numbers=numbers)
    assert set(path.read_text().split()[1:]) == edges


@pytest.mark.parametrize(
    "suffixes", [(), (".csv",), (".h5",), (".csv", ".h5"), (".h5", ".hdf5")]
)
def test_a_forest_has_its_digest_wherever_it_is_written(
    tmp_path: Path, solved: Run, suffixes: tuple[str, ...]
) -> None:
    paths = [tmp_path / f"forest{suffix}" for suffix in suffixes]
    summary = write_forest(solved, paths, False, None)
    assert (
        summary.digest == mndmst.minimum_spanning_forest([0, 1], [1, 2], [2, 1]).digest
    )
    for path in paths:
        if path.suffix != ".csv":
            assert read_forest(path).header.digest == summary.digest
    assert (summary.weight, summary.trees) == (3, 1)
