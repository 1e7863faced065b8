"""Files that are there, and Python: the rule of the commands, with `overwrite=True`."""

from pathlib import Path

import graphs
import pytest
from mpi4py import MPI

import mndmst
from mndmst.host.errors import OutputError


def test_a_forest_replaces_a_forest_and_no_other_file(tmp_path: Path) -> None:
    forest = mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 0], [3, 1, 2])
    path = tmp_path / "f.h5"
    forest.write(path)
    forest.write(path, labels=True)
    path.write_text("precious")
    with pytest.raises(OutputError, match=r"f\.h5: exists, .*overwrite=True"):
        forest.write(path)
    assert path.read_text() == "precious"
    forest.write(path, overwrite=True)
    assert list(mndmst.Forest.read(path)) == list(forest)


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".gr"])
def test_tables_are_replaced_on_request(tmp_path: Path, suffix: str) -> None:
    forest = mndmst.minimum_spanning_forest([0, 1, 2], [1, 2, 0], [3, 1, 2])
    path = tmp_path / f"f{suffix}"
    forest.write(path)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="does not prove which program wrote it"):
        forest.write(path)
    forest.write(path, overwrite=True)
    assert path.read_bytes() == before


def test_solve_refuses_before_it_reads(tmp_path: Path) -> None:
    notes = tmp_path / "notes.h5"
    notes.write_text("precious")
    with pytest.raises(OutputError, match=r"notes\.h5: exists"):
        mndmst.solve(tmp_path / "missing", MPI.COMM_SELF, output=notes)
    assert notes.read_text() == "precious"
    graphs.write_graph(tmp_path / "g", graphs.path(5))
    for _ in range(2):
        mndmst.solve(tmp_path / "g", MPI.COMM_SELF, output=notes, overwrite=True)
    mndmst.solve(tmp_path / "g", MPI.COMM_SELF, output=notes)
    assert len(mndmst.Forest.read(notes)) == 4
