"""Contraction of all vertices by a team: along hooks, then along edges.

1. Every vertex hooks to the other end of its lightest edge. Each tree of hooks is a
   component; trees with edges are numbered first, then vertices without edges.
2. Components unite along edges, list by list. Their numbers stay: `parent` maps each
   number to its present component.
"""

from dataclasses import dataclass

import numpy as np

from ..graph.model import EdgeColumns
from ..native.call_columns import ArrayPieces
from ..native.kernel import kernel
from .block_contraction import Pieces
from .edge_columns import EdgePieces, concatenate, copy_pieces, ends_of
from .hooks import (
    compress,
    count_roots,
    find_roots,
    hooked_edges,
    keep_cross_edges,
    number_roots,
    record_root_vertices,
    replace_by_parents,
    set_identity,
)
from .spanning_forest import forest_by_blocks, spanning_forest
from .team import Team, barrier, member_range, post_count, prefix_and_total
from .threads import each_range

SHIFT = 32


@dataclass
class CrossPieces:
    """Edges between different components, in (u, v) order, in pieces.

    `key` and `pairs` (the components at both ends in one word) have gaps between the
    pieces; `ranges` has the begin and the end of each piece in them.
    """

    edges: EdgePieces
    key: np.ndarray
    pairs: np.ndarray
    ranges: Pieces


