"""The difference of two forests: edges that left and entered, trees joined or split."""

from pathlib import Path

import numpy as np
import pytest

import mndmst
from mndmst.changes.forest_difference import (
    SortedEdges,
    edge_difference,
    tree_difference,
)

VERTICES = 12


def drawn(rng: np.random.Generator) -> SortedEdges:
    """Return the forest of a few random edges, with few different weights."""
    count = int(rng.integers(0, 14))
    src, dst = rng.integers(0, VERTICES, (2, count))
    weight = rng.integers(0, 3, count)
    forest = mndmst.minimum_spanning_forest(src, dst, weight, VERTICES)
    return SortedEdges(forest.src, forest.dst, forest.weight)


def weights_of(edges: SortedEdges) -> dict[tuple[int, int], int]:
    ends = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    return dict(zip(ends, edges.weight.tolist(), strict=True))


def trees_of(edges: SortedEdges) -> list[frozenset[int]]:
    trees = {vertex: {vertex} for vertex in range(VERTICES)}
    for u, v in weights_of(edges):
        joined = trees[u] | trees[v]
        trees |= dict.fromkeys(joined, joined)
    return list(set(map(frozenset, trees.values())))


@pytest.mark.parametrize("seed", range(30))
def test_the_difference_applied_in_its_order_gives_the_new_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, after = drawn(rng), drawn(rng)
    found, follower = edge_difference(before, after), weights_of(before)
    rows = list(zip(*(column.tolist() for column in found), strict=True))
    assert rows == sorted(rows, key=lambda row: (*row[:2], row[3] == "entered"))
    for src, dst, weight, change in rows:
        if change == "left":
            assert follower.pop((src, dst)) == weight
        else:
            assert follower.setdefault((src, dst), weight) == weight
    assert follower == weights_of(after)
    same = weights_of(before).items() & weights_of(after).items()
    assert len(rows) == len(before.src) + len(after.src) - 2 * len(same)


@pytest.mark.parametrize("seed", range(30))
def test_the_rows_of_trees_are_those_of_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, after = drawn(rng), drawn(rng)
    expected = []
    for old in trees_of(before):
        for new in trees_of(after):
            if old & new and old != new:
                change = "joined" if old < new else "split" if new < old else "moved"
                sizes = len(old & new), len(old), len(new)
                expected.append((min(old), min(new), *sizes, change))
    found = tree_difference(VERTICES, before, after)
    rows = list(zip(*(column.tolist() for column in found), strict=True))
    assert rows == sorted(expected)


EDGES = (
    "source,target,weight\nKöln,Bonn,2\nBonn,Trier,5\nKöln,Aachen,3\nMainz,Trier,4\n"
)
CHANGES = "op,src,dst,weight\nset,Köln,Aachen,8\ndelete,Bonn,Trier,\n"
FOREST_CHANGES = """\
source,target,weight,change
Aachen,Köln,3,left
Aachen,Köln,8,entered
Bonn,Trier,5,left
"""
TREE_CHANGES = """\
before,after,vertices,vertices_before,vertices_after,change
Aachen,Aachen,3,5,3,split
Aachen,Mainz,2,5,2,split
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
    assert tables["forest_changes"].read_text() == FOREST_CHANGES
    assert tables["tree_changes"].read_text() == TREE_CHANGES
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
    assert (tmp_path / "edges.tsv").read_text() == "source\ttarget\tweight\tchange\n"
