"""The minimum spanning forest of edges in memory."""

import numpy as np

from .block_contraction import (
    Pieces,
    contract_blocks,
    edges_between,
    find_blocks,
    mark_positions,
)
from .boruvka_rounds import MOST_EDGES, band_limits, forest_by_rounds
from .kruskal import (
    PairEdgeList,
    flatten,
    heavy_positions,
    kruskal,
    light_positions,
    pack_pairs,
)
from .sorting import sort_positions
from .team import Team
from .threads import Threads, each_range


def spanning_edges(
    key: np.ndarray, a: np.ndarray, b: np.ndarray, parent: np.ndarray, threads: Threads
) -> np.ndarray:
    """Return a mask of the edges that join components; `parent` is updated.

    `a` and `b` are positions in `parent`. Edges with equal keys are ordered by
    position.
    """
    return spanning_forest(Team(threads), key, pack_ends(a, b, threads), parent)


def spanning_forest(
    team: Team, key: np.ndarray, pairs: np.ndarray, parent: np.ndarray
) -> np.ndarray:
    """Return a mask of the edges that join components; `parent` is updated. Collective.

    `pairs` has both ends of each edge in one word; `parent` is flat before and after.
    """
    mask = forest_by_blocks(team, key, pairs, parent)
    return _forest(team, key, pairs, parent) if mask is None else mask


def forest_by_blocks(
    team: Team,
    key: np.ndarray,
    pairs: np.ndarray,
    parent: np.ndarray,
    pieces: Pieces | None = None,
) -> np.ndarray | None:
    """Return `spanning_forest` by block contraction; None if few edges are in blocks.

    `pieces` are as in `find_blocks`; outside of them the mask has no values.
    """
    one_process = team.processes == 1 and team.most > 1
    blocks = find_blocks(pairs, parent, len(parent), pieces) if one_process else None
    if blocks is None:
        return None
    edges, threads = PairEdgeList(key, pairs), team.threads
    mask = contract_blocks(team, edges, parent, blocks)
    remaining, position = edges_between(edges, parent, blocks, threads)
    marked = _forest(team, *remaining, parent)
    ranges = each_range(threads.bounds(len(position)))
    threads.run(mark_positions, position, marked, mask, *ranges)
    return mask


def _forest(
    team: Team, key: np.ndarray, pairs: np.ndarray, parent: np.ndarray
) -> np.ndarray:
    """Return `spanning_forest`, by Borůvka rounds or Kruskal's algorithm."""
    enough = team.size_for(len(key)) >= team.threads.tuning.rounds_from
    if enough and len(key) <= MOST_EDGES:
        return forest_by_rounds(team, key, pairs, parent)
    (mask,) = team.arrays((len(key), np.bool_))
    if team.rank == 0:
        mask[:] = False
        _kruskal(key, pairs, parent, mask, team.threads)
    team.sync()
    return mask


def _kruskal(
    key: np.ndarray,
    pairs: np.ndarray,
    parent: np.ndarray,
    mask: np.ndarray,
    threads: Threads,
) -> None:
    """Mark the forest by Kruskal's algorithm; see `spanning_forest`.

    If there are many edges per component, light edges come first; then only the heavier
    edges between components are sorted.
    """

    def contract(order: np.ndarray) -> None:
        kruskal(order, pairs, parent, mask)
        threads.run(flatten, parent, *each_range(threads.bounds(len(parent))))

    light, *heavy = band_limits(key, len(parent))
    if not heavy or len(key) < threads.tuning.many_edges * len(parent):
        contract(sort_positions(key, threads))
        return
    order = light_positions(key, light)
    contract(order[sort_positions(key[order], threads)])
    order = heavy_positions(key, light, pairs, parent)
    contract(order[sort_positions(key[order], threads)])


def pack_ends(a: np.ndarray, b: np.ndarray, threads: Threads) -> np.ndarray:
    """Return both ends of each edge in one word of uint64."""
    pairs = np.empty(len(a), np.uint64)
    threads.run(pack_pairs, a, b, *each_range(threads.bounds(len(a))), pairs)
    return pairs