class Contraction:
    """Numbered components of all vertices; its calls are collective.

    `owned` is the range of vertices of this process. The processes share arrays of
    uint32:

    * `component`, by vertex. Before `link` it is the vertex to which each vertex hooks,
      or the vertex itself; processes fill in their ranges. After `link` it is the
      number of the vertex's component, with the bit `hooks.ROOT`.
    * `parent`: the present component of each number.
    * `names`: a vertex of each component; empty unless `named`.

    Components with numbers from `alive` on have no edges.
    """

    def __init__(
        self, team: Team, num_vertices: int, owned: tuple[int, int], named: bool = False
    ) -> None:
        self.team, self.threads, self.owned = team, team.threads, owned
        (self.component,) = team.arrays((num_vertices, np.uint32))
        self.parent = np.empty(0, np.uint32)
        self.names, self._named = np.empty(0, np.uint32), named
        self.alive = 0

    def link(
        self, best: np.ndarray | None = None, out: EdgeColumns | None = None
    ) -> int:
        """Contract along the hooks; return the number of edges written to `out`.

        `best` has the keys of the edges along which the vertices of this process hook;
        `out` holds an edge per vertex. Without them no edges are written.
        """
        team, component = self.team, self.component
        team.sync()
        first, last = team.share(len(component))
        kind = np.empty(last - first, np.uint8)
        trees, single = team.run(
            number_components, len(component), component, first, kind
        )
        self.alive = int(trees[0])
        (self.parent,) = team.arrays((self.alive + int(single[0]), np.uint32))
        if self._named:
            (self.names,) = team.arrays((len(self.parent), np.uint32))
        team.sync()
        if best is None or out is None:
            best = np.empty(0, np.uint32)
            out = EdgeColumns(best, best, best)
        owned = *self.owned, len(trees)
        written = team.run(
            contract_hooks, len(component),
            component, self.parent, self.names, best, owned, out,
        )  # fmt: skip
        team.sync()
        return int(written[0])

    def cross_edges(self, lists: EdgePieces) -> CrossPieces:
        """Return the edges of lists in (u, v) order between different components.

        Overwrites the lists. Not collective.
        """
        bounds = ends_of(lists.key.lengths)
        # The keys of several lists move to one array; those of one list stay
        single_key = None if len(lists.key) > 1 else lists.key[0]
        key = (
            np.empty(bounds[-1], lists.key.dtype) if single_key is None else single_key
        )
        pairs = np.empty(bounds[-1], np.uint64)
        keys = ArrayPieces.of(key, bounds)
        counts = self.threads.run(
            keep_cross_edges, lists, self.component, keys, ArrayPieces.of(pairs, bounds)
        )
        edges = EdgePieces(*(c.first(counts) for c in (lists.u, lists.v, keys)))
        begins = bounds[:-1]
        return CrossPieces(edges, key, pairs, (begins, begins + edges.key.lengths))

    def contract(self, parts: CrossPieces) -> ArrayPieces:
        """Contract along the forest of edges; return its mask for each part.

        The edges of the next process follow the parts of this one. The call may drop
        the pairs of the parts, to free their memory early.
        """
        return self._mark(parts, self.parent[: self.alive])

    def contract_all(self, key: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Contract along the forest of edges known to all; return its mask."""
        return spanning_forest(self.team, key, pairs, self.parent[: self.alive])

    def cycle_filter(self, parts: CrossPieces) -> ArrayPieces:
        """Return the mask of `contract`, but leave the components unchanged."""
        (parent,) = self.team.arrays((self.alive, np.uint32))
        begin, end = self.team.share(self.alive)
        parent[begin:end] = self.parent[begin:end]
        self.team.sync()
        return self._mark(parts, parent)

    def _mark(self, parts: CrossPieces, parent: np.ndarray) -> ArrayPieces:
        """Mark the forest of all processes' edges in this one's parts."""
        team, (begin, end) = self.team, parts.ranges
        mask = forest_by_blocks(team, parts.key, parts.pairs, parent, parts.ranges)
        if mask is not None:
            return ArrayPieces.of(mask, begin, end)
        columns = parts.edges.key, ArrayPieces.of(parts.pairs, begin, end)
        bounds = ends_of(end - begin)
        if team.processes == 1:
            key, pairs = concatenate(columns, self.threads)
        else:
            every = team.counts(int(bounds[-1])).ravel()
            bounds += every[: team.rank].sum()
            count = int(every.sum())
            key, pairs = team.arrays((count, parts.key.dtype), (count, np.uint64))
            copy_pieces(columns, [key[bounds[0] :], pairs[bounds[0] :]], self.threads)
            team.sync()
        del columns
        parts.pairs = np.empty(0, np.uint64)
        return ArrayPieces.of(spanning_forest(team, key, pairs, parent), bounds)

    def update_components(self) -> None:
        """Replace the numbers of all vertices by their present components."""
        bounds = self.team.bounds(len(self.component))
        self.threads.run(
            replace_by_parents, self.component, self.parent, *each_range(bounds)
        )
        self.team.sync()


@kernel
def number_components(member, component, first, kind):
    """Number the roots of all hooks; return the numbers of trees and single vertices.

    `kind` is of this process, whose vertices begin at `first`.
    """
    begin, end = member_range(member, len(component))
    kinds = kind[begin - first : end - first]
    trees, singles = find_roots(component, begin, end, kinds)
    # The halves of the word are two counts below 2^31, which add up independently.
    post_count(member, (trees << SHIFT) | singles)
    barrier(member)  # after it all members have read the hooks
    before, total = prefix_and_total(member, member.size)
    trees, singles = total >> SHIFT, total & (1 << SHIFT) - 1
    number, single = before >> SHIFT, before & (1 << SHIFT) - 1
    number_roots(component, begin, end, kinds, number, trees + single)
    return trees, singles


@kernel
def contract_hooks(member, component, parent, names, best, owned, out):
    """Point every vertex at its component; return the number of edges in `out`.

    Roots have been numbered. `parent` becomes the identity. `names`, unless empty, gets
    the vertices of the roots. `owned` is the range of vertices of this process, and its
    number of team members. Without `best` no edges are written.
    """
    first, last, members = owned
    begin, end = member_range(member, len(parent))
    set_identity(parent, begin, end)
    begin, end = member_range(member, len(component))
    if len(names):
        record_root_vertices(component, begin, end, names)
    # The members of a process divide its vertices. If processes have different numbers
    # of vertices, these ranges differ from the members' ranges of all vertices.
    number_here = member.number % members
    low = first + (last - first) * number_here // members
    high = first + (last - first) * (number_here + 1) // members
    count = high - low - count_roots(component, low, high)
    post_count(member, count)
    barrier(member)
    before, total = prefix_and_total(member, members)
    if len(best):
        u, v, key = out
        after = before + count
        part = EdgeColumns(u[before:after], v[before:after], key[before:after])
        hooked_edges(component, best, first, low, high, part)
    barrier(member)  # before it no path is shortened
    compress(component, begin, end)
    return total if len(best) else 0
