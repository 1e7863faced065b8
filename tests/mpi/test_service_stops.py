"""A service ends: with idle calls, after a fault, and with the program that owns it."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Graph, simple_path, write_graph
from oracle import kruskal
from processes import ROOT, finish
from services import Served, raw, wait_until

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as arrow
from pyarrow import flight

from mndmst.service.client import Service
from mndmst.service.connection import ServiceError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30
PLANTED = ROOT / "tests/mpi/planted_program.py"


def served_with(fault: str, folder: Path, ranks: int, *words: object) -> Served:
    write_graph(folder / "g", simple_path(N), 2)
    return Served(folder, ranks, folder / "g", "-q", *words, program=(PLANTED, fault))


@pytest.mark.parametrize("ranks", (1, 2))
@pytest.mark.parametrize("fault", ("collective-behind-get", "order-behind-get"))
def test_a_collective_behind_a_read_ends_the_tests(
    tmp_path: Path, fault: str, ranks: int
) -> None:
    """The guard that all services of tests run with finds what a thread must not do."""
    service = served_with(fault, tmp_path, ranks)
    try:
        with service.connect() as client, pytest.raises(ServiceError):
            client["g"].edges()
        done = finish(service.process, 60)
        assert done.returncode != 0
        assert "calls MPI; only the main may" in done.stderr
        assert "in collective_batches" in done.stderr or "in order_share" in done.stderr
    finally:
        service.kill()


def test_clients_end_a_service_side_by_side(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    service = Served(tmp_path, 2, tmp_path / "g", "-q")
    try:
        with ThreadPoolExecutor(4) as pool:
            clients = [service.connect() for _ in range(4)]
            ends = [pool.submit(client.shutdown) for client in clients]
            for end in ends:
                try:
                    end.result(60)
                except ServiceError as error:  # came when it had ended
                    assert re.search("no service answers|service ends", str(error))
        assert finish(service.process, 30).returncode == 0
    finally:
        service.kill()


def idle_calls(service: Served) -> list[object]:
    """Begin a query, an upload and a read, and leave them without a word."""
    client, options = raw(service)
    options = flight.FlightCallOptions(headers=options.headers)
    query = json.dumps({"graph": "g", "query": "connected"})
    queried = client.do_exchange(flight.FlightDescriptor.for_command(query), options)
    pairs = arrow.table({"u": [1], "v": [2]})
    queried[0].begin(pairs.schema)
    queried[0].write_table(pairs)
    queried[1].read_chunk()
    upload = {"upload": secrets.token_hex(16), "graph": "g", "kind": "vertices"}
    upload |= {"then": {"action": "solve", "graph": "g", "vertices": upload["upload"]}}
    vertices = arrow.table({"vertex": [1, 2]})
    descriptor = flight.FlightDescriptor.for_command(json.dumps(upload))
    put = client.do_put(descriptor, vertices.schema, options)
    put[0].write_table(vertices)
    return [client, queried, put]


@pytest.mark.parametrize("by", ("client", "signal"))
def test_idle_calls_do_not_keep_a_service(tmp_path: Path, by: str) -> None:
    write_graph(tmp_path / "g", simple_path(N), 2)
    service = Served(tmp_path, 2, tmp_path / "g")
    try:
        calls = idle_calls(service)
        with service.connect() as client:
            if by == "client":
                client.shutdown()
            else:
                service.process.send_signal(signal.SIGTERM)
        done = finish(service.process, 60)
        assert done.returncode == (0 if by == "client" else 75), done
        # The upload was not complete, so the action that was to follow it did not
        assert "mndmst solve" not in done.stderr
        assert len(calls) == 3
    finally:
        service.kill()


def test_an_upload_that_is_cut_off_is_none(tmp_path: Path) -> None:
    """A client that goes in the middle of a batch has sent no batch."""
    write_graph(tmp_path / "g", simple_path(N), 2)
    service = Served(tmp_path, 2, tmp_path / "g")
    try:
        program = f"""
