"""Contraction of all vertices by a team: along hooks, then along edges.

1. Every vertex hooks to the far end of its lightest edge. The trees of hooks are
   numbered: first trees that may have other edges, then vertices without any.
2. Components unite along edges, list by list. Numbers do not change: `parent` maps each
   number to its present component.
"""

from typing import NamedTuple

import numpy as np

from ..graph.model import EdgeColumns
from ..native.call_columns import ArrayPieces
from ..native.kernel import kernel
from .edge_columns import EdgePieces, concatenate, copy_pieces, ends_of
from .hooks import (
    compress,
    count_roots,
    find_roots,
    hooked_edges,
    keep_cross_edges,
    make_own_parents,
    note_root_vertices,
    number_roots,
    replace_by_parents,
)
from .spanning_forest import spanning_forest
from .team import (
    Team,
    barrier,
    member_range,
    post_count,
    posted_count,
    prefix_and_total,
)
from .threads import each_range

Range = tuple[int, int]
SHIFT = 32


class CrossComponentEdges(NamedTuple):
    """Edges between different components, in (u, v) order.

    Attributes
    ----------
    u, v, key : ndarray
    pairs : ndarray of uint64
        The numbers of the components at both ends, packed in one word.
    """

    u: np.ndarray
    v: np.ndarray
    key: np.ndarray
    pairs: np.ndarray


class CrossPieces(NamedTuple):
    """`CrossComponentEdges` in pieces, one for each call of a kernel."""

    u: ArrayPieces
    v: ArrayPieces
    key: ArrayPieces
    pairs: ArrayPieces


