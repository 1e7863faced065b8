"""A service of a graph for maximum forests: all answers are those of negated weights.

The oracle is asked for the minimum forest of the negated weights, in plain Python.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import Answer, kruskal, smallest_of_trees
from services import Served, client, rows, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

import mndmst
from mndmst.host.errors import ConfigError
from mndmst.service.connection import ServiceError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 80
STEPS = 6


class Model:
    """The edges of a served graph and their weights, in plain Python."""

    def __init__(self, folder: Path, dtype: str, seed: int) -> None:
        self.dtype, self.rng = np.dtype(dtype), np.random.default_rng(seed)
        src, dst = self.rng.integers(0, N, (2, 240))
        src[:40], dst[:40] = dst[40:80], src[40:80]  # parallel edges
        weight = self.weights(len(src))
        pq.write_table(
            pa.table({"src": src, "dst": dst, "weight": weight}),
            folder / "edges.parquet",
        )
        self.path = mndmst.partition(
            folder / "edges.parquet", folder / "g", 3, maximum=True, num_vertices=N
        )
        self.edges: dict[tuple[int, int], Any] = {}
        for u, v, x in zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True):
            if u != v:
                pair = min(u, v), max(u, v)
                self.edges[pair] = max(x, self.edges.get(pair, x))

    def weights(self, count: int) -> np.ndarray:
        """Return weights of which many are equal, some the ends of the type."""
        found = self.rng.integers(0, 9, count).astype(self.dtype)
        if self.dtype.kind == "f":
            found -= self.dtype.type(4)
            found[found == 4] = np.inf
            found[found == 0] = -0.0
        else:
            info = np.iinfo(self.dtype)
            found[found == 7], found[found == 8] = info.min, info.max
        return found

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the edges in their order."""
        pairs = sorted(self.edges)
        src, dst = np.array(pairs, np.int64).reshape(-1, 2).T
        return src, dst, np.array([self.edges[pair] for pair in pairs], self.dtype)

    def answer(self, keep: Any = lambda weight: True) -> list[tuple[int, int, Any]]:
        """Return the maximum forest of the edges whose weights `keep` accepts."""
        src, dst, weight = self.columns()
        kept = np.array([keep(x) for x in weight.tolist()], np.bool_)
        return maximum_of(src[kept], dst[kept], weight[kept])

    def batch(self, few: bool = False) -> dict[str, tuple[Any, ...]]:
        """Make random changes; return them as `Graph.update` takes them."""
        outside, inside, moves, drawn = (1, 1, 1, 1) if few else (8, 4, 10, 14)
        forest = [edge[:2] for edge in self.answer()]
        pairs = sorted(self.edges)
        gone = {pairs[i] for i in self.rng.integers(0, len(pairs), outside)}
        gone |= {forest[i] for i in self.rng.integers(0, len(forest), inside)}
        left = sorted(set(pairs) - gone)
        moved = sorted({left[i] for i in self.rng.integers(0, len(left), moves)})
        new_ends = np.sort(self.rng.integers(0, N, (drawn, 2))).tolist()
        new = {(u, v) for u, v in new_ends if u != v and (u, v) not in self.edges}
        for pair in gone:
            del self.edges[pair]
        changes: dict[str, tuple[Any, ...]] = {"delete": ends_of(gone)}
        for kind, chosen in (("set_weights", moved), ("insert", sorted(new))):
            weight = self.weights(len(chosen))
            self.edges |= dict(zip(chosen, weight.tolist(), strict=True))
            changes[kind] = (*ends_of(chosen), weight)
        return changes


