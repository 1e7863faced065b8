"""`partition --reorder`: the same graph under other ids, and the way back."""

import h5py
import numpy as np
import pytest
from killed_partition import killed_in, without
from mpi4py import MPI
from test_partition import digest

from mndmst import minimum_spanning_forest
from mndmst.comm.communicator import Comm
from mndmst.comm.world import SingleProcess
from mndmst.host.errors import ConfigError, InputError
from mndmst.io.edge_file import Edges, EdgesInMemory
from mndmst.io.formats import open_edges, read_edges
from mndmst.io.partitioner.forked_processes import run_forked
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.vertex_numbering import ORDERS
from mndmst.io.partitioner.write_parts import graph_uuid
from mndmst.io.results.graph_names import graph_of_forest, vertex_ids
from mndmst.io.shards.row_reading import ReadInProgress, read_rows
from mndmst.io.shards.sharded_graph import ShardedGraph

REORDERS = ORDERS[1:]


def made(path, edges, order, jobs=1, **options) -> ShardedGraph:
    given = Options(path, 3, reorder=order, quiet=True, **options)
    return run_forked(jobs, partition, EdgesInMemory("edges", edges), given)


def random_edges(num_vertices=400, num_edges=900) -> Edges:
    """Return edges of distinct weights, some of them loops."""
    rng = np.random.default_rng(7)
    ends = rng.integers(0, num_vertices, (2, num_edges)).astype(np.uint32)
    weight = rng.permutation(num_edges).astype(np.int32)
    return Edges(num_vertices, *ends, weight)


def arcs(graph: ShardedGraph) -> list[np.ndarray]:
    indptr, heads, weights = read_rows(graph, 0, graph.num_vertices)
    return [np.repeat(np.arange(graph.num_vertices), np.diff(indptr)), heads, weights]


def listed(edges: Edges) -> list[tuple]:
    columns = (column.tolist() for column in (edges.src, edges.dst, edges.weight))
    return sorted(zip(*columns, strict=True))


@pytest.mark.parametrize("order", REORDERS)
def test_original_ids_give_the_graph_back(tmp_path, order):
    edges = random_edges()
    plain = made(tmp_path / "plain", edges, "none")
    graph = made(tmp_path / order, edges, order)
    assert (plain.reordered, graph.reordered) == (False, True)
    assert plain.uuid != graph.uuid
    original = graph.read_original_ids(0, 400)
    assert sorted(original.tolist()) == list(range(400))
    assert original.tolist() != list(range(400))
    np.testing.assert_array_equal(graph.read_original_ids(100, 300), original[100:300])
    assert listed(read_edges(tmp_path / order)) == listed(
        read_edges(tmp_path / "plain")
    )


@pytest.mark.parametrize("order", ORDERS)
def test_rows_in_memory_have_the_uuid_of_their_graph(tmp_path, order):
    graph = made(tmp_path / "graph", random_edges(), order)
    reading = ReadInProgress(graph, 0, graph.num_vertices)
    reading.read()
    comm = Comm(MPI.COMM_SELF)
    uuid = graph_uuid(comm, reading.rows, graph.weight_dtype, vertex_ids(graph))
    assert uuid == graph.uuid


@pytest.mark.parametrize("order", REORDERS)
def test_any_number_of_processes_finds_the_same_order(tmp_path, order):
    edges = random_edges()
    expected = digest(made(tmp_path / "1", edges, order).path.parent)
    for jobs in (2, 5):
        found = made(tmp_path / f"{jobs}", edges, order, jobs)
        assert digest(found.path.parent) == expected


def test_a_restart_keeps_the_order(tmp_path):
    expected = digest(made(tmp_path / "whole", random_edges(), "bfs").path.parent)
    with killed_in("write_part"):
        made(tmp_path / "graph", random_edges(), "bfs", restart=True)
    with pytest.raises(ConfigError, match="was left by a run with"):
        made(tmp_path / "graph", random_edges(), "rcm", restart=True)
    with without("save_order"):
        graph = made(tmp_path / "graph", random_edges(), "bfs", restart=True)
    assert digest(graph.path.parent) == expected


def shuffled_path(length: int) -> Edges:
    names = np.random.default_rng(3).permutation(length).astype(np.uint32)
    weight = np.arange(length - 1, dtype=np.int32)
    return Edges(length, names[:-1], names[1:], weight, directed=False)