class Contraction:
    """Numbered components of all vertices; its calls are collective.

    Parameters
    ----------
    team : Team
    num_vertices : int
    home : (int, int)
        The vertices of this process.
    named : bool
        Record in `names` a vertex of each component.

    Attributes
    ----------
    component : ndarray of uint32, shape (vertices,)
        Shared. Before `link` where each vertex hooks, itself if nowhere: processes fill
        in theirs. Then the number of its component, with the bit `hooks.ROOT`.
    parent : ndarray of uint32, shape (components,)
        Shared: the present component of each number.
    names : ndarray of uint32, shape (components,)
        Shared: one of the vertices of each component; empty unless `named`.
    alive : int
        Components with smaller numbers may have other edges.
    """

    def __init__(
        self, team: Team, num_vertices: int, home: Range, named: bool = False
    ) -> None:
        self.team, self.threads, self.home = team, team.threads, home
        (self.component,) = team.arrays((num_vertices, np.uint32))
        self.parent = np.empty(0, np.uint32)
        self.names, self._named = np.empty(0, np.uint32), named
        self.alive = 0

    def link(
        self, best: np.ndarray | None = None, out: EdgeColumns | None = None
    ) -> int:
        """Contract along the hooks.

        Parameters
        ----------
        best : ndarray
            The keys along which the vertices of this process hook.
        out : EdgeColumns
            Output for the edges of hooks; has a row per vertex. Without these two
            arguments the edges are not written.

        Returns
        -------
        int
            Number of edges in `out`.
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
        here = Home(*self.home, len(trees), len(best) > 0)
        found = team.run(
            contract_hooks, len(component),
            component, self.parent, self.names, best, here, out,
        )  # fmt: skip
        team.sync()
        return int(found[0])

    def joining(self, lists: EdgePieces) -> CrossPieces:
        """Keep the edges of lists in (u, v) order between different components.

        Overwrites the lists. Not collective.

        Parameters
        ----------
        lists : EdgePieces
        """
        room = ends_of(lists.key.lengths + 1)
        pairs = ArrayPieces.of(np.empty(room[-1], np.uint64), room)
        edges = CrossPieces(*lists, pairs)
        counts = self.threads.run(keep_cross_edges, edges, self.component)
        return CrossPieces(*(column.first(counts) for column in edges))

    def join(self, parts: CrossPieces) -> ArrayPieces:
        """Join components along the forest of edges.

        Parameters
        ----------
        parts : CrossPieces
            The parts of this process, in (u, v) order; the edges of the next process
            follow them. The call drops their pairs, to free the memory early.

        Returns
        -------
        ArrayPieces of bool
            Marks the edges of the forest in each part.
        """
        key, pairs, bounds = self._together(parts)
        parts.pairs.release()
        kept = spanning_forest(self.team, key, pairs, self.parent[: self.alive])
        return ArrayPieces.of(kept, bounds)

    def join_all(self, key: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Join components along the forest of edges that all processes know.

        Parameters
        ----------
        key, pairs : ndarray
            The team's; see `CrossComponentEdges`.

        Returns
        -------
        ndarray of bool
            Marks the edges of the forest.
        """
        return spanning_forest(self.team, key, pairs, self.parent[: self.alive])

    def cycle_filter(self, parts: CrossPieces) -> ArrayPieces:
        """Mark the forest of edges as `join` does, without joining components."""
        (parent,) = self.team.arrays((self.alive, np.uint32))
        begin, end = self.team.share(self.alive)
        parent[begin:end] = self.parent[begin:end]
        self.team.sync()
        key, pairs, bounds = self._together(parts)
        return ArrayPieces.of(spanning_forest(self.team, key, pairs, parent), bounds)

    def _together(
        self, parts: CrossPieces
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the edges of all processes, and the bounds of this one's parts."""
        team, columns = self.team, (parts.key, parts.pairs)
        bounds = ends_of(parts.key.lengths)
        if team.processes == 1:
            return *concatenate(columns, self.threads), bounds
        every = team.counts(int(bounds[-1])).ravel()
        bounds += every[: team.rank].sum()
        key, pairs = team.arrays(
            (int(every.sum()), parts.key.dtype), (int(every.sum()), np.uint64)
        )
        copy_pieces(columns, [key[bounds[0] :], pairs[bounds[0] :]], self.threads)
        team.sync()
        return key, pairs, bounds

    def settle(self) -> None:
        """Replace the numbers of all vertices by their present components."""
        bounds = self.team.bounds(len(self.component))
        self.threads.run(
            replace_by_parents, self.component, self.parent, *each_range(bounds)
        )
        self.team.sync()


class Home(NamedTuple):
    """The vertices of this process.

    Attributes
    ----------
    first, last : int
    members : int
        The members of the team in this process.
    with_edges : bool
        Whether to write the edges of their hooks.
    """

    first: int
    last: int
    members: int
    with_edges: bool


@kernel
def number_components(member, component, first, kind):
    """Number the roots of all hooks; return the numbers of trees and single vertices.

    `kind` is of this process, whose vertices begin at `first`.
    """
    begin, end = member_range(member, len(component))
    mine = kind[begin - first : end - first]
    trees, alone = find_roots(component, begin, end, mine)
    # Two counts below 2^31 in one word, whose halves add up independently.
    post_count(member, (trees << SHIFT) | alone)
    barrier(member)  # after it all members have read the hooks
    before, total = prefix_and_total(member)
    trees, alone = total >> SHIFT, total & (1 << SHIFT) - 1
    number, single = before >> SHIFT, before & (1 << SHIFT) - 1
    number_roots(component, begin, end, mine, number, trees + single)
    return trees, alone


@kernel
def contract_hooks(member, component, parent, names, best, home, out):
    """Point every vertex at its component; return the number of edges in `out`.

    Roots have been numbered. `parent` becomes the identity. `names`, unless empty, gets
    the vertices of the roots.
    """
    first, last, members, with_edges = home
    begin, end = member_range(member, len(parent))
    make_own_parents(parent, begin, end)
    begin, end = member_range(member, len(component))
    if len(names):
        note_root_vertices(component, begin, end, names)
    # The members of a process share its own vertices, which are other ones than each
    # member's share of all if processes have different numbers of vertices.
    place = member.number % members
    low = first + (last - first) * place // members
    high = first + (last - first) * (place + 1) // members
    post_count(member, high - low - count_roots(component, low, high))
    barrier(member)
    before = total = 0
    for other in range(members):
        count = posted_count(member, member.number - place + other)
        before += count if other < place else 0
        total += count
    if with_edges:
        after = before + posted_count(member, member.number)
        part = EdgeColumns(
            out.u[before:after], out.v[before:after], out.key[before:after]
        )
        hooked_edges(component, best, first, low, high, part)
    barrier(member)  # before it no path is shortened
    compress(component, begin, end)
    return total if with_edges else 0
