"""Clients of a service in threads: some change the graph, others read it.

Every read notes its answer and the version of it. `Model` checks the answer later, when
the batches of all versions are known.
"""

import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from oracle import Answer
from services import Served

from mndmst.host.errors import MndmstError
from mndmst.service.connection import OtherVersionError
from mndmst.service.protocol import version_of

from .case import numbers
from .service_model import Batch, Facts, Model, Observation, Pair, Weights

# How a client may be refused, although it does nothing wrong: others change the graph.
OVERTAKEN = re.compile(
    r"no longer held|no forest is named|forest is not there|has no column|"
    r"no cluster|Give a number from|the request was cancelled"
)
# Texts of refusals of batches that are wrong on purpose
WRONG_BATCH = re.compile(r"no edge|there already|self-loop")
LAST_WEIGHT = 12


class Client(threading.Thread):
    """A client that works until it is stopped, or its service is gone.

    Attributes
    ----------
    seen : list of Observation
    done : int
        How many requests were answered.
    problem : Exception or None
        The error that has ended it before it was told to stop.
    """

    def __init__(self, service: Served, model: Model, draw: random.Random) -> None:
        super().__init__(daemon=True)
        self.service, self.model, self.draw = service, model, draw
        self.rng = numbers(draw)
        self.seen: list[Observation] = []
        self.done = self.overtaken = 0
        self.problem: Exception | None = None
        self.stopping = threading.Event()

    def run(self) -> None:
        """Send requests, one after the other."""
        try:
            with self.service.connect() as client:
                graph = client["g"]
                while not self.stopping.is_set():
                    try:
                        self.step(graph)
                        self.done += 1
                    except OtherVersionError:
                        self.overtaken += 1
                    except MndmstError as error:
                        if not OVERTAKEN.search(str(error)):
                            raise
                        self.overtaken += 1
        except Exception as error:
            if not self.stopping.is_set():
                self.problem = error

    def step(self, graph: Any) -> None:
        """Do one request."""
        raise NotImplementedError


class Writer(Client):
    """Changes the pairs that it has for itself.

    Attributes
    ----------
    pending : Batch or None
        Sent, and not acknowledged.
    """

    def __init__(
        self,
        service: Served,
        model: Model,
        draw: random.Random,
        pairs: list[Pair],
        edges: Weights,
    ) -> None:
        super().__init__(service, model, draw)
        self.pairs = pairs
        self.edges = {pair: edges[pair] for pair in pairs if pair in edges}
        self.pending: Batch | None = None

    def step(self, graph: Any) -> None:
        """Send a batch, or one that is wrong, and then wait for a while."""
        self._send(graph)
        self.stopping.wait(self.draw.choice((0, 0.01, 0.2)))

    def _send(self, graph: Any) -> None:
        if self.draw.random() < 0.1:
            self._wrong(graph)
        elif self.draw.random() < 0.05:
            graph.snapshot()
        else:
            batch = self._batch()
            after = batch.applied(self.edges)
            assert after is not None
            self.pending = batch
            version = graph.update(**_columns(batch, self.model.dtype))
            self.model.acknowledge(version, batch)
            self.pending, self.edges = None, after

    def _batch(self) -> Batch:
        batch, dtype = Batch(), self.model.dtype
        for pair in self.draw.sample(self.pairs, min(len(self.pairs), 4)):
            weight = dtype.type(self.draw.randint(0, LAST_WEIGHT)).item()
            if pair not in self.edges:
                batch.insert[pair] = weight
            elif self.draw.random() < 0.5:
                batch.delete.append(pair)
            else:
                batch.set_weights[pair] = weight
        return batch

    def _wrong(self, graph: Any) -> None:
        """Send a batch whose last change cannot be made; none of it may be."""
        batch = self._batch()
        there = [p for p in self.pairs if p in self.edges and p not in batch.delete]
        if there and self.draw.random() < 0.5:
            batch.insert[self.draw.choice(there)] = self.model.dtype.type(1).item()
        else:
            vertex = self.draw.randrange(self.model.n)
            batch.delete.append((vertex, vertex))
        try:
            graph.update(**_columns(batch, self.model.dtype))
        except OtherVersionError:
            raise
        except MndmstError as error:
            if not WRONG_BATCH.search(str(error)):
                raise
        else:
            raise AssertionError(f"a wrong batch was made: {batch}")