def reach(graph: ShardedGraph) -> int:
    """Return the largest distance between neighbours' ids."""
    tails, heads, _ = arcs(graph)
    return int(abs(tails - heads.astype(int)).max())


def test_searches_bring_neighbours_together(tmp_path):
    edges = shuffled_path(500)
    assert reach(made(tmp_path / "none", edges, "none")) > 100
    assert reach(made(tmp_path / "bfs", edges, "bfs")) <= 2  # two arms, in turns
    assert reach(made(tmp_path / "rcm", edges, "rcm")) == 1


def test_degrees_descend(tmp_path):
    made(tmp_path / "graph", random_edges(300, 5000), "none")
    once = read_edges(tmp_path / "graph")  # no loops, nothing twice
    graph = made(tmp_path / "degree", once, "degree")
    assert (np.diff(np.diff(graph.read_indptr(0, 300))) <= 0).all()


def test_a_file_that_does_not_say_its_vertices(tmp_path):
    (tmp_path / "few.txt").write_text("0 3 5\n3 7 2\n7 1 4\n")
    (tmp_path / "few.gr").write_text("p sp 8 3\na 1 4 5\na 4 8 2\na 8 2 4\n")
    for name, first in (("few.txt", 0), ("few.gr", 1)):
        options = Options(tmp_path / f"{name}.d", reorder="degree", quiet=True)
        graph = run_forked(2, partition, open_edges(tmp_path / name), options)
        ids = [first + vertex for vertex in (3, 7, 0, 1, 2, 4, 5, 6)]
        assert graph.read_original_ids(0, 8).tolist() == ids


@pytest.mark.parametrize("order", REORDERS)
def test_one_id_that_is_far_too_large(tmp_path, order):
    file = tmp_path / "wrong.gr"
    file.write_text("p sp 100000000000000 3\na 1 4 5\na 4 100000000000000 2\na 8 2 4\n")
    with pytest.raises(ConfigError, match=r"wrong\.gr: .* is 100000000000000, .*fix"):
        options = Options(tmp_path / "graph", reorder=order, quiet=True)
        partition(SingleProcess(), open_edges(file), options)
    assert not (tmp_path / "graph").exists()


def test_a_lonely_arc_is_named_by_its_original_ids(tmp_path):
    class Both(EdgesInMemory):
        both_directions = True

    ends = np.array([[0, 5, 2], [5, 0, 6]], np.uint32)
    edges = Edges(9, *ends, np.array([1, 1, 4], np.int32), True)
    with pytest.raises(InputError, match=r"the arc \(2, 6\) of weight 4"):
        options = Options(tmp_path / "graph", reorder="degree", quiet=True)
        partition(SingleProcess(), Both("edges", edges), options)


def test_ties_leave_the_total_weight(tmp_path):
    edges = random_edges(300, 3000)
    tied = Edges(300, edges.src, edges.dst, edges.weight % 5)
    graphs = [made(tmp_path / order, tied, order) for order in ORDERS]
    forests = [minimum_spanning_forest(*arcs(graph)) for graph in graphs]
    assert len({forest.total_weight for forest in forests}) == 1


def test_the_forest_of_distinct_weights_is_the_same(tmp_path, mndmst):
    plain = made(tmp_path / "plain", random_edges(), "none")
    graph, forest, text = (tmp_path / name for name in ("rcm", "rcm.h5", "rcm.txt"))
    made(graph, random_edges(), "rcm")
    for command in (
        ("solve", graph, "-o", forest),
        ("verify", graph, forest),
        ("convert", forest, text, "--graph", graph),
    ):
        assert mndmst(*command).returncode == 0
    expected = minimum_spanning_forest(*arcs(plain))
    columns = expected.src, expected.dst, expected.weight
    np.testing.assert_array_equal(np.loadtxt(text, int).T, columns)
    with pytest.raises(InputError, match="is the forest of graph"):
        graph_of_forest(forest, tmp_path / "plain")


def test_an_original_id_out_of_range_is_refused(tmp_path):
    graph = made(tmp_path / "graph", random_edges(), "bfs")
    with h5py.File(graph.parts[1], "r+") as part:
        part["original-id"][3] = 400
    with pytest.raises(InputError, match="original id is out of range"):
        read_edges(tmp_path / "graph")
