"""An upload that is refused gives all its memory back."""

import json
import os
import secrets
import time
from pathlib import Path

import numpy as np
import pytest
from graphs import simple_path, write_graph
from services import Served, raw, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
from pyarrow import flight

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30


def put(service: Served, table: arrow.Table, compression: str | None = None) -> None:
    client, _ = raw(service)
    token = Path(service.token_file).read_text().strip()
    options = flight.FlightCallOptions(
        headers=[(b"authorization", f"Bearer {token}".encode())],
        timeout=60,
        write_options=arrow.ipc.IpcWriteOptions(compression=compression),
    )
    command = {"upload": secrets.token_hex(16), "graph": "g", "kind": "weights"}
    descriptor = flight.FlightDescriptor.for_command(json.dumps(command).encode())
    writer, _ = client.do_put(descriptor, table.schema, options)
    with writer:
        writer.write_table(table)


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_memory_of_a_refused_upload(tmp_path: Path, compression: str | None) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    large = arrow.table({"weight": np.zeros(40_000_000)})
    small = arrow.table({"weight": np.zeros(3)})
    with served(tmp_path, 2, tmp_path / "g", "-q", "--memory", "400MiB") as service:
        process = service.ranks()[0]

        def held() -> int:
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")

        put(service, small, compression)
        before = held()
        for _ in range(3):
            with pytest.raises(arrow.ArrowInvalid, match="too little for uploads"):
                put(service, large, compression)
            put(service, small, compression)
        deadline = time.monotonic() + 20
        # gRPC keeps some memory of uncompressed messages, whatever their number
        most = before + large.nbytes * (1 if compression else 3) // 4
        while held() > most and time.monotonic() < deadline:
            time.sleep(0.05)
        assert held() < most
        with service.connect() as client:
            assert len(client["g"].solve(np.arange(N - 1))) == N - 1