def ends_of(pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    src, dst = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    return src, dst


def negated(weight: np.ndarray) -> np.ndarray:
    """Return integers that no negation makes overflow, or floats."""
    return -weight.astype(object if weight.dtype.kind in "iu" else np.float64)


def maximum_of(src: Any, dst: Any, weight: Any) -> list[tuple[int, int, Any]]:
    answer: Answer = kruskal(N, src, dst, negated(weight))
    columns = answer.src.tolist(), answer.dst.tolist(), (-answer.weight).tolist()
    return list(zip(*columns, strict=True))


def edges_of(forest: Any) -> list[tuple[int, int, Any]]:
    assert forest.maximum
    return list(forest)


def labels_of(edges: list[tuple[int, int, Any]]) -> list[int]:
    src, dst = ends_of([edge[:2] for edge in edges])
    return smallest_of_trees(N, src, dst).tolist()


def paths_of(edges: list[tuple[int, int, Any]]) -> dict[tuple[int, int], list]:
    """Return the edges on the path between each pair in a tree."""
    ways: dict[int, list[tuple[int, tuple]]] = {vertex: [] for vertex in range(N)}
    for edge in edges:
        ways[edge[0]].append((edge[1], edge))
        ways[edge[1]].append((edge[0], edge))
    paths: dict[tuple[int, int], list] = {}
    for begin in range(N):
        paths[begin, begin], ahead = [], [begin]
        while ahead:
            at = ahead.pop()
            for other, edge in ways[at]:
                if (begin, other) not in paths:
                    paths[begin, other] = [*paths[begin, at], edge]
                    ahead.append(other)
    return paths


def numbered(labels: list[int]) -> list[int]:
    return np.unique(labels, return_inverse=True)[1].tolist()


def check(graph: Any, model: Model) -> None:
    """Compare every kind of answer with the oracle's."""
    right = model.answer()
    assert edges_of(graph.forest) == right
    assert graph.forest.total_weight == sum(edge[2] for edge in right)
    src, dst, weight = model.columns()
    table = graph.edges()
    for name, column in (("src", src), ("dst", dst), ("weight", weight)):
        assert table[name].to_pylist() == column.tolist()

    u, v = (ends.ravel() for ends in np.indices((N, N)))
    u, v = u[::7], v[::7]
    paths = paths_of(right)
    pairs = list(zip(u.tolist(), v.tolist(), strict=True))
    bottlenecks = graph.path_min(u, v).to_pylist()
    assert graph.connected(u, v).tolist() == [pair in paths for pair in pairs]
    walked = graph.path(u, v).to_pylist()
    for pair, lightest, walk in zip(pairs, bottlenecks, walked, strict=True):
        known = paths.get(pair, [])
        assert [tuple(edge.values()) for edge in walk] == known
        # The last one in the order: by falling weight, then by ascending ends
        last = max(known, key=lambda e: (-e[2], e[:2]), default=(None,) * 3)
        assert tuple(lightest.values()) == last

    for threshold in (-0.5, 0, 2, 7):
        above = [edge for edge in right if edge[2] > threshold]
        assert graph.components(above=threshold).tolist() == labels_of(above)
        assert edges_of(graph.solve(above=threshold)) == above
        least = [edge for edge in right if edge[2] >= threshold]
        found = graph.clusters(min_weight=threshold).tolist()
        assert found == numbered(labels_of(least))
    assert graph.components().tolist() == labels_of(right)
    count = N - len(right) // 2
    order = sorted(right, key=lambda edge: (-edge[2], edge[:2]))
    kept = labels_of(order[: N - count])
    assert graph.clusters(count=count).tolist() == numbered(kept)


def few_checks(graph: Any, model: Model) -> None:
    """Ask for few pairs, which after few changes need no index of the version."""
    paths = paths_of(model.answer())
    for pair in ((0, 5), (3, 70), (N - 1, 1)):
        known = paths.get(pair, [])
        last = max(known, key=lambda e: (-e[2], e[:2]), default=(None,) * 3)
        assert tuple(graph.path_min(*pair).values()) == last
        assert graph.connected(*pair) == (pair in paths)


@pytest.mark.parametrize(("dtype", "ranks"), [("int64", 1), ("float32", 2)])
def test_all_answers_follow_batches_a_kill_and_a_snapshot(
    tmp_path: Path, dtype: str, ranks: int
) -> None:
    model = Model(tmp_path, dtype, ranks)
    words = (model.path, "--journal", tmp_path / "journal", "-q")
    service = Served(tmp_path, ranks, *words)
    try:
        with service.connect() as connection:
            graph = connection["g"]
            assert graph.maximum and graph.info()["maximum"]
            check(graph, model)
            for step in range(1, STEPS + 1):
                assert graph.update(**model.batch(few=step == 1)) == step
                (few_checks if step % 3 else check)(graph, model)
            if ranks == 2:
                assert graph.snapshot()["version"] == STEPS
                assert graph.update(**model.batch()) == STEPS + 1
    finally:
        service.kill()
    version = STEPS + (ranks == 2)
    with served(tmp_path, 3 - ranks, *words) as again, again.connect() as connection:
        graph = connection["g"]
        assert graph.info()["version"] == version
        check(graph, model)
        assert graph.update(**model.batch()) == version + 1
        check(graph, model)
        snapshot = tmp_path / "journal/g" / graph.snapshot()["snapshot"]
        forest = tmp_path / "version.h5"
        graph.forest.write(forest)
    # The snapshot is a graph for maximum forests, and the version's forest is its own
    solved = mndmst.solve(snapshot, output=tmp_path / "solved.h5", maximum=True)
    assert solved.maximum
    assert edges_of(mndmst.Forest.read(tmp_path / "solved.h5")) == model.answer()
    assert edges_of(mndmst.Forest.read(forest)) == model.answer()
    assert mndmst.verify(snapshot, forest).ok


@pytest.mark.parametrize("ranks", [1, 2])
def test_other_weights_have_the_direction_of_the_graph(
    tmp_path: Path, ranks: int
) -> None:
    model = Model(tmp_path, "uint32", 7)
    src, dst, weight = model.columns()
    other = model.rng.integers(-5, 5, len(src))
    with served(tmp_path, ranks, model.path, "-q") as service:
        graph = service.connect()["g"]
        right = maximum_of(src, dst, other)
        assert edges_of(graph.solve(other)) == right
        graph.store("other", other)
        assert edges_of(graph.solve("other")) == right
        assert edges_of(graph.solve("other", maximum=True)) == right
        doubled = maximum_of(src, dst, weight + 2.0 * other)
        assert edges_of(graph.solve("weight + 2.0 * other")) == doubled
        above = [edge for edge in right if edge[2] > -1.5]
        assert edges_of(graph.solve("other", above=-1.5)) == above
        out = model.rng.random(len(src)) < 0.3
        found = graph.solve("other", without_edges=(src[out], dst[out]))
        assert edges_of(found) == maximum_of(src[~out], dst[~out], other[~out])

        least = kruskal(N, src, dst, other)
        found = graph.solve("other", maximum=False)
        assert not found.maximum
        assert found.digest == least.digest and found.total_weight == least.total
        few = other < 2
        found = graph.solve("other", maximum=False, below=2)
        assert found.digest == kruskal(N, src[few], dst[few], other[few]).digest

        # After new weights a column is at the arcs where it was
        graph.set_weights(src[:9], dst[:9], model.weights(9))
        assert edges_of(graph.solve("other")) == right


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory):
    """Serve a graph for maximum forests, `g`, and one for minimum forests, `low`."""
    folder = tmp_path_factory.mktemp("both")
    model = Model(folder, "int32", 3)
    low = mndmst.partition(
        folder / "edges.parquet", folder / "low", maximum=False, num_vertices=N
    )
    with served(folder, 1, model.path, low, "-q") as service:
        yield service