import json, os, pyarrow as arrow
from pyarrow import flight
from mndmst.service.client import connect
held = connect({service.url!r}, token_file={service.token_file!r}).connection
name = "0" * 32
then = dict(action="update", graph="g", insert=name)
command = dict(upload=name, graph="g", kind="changes", then=then)
edges = 1 << 20
columns = dict(src=[0] * edges, dst=[9] * edges, weight=[5] * edges)
table = arrow.table(columns)
descriptor = flight.FlightDescriptor.for_command(json.dumps(command))
client = held._client(held.url)
writer, _ = client.do_put(descriptor, table.schema, held._options)
# More bytes than gRPC buffers: this returns once the server reads them.
writer.write_table(table, max_chunksize=1 << 16)
os._exit(0)
"""
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        with service.connect() as client:
            assert client["g"].info()["version"] == 0
            assert client["g"].insert([0], [9], [5]) == 1
            wait_until(
                lambda: 'status="refused"' in client.metrics(),
                "the service waits for the client",
            )
            client.shutdown()
        assert "mndmst put graph=g status=refused" in finish(service.process, 60).stderr
    finally:
        service.kill()


def release(pool: ThreadPoolExecutor, client: Service, folder: Path) -> Future[Any]:
    """Ask for the planted action, and return once all ranks execute it."""
    held = pool.submit(client.connection.ask, "release", forest=str(folder))
    begun = [folder / f"begun-{rank}" for rank in range(2)]
    wait_until(lambda: all(map(Path.exists, begun)), "not every rank has begun")
    return held


@pytest.mark.parametrize("how", ("bound", "signal"))
def test_ranks_that_wait_for_each_other_end_the_job(tmp_path: Path, how: str) -> None:
    """After the bound of `--timeout`, or sooner once the service is told to end."""
    seconds = "3" if how == "bound" else "100"
    service = served_with("missing-rank", tmp_path, 2, "--timeout", seconds)
    try:
        with ThreadPoolExecutor(1) as pool, service.connect() as client:
            held = release(pool, client, tmp_path)
            if how == "signal":
                service.process.send_signal(signal.SIGTERM)
            with pytest.raises(ServiceError):
                held.result(100)
        done = finish(service.process, 60)
        assert done.returncode != 0
        if how == "bound":
            assert "and no rank computes one" in done.stderr
        service.wait_for_ranks_to_end()
    finally:
        service.kill()


def test_a_rank_that_computes_is_waited_for(tmp_path: Path) -> None:
    service = served_with("late-rank", tmp_path, 2, "--timeout", "2")
    try:
        with service.connect() as client:
            forest = str(tmp_path)
            assert not client.connection.ask("release", forest=forest)["released"]
            client.shutdown()
        assert finish(service.process, 60).returncode == 0
    finally:
        service.kill()


def test_a_rank_that_is_stopped_is_waited_for(tmp_path: Path) -> None:
    service = served_with("late-rank", tmp_path, 2, "--timeout", "2")
    try:
        with ThreadPoolExecutor(1) as pool, service.connect() as client:
            held = release(pool, client, tmp_path)
            rank_1 = service.ranks()[1]
            os.kill(rank_1, signal.SIGSTOP)
            time.sleep(8)
            os.kill(rank_1, signal.SIGCONT)
            assert not held.result(60)["released"]
            client.shutdown()
        assert finish(service.process, 60).returncode == 0
    finally:
        service.kill()


def test_a_rank_that_fails_ends_the_others(tmp_path: Path) -> None:
    """Also those that wait for it, and the requests that wait for their turn."""
    service = served_with("failing-rank", tmp_path, 2)
    try:
        with ThreadPoolExecutor(2) as pool, service.connect() as client:
            held = release(pool, client, tmp_path)
            waiting = pool.submit(client.connection.ask, "solve", graph="g")
            wait_until(
                lambda: "mndmst_jobs_waiting 1.0\n" in client.metrics(),
                "the solve does not wait for its turn",
            )
            (tmp_path / "go").touch()
            for each in (held, waiting):
                with pytest.raises(ServiceError):
                    each.result(60)
        done = finish(service.process, 60)
        assert done.returncode != 0
        assert "IndexError: planted" in done.stderr
        service.wait_for_ranks_to_end()
    finally:
        service.kill()


def test_a_service_ends_with_the_program_it_belongs_to(tmp_path: Path) -> None:
    """Nobody is left to wait for the answer of a long job."""
    write_graph(tmp_path / "g", simple_path(N), 2)
    program = f"""
import sys, threading, time
import mndmst
from mndmst.service import session
session.sys = type(sys)("sys")
session.sys.executable = sys.executable
start = session.subprocess.Popen
def planted(command, **more):
    at = command.index("-m")
    command[at : at + 2] = [{str(PLANTED)!r}, "slow-job"]
    return start(command, **more)
session.subprocess.Popen = planted
held = mndmst.Session({str(tmp_path / "g")!r}, ranks=2).start()
ask = held.connection.ask
forest = {str(tmp_path)!r}
threading.Thread(target=ask, args=("release",), kwargs=dict(forest=forest)).start()
time.sleep(1000)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        wait_until((tmp_path / "begun-1").exists, "the ranks do not execute the job")
        assert ranks_of(tmp_path / "g")
        process.kill()
        killed = time.monotonic()
        wait_until(
            lambda: not ranks_of(tmp_path / "g"), "the ranks outlive the program"
        )
        assert time.monotonic() - killed < 40  # and do not wait for the job
    finally:
        process.kill()
        process.communicate()


def ranks_of(graph: Path) -> list[int]:
    """Return the processes that serve a graph."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if f"graph={graph}".encode() in words.split(b"\0"):
                found.append(int(entry.name))
    return found


def test_a_computing_solve_is_cancelled_and_leaves_nothing(tmp_path: Path) -> None:
    """The next solve has the same forest, whenever the one before was cancelled."""
    rng = np.random.default_rng(1)
    n, m = 100_000, 400_000
    src, dst = rng.integers(0, n, (2, m))
    pairs = np.unique(np.sort(np.stack([src, dst], 1)), axis=0)
    src, dst = pairs[pairs[:, 0] != pairs[:, 1]].T
    graph = Graph(n, src, dst, rng.integers(0, 1000, len(src)).astype(np.int32))
    write_graph(tmp_path / "g", graph, 2)
    answer = kruskal(*graph)
    service = Served(tmp_path, 2, tmp_path / "g", "-q")
    try:
        with service.connect() as client, service.connect() as other:
            held = client["g"]
            assert held.solve().details["weight"] == answer.total
            with ThreadPoolExecutor(1) as pool:
                for wait in (0.0, 0.01, 0.03, 0.06, 0.1, 0.2):
                    name = secrets.token_hex(16)
                    solve = {"graph": "g", "request": name, "digest": True}
                    solve |= {"weights": {"expression": "2 * weight + 1"}}
                    asked = pool.submit(client.connection.ask, "solve", **solve)
                    time.sleep(wait)
                    cancelled = other.cancel(name)
                    try:
                        found = asked.result(60)
                        assert found["digest"] == answer.digest
                        assert not cancelled
                    except ServiceError as error:
                        assert "the request was cancelled" in str(error)
                        assert cancelled
                    assert held.solve().details["weight"] == answer.total
            assert held.forest.digest == answer.digest
            client.shutdown()
        assert finish(service.process, 60).returncode == 0
    finally:
        service.kill()
