"""Times of requests to a service on ranks of this machine."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from mndmst.host.errors import optional
from mndmst.service.session import Session

CHANGES, BATCHES, PAIRS, FEW_PAIRS, EMPTY = 1000, 8, 1_000_000, 1000, 50


@dataclass(frozen=True)
class ServiceRow:
    """A request and the seconds of each repetition."""

    name: str
    seconds: list[float]

    def text(self) -> str:
        """Return a line of the table, in milliseconds."""
        least, middle = 1e3 * min(self.seconds), 1e3 * median(self.seconds)
        return f"{self.name:<44} {middle:12.2f} {least:12.2f}"


def measure(graph: Path, ranks: int, repeat: int) -> Iterator[ServiceRow]:
    """Start a service of a directory of shards and yield the times of its requests.

    Each request is made `repeat` times, after one that does not count.
    """
    with Session(graph, ranks=ranks) as held:

        def timed(name: str, ask: Callable[[], Any], times: int = repeat) -> ServiceRow:
            ask()
            return ServiceRow(name, [_seconds(ask) for _ in range(times)])

        yield timed("empty request", held.info, EMPTY)
        edges, n = held.edges(), held.num_vertices
        draw = np.random.default_rng(1)
        weights = draw.random(edges.num_rows, dtype=np.float32)
        held.store("column", weights)
        kernel: list[float] = []

        def solve() -> None:
            found: Any = held.solve("column")
            kernel.append(found.details["seconds"])

        yield timed("solve, weights by a column", solve)
        yield ServiceRow("the kernel in it, on the same ranks", kernel[1:])
        yield timed("solve, weights sent", lambda: held.solve(weights))
        yield timed("solve, maximum", lambda: held.solve("column", maximum=True))
        yield from _stream(held, repeat)
        u, v = draw.integers(0, n, (2, PAIRS))
        yield timed(f"connected, {PAIRS:,} pairs", lambda: held.connected(u, v))
        yield timed(f"path_max, {PAIRS:,} pairs", lambda: held.path_max(u, v))
        yield from _changes(held, edges, draw, timed)


def _changes(
    held: Any, edges: Any, draw: np.random.Generator, timed: Callable[..., ServiceRow]
) -> Iterator[ServiceRow]:
    """Yield the times of batches: new edges, any edges, forest edges."""
    src, dst = edges["src"].to_numpy(), edges["dst"].to_numpy()
    n, weight = held.num_vertices, edges["weight"].to_numpy()
    ends = np.unique(np.sort(draw.integers(0, n, (16 * CHANGES, 2)), axis=1), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]]
    known, wanted = src * n + dst, ends[:, 0] * n + ends[:, 1]  # both ascend
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    new = ends[known[place] != wanted]
    come = draw.permutation(new)[: BATCHES * CHANGES]
    columns = (*come.T, draw.choice(weight, len(come)))
    arriving = zip(*(np.array_split(c, BATCHES) for c in columns), strict=True)
    name = f"insert {CHANGES:,} edges"
    yield timed(name, lambda: held.insert(*next(arriving)), BATCHES - 1)
    for kind in ("", "forest "):
        tail, head = (held.forest.src, held.forest.dst) if kind else (src, dst)
        order = draw.permutation(len(tail))[: BATCHES * CHANGES]
        parts = iter(np.array_split(order, BATCHES))
        leaving = ((tail[part], head[part]) for part in parts)
        name = f"delete {CHANGES:,} {kind}edges"
        yield timed(name, lambda: held.delete(*next(leaving)), BATCHES - 1)  # noqa: B023
    u, v = draw.integers(0, n, (2, FEW_PAIRS))
    asked = []
    for _ in range(BATCHES):
        tail, head = held.forest.src, held.forest.dst
        chosen = draw.permutation(len(tail))[:CHANGES]
        held.delete(tail[chosen], head[chosen])
        asked.append(_seconds(lambda: held.path_max(u, v)))
    yield ServiceRow(f"path_max, {FEW_PAIRS:,} pairs, after a change", asked)


def _stream(held: Any, repeat: int) -> Iterator[ServiceRow]:
    """Yield the times of a forest to a client, and of its table from a bare server."""
    flight = optional("pyarrow.flight", "serve")
    forest = held.solve()
    table = forest.table

    class Bare(flight.FlightServerBase):  # type: ignore[name-defined, misc]
        def do_get(self, context: Any, ticket: Any) -> Any:
            return flight.RecordBatchStream(table)

    request = {"graph": held.name, "table": "forest"}
    request["forest"] = forest.details["forest"]
    connection, ticket = held.connection, flight.Ticket(b"")
    with Bare("grpc+tcp://127.0.0.1:0") as server:
        client = flight.connect(f"grpc+tcp://127.0.0.1:{server.port}")
        ours, bare = [], []
        for _ in range(repeat):
            ours.append(_seconds(lambda: connection.read(request)))
            bare.append(_seconds(lambda: client.do_get(ticket).read_all()))
        client.close()
    size = f"{table.nbytes / 1e6:.0f} MB"
    yield ServiceRow(f"a forest to a client, {size}", ours)
    yield ServiceRow(f"a bare server of that table, {size}", bare)


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
