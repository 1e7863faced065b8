"""The programs on sharded graphs, called from Python on one rank."""

from pathlib import Path

import pytest

import mndmst
from mndmst import ConfigError, InputError, MndmstError, OutputError

MPI = pytest.importorskip("mpi4py.MPI", reason="the programs need MPI")
DEMO = Path(__file__).parents[2] / "partitions/demo"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A triangle with a tail: 0-1 5, 1-2 3, 0-2 4, 2-3 1."""
    edges = tmp_path / "edges.csv"
    edges.write_text("source,target,weight\n0,1,5\n1,2,3\n0,2,4\n2,3,1\n")
    return mndmst.partition(edges, tmp_path / "graph", parts=2)


def test_from_an_edge_file_to_a_proof(graph: Path, tmp_path: Path) -> None:
    forest = tmp_path / "f.h5"
    summary = mndmst.solve(graph, MPI.COMM_SELF, output=forest)
    assert (summary.num_vertices, summary.forest_edges, summary.trees) == (4, 3, 1)
    assert list(mndmst.Forest.read(forest)) == [(0, 2, 4), (1, 2, 3), (2, 3, 1)]
    assert mndmst.verify(graph, forest, MPI.COMM_SELF).ok
    found = mndmst.components(graph, MPI.COMM_SELF)
    assert (found.components, found.largest) == (1, 4)


def test_columns_of_a_table_are_named(tmp_path: Path) -> None:
    edges = tmp_path / "streets.csv"
    edges.write_text("u,v,length,travel_time\n0,1,8,3\n0,2,1.5,2\n1,2,2.5,1\n")
    with pytest.raises(InputError, match="length, travel_time"):
        mndmst.partition(edges, tmp_path / "neither")
    for columns in ("weight=travel_time", {"weight": "travel_time"}):
        graph = mndmst.partition(
            edges, tmp_path / "graph", columns=columns, overwrite=True
        )
        assert mndmst.solve(graph, MPI.COMM_SELF).weight == 3


def test_a_forest_follows_changes(graph: Path, tmp_path: Path) -> None:
    before, after = tmp_path / "f.h5", tmp_path / "g.h5"
    mndmst.solve(graph, MPI.COMM_SELF, output=before)
    changes = tmp_path / "changes.csv"
    changes.write_text("op,src,dst,weight\ndelete,2,3,\nset,0,1,1\n")
    summary = mndmst.update(
        graph, before, changes, after, MPI.COMM_SELF, graph_output=tmp_path / "new"
    )
    assert summary.trees == 2
    assert list(mndmst.Forest.read(after)) == [(0, 1, 1), (1, 2, 3)]
    assert mndmst.verify(tmp_path / "new", after, MPI.COMM_SELF, threads=2).ok
    refuted = mndmst.verify(graph, after, MPI.COMM_SELF)
    assert not refuted.ok and refuted.problems


def test_a_checkpoint_is_saved_and_resumed(tmp_path: Path, monkeypatch) -> None:
    place = tmp_path / "state"
    saved = []

    def stop(*_: object) -> None:
        saved.append(sorted(path.name for path in place.iterdir()))
        raise MndmstError("stopped")

    monkeypatch.setattr("mndmst.pipeline.write_forest", stop)
    options = {"checkpoint": place, "checkpoint_interval": 0}
    with pytest.raises(MndmstError, match="stopped"):
        mndmst.solve(DEMO, MPI.COMM_SELF, **options)
    assert saved[0]
    monkeypatch.undo()
    resumed = mndmst.solve(DEMO, MPI.COMM_SELF, resume=True, **options)
    assert resumed.digest == mndmst.solve(DEMO, MPI.COMM_SELF).digest


def test_a_config_is_given_as_a_value() -> None:
    config = mndmst.Config(threads=1, merge="ring")
    summary = mndmst.solve(DEMO, MPI.COMM_SELF, config=config, threads=2, group_size=3)
    assert summary.forest_edges == 5094
    assert summary.report["config"]["group_size"] == 3
    assert summary.report["config"]["threads"] == 2
    assert summary.report["config"]["merge"] == "ring"


def test_options_and_inputs_that_are_wrong(tmp_path: Path, graph: Path) -> None:
    with pytest.raises(ConfigError, match=r"solve\(speed=3\): there is no such option"):
        mndmst.solve(DEMO, MPI.COMM_SELF, speed=3)
    with pytest.raises(ValueError, match="memory"):
        mndmst.components(DEMO, MPI.COMM_SELF, memory="a lot")
    with pytest.raises(InputError, match="nothing"):
        mndmst.solve(tmp_path / "nothing", MPI.COMM_SELF)
    with pytest.raises(ConfigError, match="resume"):
        mndmst.solve(DEMO, MPI.COMM_SELF, resume=True)
    edges = tmp_path / "edges.csv"
    with pytest.raises(OutputError, match="graph"):
        mndmst.partition(edges, graph)
    assert mndmst.partition(edges, graph, overwrite=True) == graph
    with pytest.raises(TypeError, match=r"parts is 2\.5"):
        mndmst.partition(edges, tmp_path / "other", parts=2.5)
    with pytest.raises(ConfigError, match="no such rule"):
        mndmst.partition(edges, tmp_path / "other", weights="heavy")
    assert not (tmp_path / "other").exists()