WORDS = [
    (lambda g: g.path_max(0, 1), lambda g: g.path_min(0, 1), "path_m"),
    (lambda g: g.components(3), lambda g: g.components(above=3), "below|above"),
    (lambda g: g.solve(below=3), lambda g: g.solve(above=3), "below|above"),
    (
        lambda g: g.clusters(threshold=3),
        lambda g: g.clusters(min_weight=3),
        "threshold|min_weight",
    ),
]


@pytest.mark.parametrize(("low", "high", "word"), WORDS)
def test_words_of_the_other_direction_are_refused(
    both: Served, low: Any, high: Any, word: str
) -> None:
    with both.connect() as connection:
        low(connection["low"])
        high(connection["g"])
        text = rf"({word})\w* belongs to {{}} spanning forests, .* give ({word})"
        with pytest.raises(ServiceError, match=text.format("minimum")):
            low(connection["g"])
        with pytest.raises(ServiceError, match=text.format("maximum")):
            high(connection["low"])


def test_forests_of_the_other_direction_are_refused(both: Served) -> None:
    with both.connect() as connection:
        for name, own, other in (("g", True, "minimum"), ("low", False, "maximum")):
            graph = connection[name]
            graph.solve("weight", maximum=own)
            for weights in (None, "weight", "2 * weight"):
                with pytest.raises(ServiceError, match=f"partition --{other}"):
                    graph.solve(weights, maximum=not own)
        with pytest.raises(ServiceError, match="are similarities; give count"):
            connection["g"].clusters(min_size=5)
        with pytest.raises(ConfigError, match="ask path_min"):
            connection["g"].forest.path_max(0, 1)


