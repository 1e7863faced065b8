"""The service answers as a job would, on any number of ranks.

`MNDMST_SERVICE_BATCHES=1250` has so many batches of changes on every number of ranks;
the default is what a check before every commit has time for.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from graphs import NASTY, UUID, Graph, random, write_graph
from oracle import Answer, kruskal
from services import Served, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.io.shards.sharded_graph import open_graph
from mndmst.io.shards.weight_columns import write_column
from mndmst.service.connection import ServiceError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

RANKS = (1, 2, 3, 4)
BATCHES = int(os.environ.get("MNDMST_SERVICE_BATCHES", "20"))


def simple(n: int, m: int, seed: int) -> Graph:
    """Return random edges, each once, in the order of edges; many weights are equal."""
    pairs = np.unique(
        np.sort(np.random.default_rng(seed).integers(0, n, (m, 2))), axis=0
    )
    src, dst = pairs[pairs[:, 0] != pairs[:, 1]].T
    weight = np.random.default_rng(seed + 1).integers(-9, 9, len(src))
    return Graph(n, src, dst, weight.astype(np.int64))


def same(forest, answer: Answer) -> None:
    assert forest.src.tolist() == answer.src.tolist()
    assert forest.dst.tolist() == answer.dst.tolist()
    assert forest.weight.tolist() == answer.weight.tolist()
    assert len(forest) == len(answer.src)
    assert forest.num_trees == answer.trees
    assert forest.total_weight == answer.total


@pytest.mark.parametrize("ranks", RANKS)
def test_forests_are_those_of_kruskal(tmp_path: Path, ranks: int) -> None:
    n, src, dst, weight = graph = simple(500, 3000, 1)
    place = write_graph(tmp_path / "random", graph, 3)
    hours = np.random.default_rng(2).integers(0, 5, len(src)).astype(np.float32)
    write_column(open_graph(place), "hours", hours.dtype, np.array_split(hours, 3))
    with served(tmp_path, ranks, place, "-q") as service, service.connect() as client:
        held = client["random"]
        same(held.forest, kruskal(*graph))
        assert held.forest.digest == kruskal(*graph).digest
        edges = held.edges()
        for name, column in (("src", src), ("dst", dst), ("weight", weight)):
            assert edges[name].to_pylist() == column.tolist()

        sent = np.random.default_rng(3).integers(0, 4, len(src)).astype(np.int32)
        same(held.solve(sent), kruskal(n, src, dst, sent))
        same(held.solve(np.float64(sent)), kruskal(n, src, dst, np.float64(sent)))
        same(held.solve("hours"), kruskal(n, src, dst, hours))
        held.store("kept", sent)
        same(held.solve("kept"), kruskal(n, src, dst, sent))
        mixed = held.solve("2 * kept + where(weight < 0, hours, 1)")
        expected = 2 * sent + np.where(weight < 0, hours, 1).astype(np.float64)
        assert mixed.digest == kruskal(n, src, dst, expected).digest

        heaviest = kruskal(n, src, dst, -weight)
        found = held.solve(weight, maximum=True)
        same(found, heaviest._replace(weight=-heaviest.weight))
        assert found.maximum
        for own in (None, "weight", "2 * weight + hours"):
            with pytest.raises(ServiceError, match="partition --maximum"):
                held.solve(own, maximum=True)
        few = weight < 2
        lighter = src[few], dst[few], weight[few]
        same(held.solve(below=1.5), kruskal(n, *lighter))
        same(held.solve(below=2), kruskal(n, *lighter))
        many = weight > 2
        heaviest = kruskal(n, src[many], dst[many], -weight[many])
        found = held.solve(weight, maximum=True, above=2)
        same(found, heaviest._replace(weight=-heaviest.weight))
        with pytest.raises(ServiceError, match="below belongs to minimum"):
            held.solve(weight, maximum=True, below=2)
        out = np.random.default_rng(4).random(len(src)) < 0.3
        left = src[~out], dst[~out]
        found = held.solve(sent, without_edges=(dst[out], src[out]))
        same(found, kruskal(n, *left, sent[~out]))
        inside = (src >= 100) & (dst < 300) & (src < 300)
        found = held.solve(vertices=np.arange(100, 300))
        same(found, kruskal(n, src[inside], dst[inside], weight[inside]))
        same(held.forest, kruskal(*graph))


@pytest.mark.parametrize("ranks", (1, 3))
def test_graphs_that_break_programs(tmp_path: Path, ranks: int) -> None:
    names = ("no vertex", "one vertex", "no edge", "loops only", "parallel edges",
             "fewer vertices than ranks", "path of ties", "negative")  # fmt: skip
    words = []
    for number, name in enumerate(names):
        write_graph(tmp_path / f"g{number}", NASTY[name], min(2, NASTY[name].n or 1))
        words.append(tmp_path / f"g{number}")
    with served(tmp_path, ranks, *words, "-q") as service, service.connect() as client:
        assert list(client) == [f"g{number}" for number in range(len(names))]
        for number, name in enumerate(names):
            graph, held = NASTY[name], client[f"g{number}"]
            same(held.forest, kruskal(*graph))
            edges = held.edges()
            weight = np.arange(edges.num_rows, 0, -1)
            ends = (edges[end].to_numpy() for end in ("src", "dst"))
            same(held.solve(weight), kruskal(graph.n, *ends, weight))
            assert len(held.components()) == graph.n


def test_queries(tmp_path: Path) -> None:
    graph = simple(60, 80, 5)
    answer = kruskal(*graph)
    place = write_graph(tmp_path / "g", graph, 2)
    with served(tmp_path, 2, place, "-q") as service, service.connect() as client:
        held = client["g"]
        u, v = np.divmod(np.arange(3600), 60)
        paths = {}
        ways: dict[int, list[tuple[int, tuple]]] = {vertex: [] for vertex in range(60)}
        for edge in zip(*(c.tolist() for c in answer[2:]), strict=True):
            ways[edge[0]].append((edge[1], edge))
            ways[edge[1]].append((edge[0], edge))
        for begin in range(60):
            paths[begin, begin] = []
            ahead = [begin]
            while ahead:
                at = ahead.pop()
                for other, edge in ways[at]:
                    if (begin, other) not in paths:
                        paths[begin, other] = [*paths[begin, at], edge]
                        ahead.append(other)
        pairs = list(zip(u.tolist(), v.tolist(), strict=True))
        assert held.connected(u, v).tolist() == [pair in paths for pair in pairs]
        heaviest = held.path_max(u, v).to_pylist()
        walked = held.path(u, v).to_pylist()
        for pair, top, walk in zip(pairs, heaviest, walked, strict=True):
            known = paths.get(pair, [])
            assert [tuple(edge.values()) for edge in walk] == known
            best = max(known, key=lambda e: (e[2], e[0], e[1]), default=(None,) * 3)
            assert tuple(top.values()) == best
        assert len(np.unique(held.components(below=0))) == 60 - sum(answer.weight < 0)
        assert len(np.unique(held.clusters(count=20))) == 20
        count = len(np.unique(held.clusters(threshold=3)))
        assert count == 60 - sum(answer.weight <= 3)
        assert held.clusters(min_size=5).max() >= 0
        with pytest.raises(ServiceError, match="no vertex 60"):
            held.connected([0], [60])
        with pytest.raises(ServiceError, match="give one of count"):
            held.clusters()


def test_every_rank_streams_its_share(tmp_path: Path) -> None:
    graph = simple(300, 900, 9)
    place = write_graph(tmp_path / "g", graph, 2)
    with served(tmp_path, 3, place, "-q") as service, service.connect() as client:
        held = client["g"]
        request = {"graph": "g", "table": "forest"}
        for _ in range(2):  # the forest of a solve, and one that follows changes
            info = held.connection.info(request)
            shares = [
                held.connection.share(endpoint)["src"].to_pylist()
                for endpoint in info.endpoints
            ]
            assert len(shares) == 3 and all(shares)
            streamed = [vertex for share in shares for vertex in share]
            assert streamed == held.forest.src.tolist() == sorted(streamed)
            held.delete(held.forest.src[:3], held.forest.dst[:3])


@pytest.mark.timeout(280 + BATCHES)
@pytest.mark.parametrize("ranks", RANKS)
def test_changes_against_kruskal(tmp_path: Path, ranks: int) -> None:
    """Batches of changes, each compared with a Kruskal of all edges."""
    graph = simple(200, 500, 6)
    place = write_graph(tmp_path / "g", graph, 3)
    ends = zip(graph.src.tolist(), graph.dst.tolist(), strict=True)
    known = dict(zip(ends, graph.weight.tolist(), strict=True))
    rng = np.random.default_rng(ranks)
    with served(tmp_path, ranks, place, "-q") as service, service.connect() as client:
        held = client["g"]
        for number in range(1, BATCHES + 1):
            changes = change(rng, graph.n, known, held.forest if number % 2 else None)
            assert held.update(**changes) == number
            answer = of_edges(graph.n, known)
            same(held.forest, answer)
            u, v = rng.integers(0, graph.n, (2, 40))
            same_tree = kruskal(graph.n, answer.src, answer.dst, answer.weight)
            label = labels(graph.n, same_tree)
            assert (held.connected(u, v) == (label[u] == label[v])).all()
            refused = next(iter(known))
            with pytest.raises(ServiceError, match="is there already"):
                held.insert([refused[0]], [refused[1]], [1])
            assert held.info()["version"] == number
        same(held.solve(), of_edges(graph.n, known))
        edges = held.edges()
        assert edges.num_rows == len(known) == held.info()["num_edges"]
        sent = np.arange(len(known)) % 7
        ends = (edges[end].to_numpy() for end in ("src", "dst"))
        same(held.solve(sent), kruskal(graph.n, *ends, sent))


def change(rng, n: int, known: dict, forest) -> dict:
    """Draw a batch, and make it in a dictionary of edges."""
    pairs = list(known)
    if forest is not None:
        pairs = list(zip(forest.src.tolist(), forest.dst.tolist(), strict=True))
    chosen = [pairs[k] for k in rng.permutation(len(pairs))[:12]]
    gone, other = chosen[:6], chosen[6:]
    drawn = {tuple(sorted(pair)) for pair in rng.integers(0, n, (8, 2)).tolist()}
    come = [pair for pair in drawn if pair[0] != pair[1] and pair not in known]
    weights = rng.integers(-12, 12, len(other)), rng.integers(-12, 12, len(come))
    for pair in gone:
        del known[pair]
    for pairs, values in zip((other, come), weights, strict=True):
        known.update(zip(pairs, values.tolist(), strict=True))
    gone_ends, other_ends, come_ends = (
        np.array(pairs, np.int64).reshape(-1, 2).T for pairs in (gone, other, come)
    )
    return {
        "delete": tuple(gone_ends),
        "set_weights": (*other_ends, weights[0]),
        "insert": (*come_ends, weights[1]),
    }


def of_edges(n: int, known: dict) -> Answer:
    ends = np.array(list(known), np.int64).reshape(-1, 2).T
    return kruskal(n, *ends, np.array(list(known.values()), np.int64))


def labels(n: int, answer: Answer) -> np.ndarray:
    from oracle import smallest_of_trees

    return smallest_of_trees(n, answer.src, answer.dst)


def test_several_graphs_and_lost_forests(tmp_path: Path) -> None:
    one, two = simple(50, 100, 7), random(40, 90, 8)
    write_graph(tmp_path / "one", one)
    write_graph(tmp_path / "two", two)
    words = (f"first={tmp_path / 'one'}", f"second={tmp_path / 'two'}", "-q")
    with served(tmp_path, 2, *words) as service, service.connect() as client:
        assert list(client) == ["first", "second"]
        assert client["first"].info()["uuid"] == UUID
        same(client["second"].forest, kruskal(*two))
        forests = [client["first"].solve() for _ in range(9)]
        with pytest.raises(ServiceError, match=r"not there any more|no forest"):
            len(forests[0].src)
        assert len(forests[-1].src) == len(forests[-1])
        with pytest.raises(ServiceError, match="no graph or points are named 'third'"):
            client["third"]


def test_clients_side_by_side_see_whole_versions(tmp_path: Path) -> None:
    """A path of 0 and 1 weights flips as a whole; nobody may see half of it."""
    from concurrent.futures import ThreadPoolExecutor

    n = 40
    src = np.arange(n - 1)
    graph = Graph(n, src, src + 1, np.zeros(n - 1, np.int64))
    place = write_graph(tmp_path / "g", graph, 2)
    with served(tmp_path, 2, place, "-q") as service:

        def look(_: int) -> set[int]:
            with service.connect() as client:
                found = [client["g"].path(src, src + 1).to_pylist() for _ in range(30)]
            return {sum(walk[0]["weight"] for walk in walks) for walks in found}

        with ThreadPoolExecutor(4) as pool, service.connect() as client:
            looks = [pool.submit(look, k) for k in range(4)]
            for version in range(30):
                weight = np.full(n - 1, 1 - version % 2)
                client["g"].set_weights(src, src + 1, weight)
            seen = set().union(*(each.result(60) for each in looks))
        assert seen <= {0, n - 1}


def test_fixture_can_fail(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"no such file|is not a graph"):
        Served(tmp_path, 1, tmp_path / "nothing")
