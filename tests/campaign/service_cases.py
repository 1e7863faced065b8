"""Services with several clients that are killed, and continue from their journals."""

import itertools
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import Graph, write_graph
from services import Served

from mndmst.service.connection import ServiceError

from .case import Case, CaseError, expect, numbers
from .results import Results
from .service_clients import LAST_WEIGHT, Client, Reader, Writer
from .service_model import Batch, Model, Observation, Pair, Weights

TYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64")
# Seconds of the clients of a service, and after which a call counts as one that hangs
LOAD, HANGS = (1.0, 4.0), 60.0
STOPPED = 75


def run_one(results: Results, case: Case) -> None:
    """Do one case: a graph, and two or three services one after the other."""
    draw = case.draw()
    with tempfile.TemporaryDirectory() as name:
        try:
            reads = serve(draw, Path(name))
        except (CaseError, pytest.fail.Exception) as error:
            results.add(case, "failed", CaseError(str(error)))
        else:
            results.add(case, f"{reads[0]} ends, right answers")
            for what, count in reads[1].items():
                results.count(case, f"read: {what}", count)


def serve(draw: random.Random, folder: Path) -> tuple[int, dict[str, int]]:
    """Run services; return how many were ended, and the reads by their kinds."""
    graph = small_graph(draw)
    model, pending = Model(graph, draw.random() < 0.4), list[Batch]()
    write_graph(folder / "g", graph, draw.randint(1, 4), model.maximum)
    seen: list[Observation] = []
    overtaken = 0
    services = draw.randint(2, 3)
    for number in range(services):
        ranks = draw.randint(1, 3)
        words = (
            folder / "g",
            "--journal",
            folder / "journal",
            "-q",
            "--backend",
            "cpu",
        )
        service = Served(folder, ranks, *words, *options(draw))
        try:
            settle(service, model, seen, pending)
            found = model.edges(model.acknowledged)
            # No service follows the last one and shows which batches it had
            killed = draw.random() < 0.5 and number < services - 1
            clients = begun(draw, service, model, found)
            time.sleep(draw.uniform(*LOAD))
            if killed:
                kill(draw, service)
            pending = stopped(clients, killed)
            seen.extend(itertools.chain.from_iterable(c.seen for c in clients))
            overtaken += sum(client.overtaken for client in clients)
            if not killed:
                end(draw, service)
        finally:
            service.kill()
    expect(not pending, "a service that was stopped left batches unanswered")
    check(model, seen)
    counts = {"overtaken by changes": overtaken}
    for each in seen:
        counts[each.what] = counts.get(each.what, 0) + 1
    return services, counts


def options(draw: random.Random) -> tuple[object, ...]:
    """Return options of a service."""
    merge = draw.choice(("auto", "messages", "ring"))
    return ("--threads", draw.randint(1, 2), "--merge", merge)


def settle(
    service: Served, model: Model, seen: list[Observation], pending: list[Batch]
) -> None:
    """Find out which batches a service has, and check the reads of those before it.

    Parameters
    ----------
    pending : list of Batch
        Those that the service before has not acknowledged.
    """
    with service.connect() as client:
        model.settle(*now(client["g"]), pending)
    check(model, seen)


def begun(
    draw: random.Random, service: Served, model: Model, found: Weights
) -> list[Client]:
    """Return clients that work."""
    clients: list[Client] = [
        Writer(service, model, random.Random(draw.random()), pairs, found)
        for pairs in divided(model.n, draw.randint(1, 2), draw)
        if pairs
    ]
    clients += [
        Reader(service, model, random.Random(draw.random()), number)
        for number in range(draw.randint(1, 4))
    ]
    for client in clients:
        client.start()
    return clients


def stopped(clients: list[Client], killed: bool) -> list[Batch]:
    """Stop clients; return the batches that were not acknowledged."""
    for client in clients:
        client.stopping.set()
    for client in clients:
        client.join(HANGS)
    hanging = [type(client).__name__ for client in clients if client.is_alive()]
    expect(not hanging, f"after {HANGS:.0f} s still waiting: {hanging}")
    for client in clients:
        problem = client.problem
        # Those that notice a kill before they are stopped say so
        fine = problem is None or (killed and isinstance(problem, ServiceError))
        expect(fine, f"{type(problem).__name__}: {problem}")
    pending = [client.pending for client in clients if isinstance(client, Writer)]
    return [batch for batch in pending if batch is not None]


def kill(draw: random.Random, service: Served) -> None:
    """End a service at once: all of it, or one rank, which ends the others."""
    ranks = list(service.ranks().values())
    if len(ranks) > 1 and draw.random() < 0.5:
        with suppress(ProcessLookupError):
            os.kill(draw.choice(ranks), signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            service.process.wait(HANGS)
        expect(service.process.poll() is not None, "the other ranks go on")
    service.kill()


def end(draw: random.Random, service: Served) -> None:
    """End a service by a client, or by a signal."""
    if draw.random() < 0.3:
        with service.connect() as client:
            client.shutdown()
        status = 0
    else:
        service.process.send_signal(signal.SIGUSR1)  # which every launcher hands on
        status = STOPPED
    try:
        _, err = service.process.communicate(timeout=HANGS)
    except subprocess.TimeoutExpired as error:
        raise CaseError("the service does not end") from error
    text = err.decode(errors="replace")
    expect(
        service.process.returncode == status, f"{service.process.returncode}: {text}"
    )
    expect("Traceback" not in text, text)


def check(model: Model, seen: list[Observation]) -> None:
    """Check reads; keep their kinds, to count them, and drop the checks."""
    model.check(seen)
    seen[:] = [each._replace(check=_checked) for each in seen]


def _checked(*_: object) -> None:
    """Accept a read that was checked before."""


def now(graph: Any) -> tuple[int, Weights]:
    """Return the version of a graph, and its edges."""
    table = graph.edges()
    columns = (table[name].to_pylist() for name in ("src", "dst", "weight"))
    found = {(u, v): weight for u, v, weight in zip(*columns, strict=True)}
    return graph.info()["version"], found


def divided(n: int, writers: int, draw: random.Random) -> Iterator[list[Pair]]:
    """Yield the pairs that each writer has for itself."""
    pairs = list(itertools.combinations(range(n), 2))
    draw.shuffle(pairs)
    for number in range(writers):
        yield pairs[number::writers]


def small_graph(draw: random.Random) -> Graph:
    """Return a graph of few vertices, many weights of which are equal."""
    n = draw.choice((2, 3, 10, 40, 120))
    pairs = list(itertools.combinations(range(n), 2))
    chosen = draw.sample(pairs, min(len(pairs), draw.randint(0, 3 * n)))
    src, dst = np.array(sorted(chosen), np.int64).reshape(-1, 2).T
    dtype = draw.choice(TYPES)
    weight = numbers(draw).integers(0, LAST_WEIGHT, len(src)).astype(dtype)
    return Graph(n, src, dst, weight)