def test_a_column_named_as_a_similarity_asks_for_a_direction(both: Served) -> None:
    with both.connect() as connection:
        for name in ("low", "g"):
            graph = connection[name]
            graph.store("similarity", np.arange(graph.info()["num_edges"]))
        with pytest.warns(UserWarning, match="similarity, of which the smallest"):
            least = connection["low"].solve("similarity")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert connection["low"].solve("similarity", maximum=True).maximum
            found = connection["low"].solve("similarity", maximum=False)
            assert found.digest == least.digest
            assert connection["g"].solve("similarity").maximum
            assert not connection["low"].solve("1 - similarity").maximum
    words = ("--weights", "similarity")
    done = client(both, "solve", "low", *words)
    assert done.returncode == 1
    assert "low: the weight is similarity. Give --maximum if" in done.stderr
    assert client(both, "solve", "g", *words).stdout.strip().endswith("order=maximum")
    done = client(both, "solve", "low", *words, "--maximum")
    assert done.stdout.strip().endswith("order=maximum")
    assert "order=" not in client(both, "solve", "low", *words, "--minimum").stdout


def test_the_shell_has_the_words_of_both_directions(both: Served) -> None:
    listed = client(both, "list").stdout.splitlines()
    assert listed == ["g version=0 order=maximum", "low version=0"]
    assert "maximum          True" in client(both, "info", "g").stdout
    assert client(both, "solve", "g").stdout.strip().endswith(" order=maximum")
    assert "order=" not in client(both, "solve", "low").stdout
    with both.connect() as connection:
        graph = connection["g"]
        lightest = graph.path_min(0, 1)["weight"]
        components = graph.components(above=3).tolist()
        clusters = graph.clusters(min_weight=3).tolist()
    assert int(rows(both, "path-min", "g", 0, 1)[0]["weight"]) == lightest
    found = rows(both, "components", "g", "--above", 3)
    assert [int(row["component"]) for row in found] == components
    found = rows(both, "clusters", "g", "--min-weight", 3)
    assert [int(row["label"]) for row in found] == clusters
    metrics = client(both, "metrics").stdout
    assert 'mndmst_graph_maximum{graph="g"} 1' in metrics
    assert 'mndmst_graph_maximum{graph="low"} 0' in metrics
    for words, text in (
        (("path-max", "g", 0, 1), "give path_min"),
        (("components", "g", "--below", 3), "give above"),
        (("clusters", "low", "--min-weight", 3), "give threshold"),
        (("solve", "low", "--maximum"), "partition --maximum"),
        (("solve", "g", "--minimum"), "partition --minimum"),
    ):
        done = client(both, *words)
        assert done.returncode == 1 and text in done.stderr
        assert "Traceback" not in done.stderr


def test_a_journal_of_the_other_direction_is_refused(tmp_path: Path) -> None:
    model = Model(tmp_path, "int32", 5)
    words = ("--journal", tmp_path / "journal", "-q")
    with served(tmp_path, 1, model.path, *words) as service:
        service.connect()["g"].delete(*ends_of([sorted(model.edges)[0]]))
    mndmst.partition(
        tmp_path / "edges.parquet", tmp_path / "low", maximum=False, num_vertices=N
    )
    with pytest.raises(pytest.fail.Exception, match="the journal of another graph"):
        Served(tmp_path, 1, f"g={tmp_path / 'low'}", *words)
