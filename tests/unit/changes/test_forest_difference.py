"""The difference of two forests: edges that left and entered, trees joined or split."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from oracle import kruskal, maximum_kruskal
from test_changing import batch
from test_replacements import columns, rows_of
from thread_ranks import on_ranks

import mndmst
from mndmst.changes import current_forest
from mndmst.changes.batch import DELETE, INSERT, SET
from mndmst.changes.changing import ChangingForest
from mndmst.changes.edges import pairs_of
from mndmst.changes.forest_difference import (
    EdgeDifference,
    ForestDifference,
    combined,
    pairs_before,
    tree_difference,
)
from mndmst.comm.communicator import Comm
from mndmst.graph.order import reversed_keys
from mndmst.io.results.forest_file import read_forest
from mndmst.tree.index import ForestIndex

VERTICES, VERSIONS, TYPE = 14, 9, np.dtype(np.int32)

Edges = dict[tuple[int, int], int]
Versions = tuple[list[Edges], list[ForestDifference]]


def drawn_changes(
    rng: np.random.Generator, edges: Edges
) -> list[tuple[int, int, int, int]]:
    """Draw changes of a few pairs, and make them in `edges`."""
    changes = []
    for _ in range(rng.integers(0, 12)):
        u, v = sorted(rng.choice(VERTICES, 2, replace=False).tolist())
        weight = int(rng.integers(0, 4))
        op = INSERT if (u, v) not in edges else rng.choice([DELETE, DELETE, SET])
        changes.append((int(op), u, v, weight))
        if op == DELETE:
            del edges[u, v]
        else:
            edges[u, v] = weight
    return changes


def forests(seed: int, maximum: bool, ranks: int = 1) -> Versions:
    """Return the forests of random versions by the oracle, and their differences."""
    solve = maximum_kruskal if maximum else kruskal

    def solved(edges: Edges) -> Iterator[np.ndarray]:
        answer = solve(VERTICES, *columns(edges))
        return answer.src, answer.dst, answer.weight

    def program(comm: Comm) -> Versions:
        rng, index = np.random.default_rng(seed), None
        edges: Edges = {}
        drawn_changes(rng, edges)
        if comm.rank == 0:
            index = ForestIndex(VERTICES, *solved(edges), maximum)
        bounds = np.linspace(0, VERTICES, comm.size + 1).astype(int).tolist()
        rows = rows_of(VERTICES, edges).cut(*bounds[comm.rank : comm.rank + 2])
        if maximum:
            rows = replace(rows, keys=reversed_keys(rows.keys))
        changing = ChangingForest(comm, rows, TYPE, index, 0, maximum)
        versions, differences = [weights_of(*solved(edges))], []
        for _ in range(VERSIONS):
            changes = drawn_changes(rng, edges)
            if not changes:
                continue
            changing.apply(batch(*changes) if comm.rank == 0 else None)
            versions.append(weights_of(*solved(edges)))
            differences.append(changing.difference)
        return versions, differences

    found, *others = on_ranks(ranks, program)
    for _, differences in others:
        assert [each.num_edges for each in differences] == [0] * len(differences)
    return found


def weights_of(src: np.ndarray, dst: np.ndarray, weight: np.ndarray) -> Edges:
    ends = zip(src.tolist(), dst.tolist(), strict=True)
    return dict(zip(ends, weight.tolist(), strict=True))


def trees_of(forest: Edges) -> list[frozenset[int]]:
    trees = {vertex: {vertex} for vertex in range(VERTICES)}
    for u, v in forest:
        joined = trees[u] | trees[v]
        trees |= dict.fromkeys(joined, joined)
    return list(set(map(frozenset, trees.values())))


def pairs_in(forest: Edges) -> np.ndarray:
    ends = np.array(sorted(forest), np.uint64).reshape(-1, 2).T
    return pairs_of(*ends)


def ranges(count: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(count) for j in range(i, count))


@pytest.fixture(params=["one index", "an index for each version"])
def _indexes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    work = 1e9 if request.param == "one index" else 0.01
    monkeypatch.setattr(current_forest, "MOST_WORK", work)


CASES = pytest.mark.parametrize(
    ("seed", "maximum", "ranks"),
    [(seed, seed % 3 == 2, 1 + 2 * (seed % 4 == 3)) for seed in range(24)],
)


@CASES
@pytest.mark.usefixtures("_indexes")
def test_differences_combine_to_the_difference_of_two_forests(
    seed: int, maximum: bool, ranks: int
) -> None:
    """An edge that enters and leaves again between two versions is in neither list."""
    versions, differences = forests(seed, maximum, ranks)
    for i, j in ranges(len(versions)):
        between = combined(differences[i:j], TYPE)
        numbers = np.arange(i + 1, j + 1)
        found = EdgeDifference.of(differences[i:j], numbers, TYPE, maximum)
        rows = list(zip(*(column.tolist() for column in found), strict=True))
        old, new = versions[i].items(), versions[j].items()
        last = {
            edge: version
            for version in range(i + 1, j + 1)
            for edge in versions[version - 1].items() ^ versions[version].items()
        }
        left = [(*e[0], e[1], "left", last[e]) for e in old - new]
        entered = [(*e[0], e[1], "entered", last[e]) for e in new - old]
        assert rows == sorted(
            left + entered, key=lambda row: (*row[:2], row[3] == "entered")
        )
        assert between.num_edges == len(rows)
        pairs = pairs_in(versions[j])
        assert pairs_before(pairs, between).tolist() == pairs_in(versions[i]).tolist()


@CASES
@pytest.mark.usefixtures("_indexes")
def test_the_rows_of_trees_are_those_of_sets(
    seed: int, maximum: bool, ranks: int
) -> None:
    versions, differences = forests(seed, maximum, ranks)
    for i, j in ranges(len(versions)):
        expected = []
        for old in trees_of(versions[i]):
            for new in trees_of(versions[j]):
                if old & new and old != new:
                    change = (
                        "joined" if old < new else "split" if new < old else "moved"
                    )
                    sizes = len(old & new), len(old), len(new)
                    expected.append((min(old), min(new), *sizes, change, j))
        between = combined(differences[i:j], TYPE)
        found = tree_difference(VERTICES, pairs_in(versions[j]), between, j)
        rows = list(zip(*(column.tolist() for column in found), strict=True))
        assert rows == sorted(expected)


EDGES = (
    "source,target,weight\nKöln,Bonn,2\nBonn,Trier,5\nKöln,Aachen,3\nMainz,Trier,4\n"
)
CHANGES = "op,src,dst,weight\nset,Köln,Aachen,8\ndelete,Bonn,Trier,\n"
FOREST_CHANGES = """\
source,target,weight,change,version
Aachen,Köln,3,left,{0}
Aachen,Köln,8,entered,{0}
Bonn,Trier,5,left,{0}
"""
TREE_CHANGES = """\
before,after,vertices,vertices_before,vertices_after,change,version
Aachen,Aachen,3,5,3,split,{0}
Aachen,Mainz,2,5,2,split,{0}
"""


def test_update_writes_both_tables_under_names(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text(EDGES)
    (tmp_path / "changes.csv").write_text(CHANGES)
    mndmst.partition(tmp_path / "g.csv", tmp_path / "g")
    mndmst.solve(tmp_path / "g", output=tmp_path / "f.h5")
    given = [tmp_path / name for name in ("g", "f.h5", "changes.csv", "new.h5")]
    tables = {
        "forest_changes": tmp_path / "edges.csv", "tree_changes": tmp_path / "trees.csv"
    }  # fmt: skip
    mndmst.update(*given, **tables)
    version = read_forest(tmp_path / "new.h5").header.graph_uuid
    assert tables["forest_changes"].read_text() == FOREST_CHANGES.format(version)
    assert tables["tree_changes"].read_text() == TREE_CHANGES.format(version)
    with pytest.raises(mndmst.OutputError, match=r"trees\.csv: exists"):
        mndmst.update(*given, tree_changes=tables["tree_changes"])
    with pytest.raises(mndmst.ConfigError, match=r"give a name in \.csv, \.tsv"):
        mndmst.update(*given, tree_changes=tmp_path / "trees.h5")


def test_a_batch_that_changes_no_forest_edge_leaves_a_header(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("source,target,weight\n0,1,1\n1,2,1\n0,2,9\n")
    (tmp_path / "changes.csv").write_text("op,src,dst,weight\nset,0,2,8\n")
    mndmst.partition(tmp_path / "g.csv", tmp_path / "g")
    mndmst.solve(tmp_path / "g", output=tmp_path / "f.h5")
    given = [tmp_path / name for name in ("g", "f.h5", "changes.csv", "new.h5")]
    mndmst.update(*given, forest_changes=tmp_path / "edges.tsv")
    titles = "source\ttarget\tweight\tchange\tversion\n"
    assert (tmp_path / "edges.tsv").read_text() == titles
