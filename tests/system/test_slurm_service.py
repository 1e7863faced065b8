"""The service in a Slurm of our own: its script, and sessions in an allocation."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import slurm_cluster
from graphs import simple_path, write_graph
from oracle import kruskal
from slurm_cluster import Cluster

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.service.client import Service, connect

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(bool(slurm_cluster.missing()), reason=slurm_cluster.missing()),
]

SESSION = """
import sys
import mndmst

with mndmst.Session(sys.argv[1], ranks=2) as graph:
    print(graph.connection.ask("list")["ranks"], graph.forest.digest)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with slurm_cluster.cluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


def test_a_service_is_requeued_with_its_journal(
    cluster: Cluster, tmp_path: Path
) -> None:
    graph, address = simple_path(60), tmp_path / "address"
    place = write_graph(tmp_path / "g", graph, 2)
    words = (place, address, tmp_path / "journal")
    options = ("--ntasks-per-node=2", "--")
    job = cluster.submit("serve.sbatch", tmp_path / "out", *options, *words)

    def ask(times: int) -> Service:
        said = "SERVING url="
        job.wait_for(said, lambda: job.text().count(said) == times, slurm_cluster.LIMIT)
        found = json.loads(address.read_text())
        return connect(found["url"], token_file=found["token_file"])

    with ask(1) as service:
        assert service.list()["ranks"] == 2
        assert service["g"].forest.digest == kruskal(*graph).digest
        assert service["g"].insert([0], [59], [-1]) == 1
    cluster.ask("scancel", "--batch", "--signal=USR1", job.number)
    with ask(2) as service:
        assert service["g"].info()["version"] == 1
        assert service["g"].forest.total_weight == sum(range(58)) - 1
        service.shutdown()
    assert job.finish() == "COMPLETED", job.text()
    assert job.fields()["Restarts"] == "1"


def test_a_session_in_an_allocation(cluster: Cluster, tmp_path: Path) -> None:
    graph = simple_path(60)
    place = write_graph(tmp_path / "g", graph, 2)
    command = (sys.executable, "-c", SESSION, place)
    said = cluster.ask("salloc", "-N1", "-n2", *command)
    assert f"2 {kruskal(*graph).digest}" in said
