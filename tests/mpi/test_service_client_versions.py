"""Versions in a shell: `edges` prints one, and `--for-version` sends one."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graphs import simple_path, write_graph
from processes import Run
from services import Served, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.host.errors import InputError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("service")
    write_graph(folder / "g", simple_path(N), 2)
    with served(folder, 2, folder / "g", "-q") as service:
        yield service


def test_files_are_for_a_version(
    service: Served, tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    def client(*words: object) -> Run:
        return mndmst("client", service.address, *words)

    (tmp_path / "delete.csv").write_text("src,dst\n0,1\n")
    (tmp_path / "insert.csv").write_text("src,dst,weight\n0,9,7\n")
    written = client("edges", "g", "-o", tmp_path / "edges.csv")
    assert written.stdout == "version=0\n"
    weights = tmp_path / "weights.npy"
    np.save(weights, np.arange(N - 1))
    solve = ("solve", "g", "--weights", weights, "--for-version")
    assert "edges=29" in client(*solve, 0).stdout
    changes = ("--delete", tmp_path / "delete.csv", "--insert", tmp_path / "insert.csv")
    refused = client("update", "g", *changes, "--for-version", 3)
    assert refused.returncode == 1
    assert "version 3 of g" in refused.stderr and "version 0" in refused.stderr
    assert client("update", "g", *changes, "--for-version", 0).stdout == "version=1\n"
    for words in (solve, ("store", "g", "hours", weights, "--for-version")):
        refused = client(*words, 0)
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
        assert "version 0 of g" in refused.stderr and "version 1" in refused.stderr
        assert client(*words, 1).returncode == 0


def test_a_version_is_for_weights_that_are_sent(service: Served) -> None:
    with service.connect() as connected:
        for weights in (None, "weight"):
            with pytest.raises(InputError, match="for weights that are sent"):
                connected["g"].solve(weights, version=1)
