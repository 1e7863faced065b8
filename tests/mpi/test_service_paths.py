"""Paths are streamed: the service holds a part of an answer at a time."""

import json
from pathlib import Path

import numpy as np
import pytest
from graphs import simple_path, write_graph
from services import peak, raw, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
import pyarrow.compute
from pyarrow import flight

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N, PAIRS, MIB = 20_000, 1500, 1 << 20
# All paths take more than this many bytes, of which the service may hold this share.
ALL, SHARE = 100 * MIB, 3


def test_paths_are_answered_in_batches(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N))
    u, v = np.random.default_rng(1).integers(0, N, (2, PAIRS))
    lengths = np.abs(u - v)
    with (
        served(tmp_path, 1, tmp_path / "g", "-q", "--memory", "1GiB") as service,
        service.connect() as graphs,
    ):
        assert len(graphs["g"].path([0, 5], [N - 1, 5])[0]) == N - 1
        before = peak(service)
        client, options = raw(service)
        command = json.dumps({"graph": "g", "query": "path"})
        descriptor = flight.FlightDescriptor.for_command(command)
        writer, reader = client.do_exchange(descriptor, options)
        pairs = arrow.table({"u": u, "v": v})
        received, nbytes, batches = [], 0, 0
        with writer:
            writer.begin(pairs.schema)
            writer.write_table(pairs)
            while len(received) < PAIRS:
                batch = reader.read_chunk().data
                received += arrow.compute.list_value_length(batch["path"]).to_pylist()
                nbytes += batch.nbytes
                batches += 1
            writer.done_writing()
        assert received == lengths.tolist()
        assert reader.schema.metadata[b"version"] == b"0"
        assert batches > 10 and nbytes > ALL
        assert peak(service) - before < nbytes // SHARE
        # The Python client puts the batches together
        few = graphs["g"].path(u[:100], v[:100])
        assert [len(path) for path in few] == lengths[:100].tolist()


def test_a_client_with_the_default_limit_of_grpc_reads_all_tables(
    tmp_path: Path,
) -> None:
    """Other libraries of gRPC refuse messages of 4 MiB; Arrow's have no limit."""
    n = 700_000
    write_graph(tmp_path / "g", simple_path(n))
    with served(tmp_path, 1, tmp_path / "g", "-q") as service:
        _, options = raw(service)
        limit = [("grpc.max_receive_message_length", 4 << 20)]
        client = flight.connect(service.url, generic_options=limit)
        for table, rows in {"edges": n - 1, "forest": n - 1, "labels": n}.items():
            command = json.dumps({"graph": "g", "table": table}).encode()
            descriptor = flight.FlightDescriptor.for_command(command)
            (end,) = client.get_flight_info(descriptor, options).endpoints
            assert client.do_get(end.ticket, options).read_all().num_rows == rows
        u, v = np.arange(n), np.zeros(n, np.int64)
        pairs = arrow.record_batch({"u": u, "v": v})
        for query in ("connected", "path_max"):
            command = json.dumps({"graph": "g", "query": query})
            descriptor = flight.FlightDescriptor.for_command(command)
            writer, reader = client.do_exchange(descriptor, options)
            with writer:
                writer.begin(pairs.schema)
                writer.write_batch(pairs)
                rows = 0
                while rows < n:
                    rows += reader.read_chunk().data.num_rows
                writer.done_writing()
            assert rows == n