class Reader(Client):
    """Reads tables, forests, labels, clusters and answers, and solves."""

    def __init__(
        self, service: Served, model: Model, draw: random.Random, number: int
    ) -> None:
        super().__init__(service, model, draw)
        self.column = f"column{number}"

    def step(self, graph: Any) -> None:
        """Do one read, and note it with the version that it is of."""
        name, read = self.draw.choice(READS)
        least = self.model.acknowledged
        found = read(self, graph)
        if found is None:
            return
        version, check = found
        # A read sees every batch that was acknowledged before it began
        if version < least:
            raise AssertionError(f"{name} saw version {version} after {least}")
        self.seen.append(Observation(name, version, check))

    def vertices(self, count: int) -> np.ndarray:
        """Return some vertices."""
        return self.rng.integers(0, self.model.n, count)


Check = Callable[[Model, Facts], None]
Read = Callable[[Reader, Any], tuple[int, Check] | None]


def edges(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Read all edges."""
    table = graph.edges()

    def check(_model: Model, facts: Facts) -> None:
        for name in ("src", "dst", "weight"):
            assert table[name].to_pylist() == getattr(facts, name).tolist(), name

    return version_of(table), check


def forest(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Read the forest of the present version."""
    return solved(graph.forest, lambda facts: facts.forest)


def solved(found: Any, right: Callable[[Facts], Answer]) -> tuple[int, Check]:
    """Return how to check a forest: its table, if it is still there, and its totals."""
    table = None
    with suppress(MndmstError):  # others have solved since
        table = found.table
    details = found.details

    def check(_model: Model, facts: Facts) -> None:
        answer = right(facts)
        assert details["forest_edges"] == len(answer.src)
        assert details["trees"] == answer.trees
        assert found.total_weight == answer.total
        if "digest" in details:
            assert details["digest"] == answer.digest
        if table is not None:
            for name in ("src", "dst", "weight"):
                assert table[name].to_pylist() == getattr(answer, name).tolist(), name

    return details["version"], check


def solve(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Solve with the graph's own weights, of some edges."""
    draw = reader.draw
    options: dict[str, Any] = {}
    bound = draw.choice((None, None, draw.uniform(0, LAST_WEIGHT)))
    without = vertices = None
    if bound is not None:
        options["above" if reader.model.maximum else "below"] = bound
    if draw.random() < 0.3:
        without = np.sort(np.stack((reader.vertices(5), reader.vertices(5))), axis=0)
        options["without_edges"] = tuple(without)
    if draw.random() < 0.3:
        vertices = reader.vertices(reader.model.n)
        options["vertices"] = vertices

    def right(facts: Facts) -> Answer:
        keep = np.ones(len(facts.src), np.bool_)
        if bound is not None:
            keep &= beyond(facts, facts.weight, bound)
        if without is not None:
            left = set(zip(*without.tolist(), strict=True))
            pairs = zip(facts.src.tolist(), facts.dst.tolist(), strict=True)
            keep &= np.array([pair not in left for pair in pairs], np.bool_)
        if vertices is not None:
            keep &= np.isin(facts.src, vertices) & np.isin(facts.dst, vertices)
        return facts.forest_by(facts.weight, keep, facts.maximum)

    return solved(graph.solve(**options), right)


def beyond(facts: Facts, weight: np.ndarray, bound: float) -> np.ndarray:
    """Return whether weights are below a bound, or above it in a maximum forest."""
    return weight > bound if facts.maximum else weight < bound


def sent(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Solve with a weight for each edge of a table that was read before."""
    table = graph.edges()
    weight = reader.rng.integers(0, LAST_WEIGHT, table.num_rows)
    maximum = reader.draw.random() < 0.5
    found = graph.solve(weight, version=version_of(table), maximum=maximum)

    version, check = solved(
        found, lambda facts: facts.forest_by(weight, maximum=maximum)
    )
    return version, same_edges(version_of(table), check)


def stored(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Keep a weight for each edge, and solve with the column."""
    table = graph.edges()
    weight = reader.rng.integers(0, LAST_WEIGHT, table.num_rows) * 0.5
    graph.store(reader.column, weight, version=version_of(table))
    found = graph.solve(f"{reader.column} + 0")
    version, check = solved(
        found, lambda facts: facts.forest_by(weight, maximum=facts.maximum)
    )
    return version, same_edges(version_of(table), check)


def same_edges(before: int, check: Check) -> Check:
    """Return a check that the edges of a version before are the same, too."""

    def both(model: Model, facts: Facts) -> None:
        assert model.facts(before).same_edges(facts), f"weights of version {before}"
        check(model, facts)

    return both


def expression(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Solve with weights by an expression of columns."""
    found = graph.solve("where(weight > 5, weight / 2, 9.5 - weight)")

    def right(facts: Facts) -> Answer:
        weight = facts.weight.astype(np.float64)
        weight = np.where(weight > 5, weight / 2, 9.5 - weight)
        return facts.forest_by(weight, maximum=facts.maximum)

    return solved(found, right)


def labels(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Read the labels of components."""
    bound = reader.draw.choice((None, reader.draw.uniform(0, LAST_WEIGHT)))
    request = {"graph": "g", "table": "labels"}
    side = "above" if reader.model.maximum else "below"
    request |= {} if bound is None else {side: bound}
    table = graph.connection.read(request)

    def check(_model: Model, facts: Facts) -> None:
        answer, right = facts.forest, facts.labels
        if bound is not None:
            some = beyond(facts, answer.weight, bound)
            right = _smallest(facts.n, answer.src[some], answer.dst[some])
        assert table["label"].to_pylist() == right.tolist()

    return version_of(table), check


def clusters(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Read clusters by their number, a height or the least size."""
    draw, n = reader.draw, reader.model.n
    sized, height = ("min_size", draw.randint(2, 6)), draw.uniform(0, LAST_WEIGHT)
    rules = [("count", draw.randint(1, n)), ("threshold", height), sized]
    if reader.model.maximum:
        rules[1:] = [("min_weight", height)]
    rule, value = draw.choice(rules)
    table = graph.connection.read({"graph": "g", "table": "clusters", rule: value})

    def check(_model: Model, facts: Facts) -> None:
        answer, found = facts.forest, table["label"].to_numpy()
        assert len(found) == n
        if rule == "min_size":  # the oracle knows no HDBSCAN*, but sizes
            sizes = np.bincount(found[found >= 0], minlength=1)
            assert not (found >= 0).any() or sizes.min() >= value
            return
        kept = np.array(facts.merge_order()[: n - int(value)], np.int64)
        if rule == "threshold":
            kept = np.flatnonzero(answer.weight <= value)
        elif rule == "min_weight":
            kept = np.flatnonzero(answer.weight >= value)
        right = _smallest(n, answer.src[kept], answer.dst[kept])
        right = np.unique(right, return_inverse=True)[1]
        assert found.tolist() == right.tolist()

    return version_of(table), check


def _smallest(n: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    return Facts(n, dict.fromkeys(zip(src.tolist(), dst.tolist(), strict=True), 0),
                 np.dtype(np.int64)).labels  # fmt: skip


def query(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Ask about pairs of vertices."""
    import pyarrow as arrow

    bottleneck = "path_min" if reader.model.maximum else "path_max"
    kind = reader.draw.choice(("connected", bottleneck, "path"))
    u, v = (reader.vertices(reader.draw.choice((1, 3, 60))) for _ in range(2))
    v = np.resize(v, len(u))
    pairs = arrow.table({"u": u, "v": v})
    table = graph.connection.exchange({"graph": "g", "query": kind}, pairs)
    (column,) = table.column_names if kind != bottleneck else [None]
    rows = table.to_pylist() if column is None else table[column].to_pylist()

    def check(_model: Model, facts: Facts) -> None:
        assert len(rows) == len(u)
        for one, other, row in zip(u.tolist(), v.tolist(), rows, strict=True):
            path = facts.path(one, other)
            if kind == "connected":
                assert row == (path is not None), (one, other)
            elif kind == bottleneck:
                sign = -1 if facts.maximum else 1
                last = max(
                    path or (),
                    key=lambda edge: (sign * edge[2], *edge[:2]),
                    default=(None,) * 3,
                )
                assert tuple(row.values()) == tuple(last), (one, other)
            else:
                assert [tuple(e.values()) for e in row] == (path or []), (one, other)

    return version_of(table), check


def changes(reader: Reader, graph: Any) -> tuple[int, Check] | None:
    """Read the changes of the forest since a version, after waiting for a while."""
    newest = reader.model.acknowledged
    since = reader.draw.randint(max(0, newest - 20), newest)
    assert graph.wait(since, timeout=reader.draw.choice((0, 0.05))) >= newest
    try:
        found = graph.changes(since)
        trees = found.trees.to_pylist()
    except OtherVersionError:  # the service began with a snapshot
        assert since < graph.info()["changes_since"]
        return None

    def check(model: Model, facts: Facts) -> None:
        before = model.facts(since)
        old, new = (_edges_of(each.forest) for each in (before, facts))
        rows = [tuple(row.values())[:4] for row in found.edges.to_pylist()]
        versions = found.edges["version"].to_pylist()
        assert all(since < version <= found.version for version in versions)
        left = [(*edge, "left") for edge in old - new]
        entered = [(*edge, "entered") for edge in new - old]
        assert len(rows) == len(left) + len(entered)
        assert set(rows) == {*left, *entered}
        shared = Counter(
            zip(before.labels.tolist(), facts.labels.tolist(), strict=True)
        )
        sizes = [Counter(each.labels.tolist()) for each in (before, facts)]
        changed = {
            (one, other): (count, sizes[0][one], sizes[1][other])
            for (one, other), count in shared.items()
            if not count == sizes[0][one] == sizes[1][other]
        }
        assert changed == {
            (row["before"], row["after"]): tuple(list(row.values())[2:5])
            for row in trees
        }

    return found.version, check


def _edges_of(forest: Answer) -> set[tuple[int, int, Any]]:
    columns = (forest.src, forest.dst, forest.weight)
    return set(zip(*(column.tolist() for column in columns), strict=True))


def facts_of(reader: Reader, graph: Any) -> tuple[int, Check]:
    """Ask for the sizes and the version of the graph."""
    info = graph.info()

    def check(_model: Model, facts: Facts) -> None:
        assert info["num_edges"] == len(facts.src)
        assert info["num_vertices"] == facts.n

    return info["version"], check


def wrong(reader: Reader, graph: Any) -> None:
    """Ask for something that there is not."""
    asks: list[Callable[[], object]] = [
        lambda: graph.solve("nothing"),
        lambda: graph.solve(below=10**30),
        lambda: graph.path([0], [graph.num_vertices]),
        lambda: graph.clusters(count=reader.model.n + 1),
        lambda: graph.connection.ask("solve", graph="h"),
        lambda: graph.connection.ask("release", forest="g.v0"),
    ]
    with suppress(MndmstError):
        reader.draw.choice(asks)()


READS: tuple[tuple[str, Read], ...] = tuple(
    (read.__name__, read)
    for read in (
        edges, forest, solve, sent, stored, expression, labels, clusters, query, query,
        changes, facts_of, wrong,
    )
)  # fmt: skip


def _columns(batch: Batch, dtype: np.dtype) -> dict[str, tuple[Any, ...]]:
    """Return what `Graph.update` takes; some ends the other way round."""
    columns: dict[str, tuple[Any, ...]] = {}
    if batch.delete:
        src, dst = np.array(batch.delete, np.int64).T
        columns["delete"] = dst, src
    for name in ("set_weights", "insert"):
        changes: Weights = getattr(batch, name)
        if changes:
            src, dst = np.array(list(changes), np.int64).T
            columns[name] = src, dst, np.array(list(changes.values()), dtype)
    return columns
