"""TreePieces joined again by the edges in rows, where there are many pieces."""

import graphs
import numpy as np
import oracle
import pytest

from mndmst.changes.current_forest import CurrentForest
from mndmst.changes.replacements import (
    TreePieces,
    cut_off,
    edges_between_pieces,
    with_piece_edges,
)
from mndmst.changes.rows import ChangingRows
from mndmst.graph.model import Rows
from mndmst.graph.order import keys_to_weights, weights_to_keys
from mndmst.tree.index import ForestIndex


def rows_of(n: int, edges: dict) -> Rows:
    """Return all rows of a graph."""
    arcs = sorted([*edges, *((v, u) for u, v in edges)])
    indptr = np.searchsorted([u for u, _ in arcs], np.arange(n + 1))
    weights = [edges[min(arc), max(arc)] for arc in arcs]
    heads = np.array([v for _, v in arcs], np.uint32)
    return Rows(0, n, indptr, heads, weights_to_keys(np.array(weights, np.int32)))


@pytest.mark.parametrize(
    ("share", "buffer_edges"), [(1.0, 1 << 16), (1.0, 1), (0.3, 50)]
)
@pytest.mark.parametrize("weights", [range(1, 30_011), (3, 1, 2)], ids=("many", "few"))
def test_thousands_of_pieces(share: float, buffer_edges: int, weights: tuple) -> None:
    n = 6000
    graph = graphs.random(n, 20_000, 8)
    rng = np.random.default_rng(2)
    weight = rng.permutation(np.resize(np.array(weights), len(graph.src))).tolist()
    ends = zip(graph.src.tolist(), graph.dst.tolist(), weight, strict=True)
    edges = {(min(u, v), max(u, v)): w for u, v, w in ends if u != v}
    first = oracle.kruskal(n, *columns(edges))
    forest = CurrentForest.of(ForestIndex(n, *first[2:]))
    out = rng.random(len(first.src)) < share
    rows = ChangingRows(rows_of(n, edges))
    gone = forest.of_index(np.flatnonzero(out))
    arc, edge = rows.local_arcs(gone.pair)
    rows.change(arc, np.zeros(len(edge), np.bool_), gone.key[edge])
    for u, v in zip(first.src[out].tolist(), first.dst[out].tolist(), strict=True):
        del edges[u, v]

    below = forest.locate(gone).positions.max(axis=0)
    rest, pieces = cut_off(forest, below, np.empty(0, np.bool_))
    pieces = TreePieces.unpacked(pieces.packed())
    between = edges_between_pieces(rows, pieces, buffer_edges)
    found = with_piece_edges(rest, pieces.number, between).edges()

    right = oracle.kruskal(n, *columns(edges))
    assert found.u.tolist() == right.src.tolist()
    assert found.v.tolist() == right.dst.tolist()
    assert keys_to_weights(found.key, np.int32).tolist() == right.weight.tolist()


def columns(edges: dict) -> tuple:
    src, dst = np.array(list(edges), np.int64).reshape(-1, 2).T
    return src, dst, np.array(list(edges.values()), np.int32)
