"""Contraction of all vertices by a team: along hooks, then along edges.

1. Every vertex hooks to the far end of its lightest edge. The trees of hooks are
   numbered: first trees that may have other edges, then vertices without any.
2. Components unite along edges, list by list. Numbers do not change: `parent` maps each
   number to its present component.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..graph.model import EdgeColumns
from .edge_columns import concatenate_columns, copy_parts
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
from .team import Team

Range = tuple[int, int]
_NO_PAIRS = np.empty(0, np.uint64)


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


class _Whole(NamedTuple):
    """The edges of all processes, and the range of each of this process's parts."""

    key: np.ndarray
    pairs: np.ndarray
    places: list[Range]


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
        shares = team.ranges(len(component))
        roots = self._number(shares)
        found = 0
        if best is not None and out is not None:
            found = self._edges_of_hooks(
                best, out, dict(zip(shares, roots, strict=True))
            )
        if self._named:
            self._name(shares)
        team.sync()
        self.threads.map(compress, [(component, *share) for share in shares])
        team.sync()
        return found

    def _number(self, shares: list[Range]) -> list[int]:
        """Find and number the roots; return the number in each range."""
        team, component = self.team, self.component
        kinds = [np.empty(end - begin, np.uint8) for begin, end in shares]
        looks = zip(shares, kinds, strict=True)
        roots = self.threads.map(find_roots, [(component, *s, k) for s, k in looks])
        mine = np.array(roots, np.int64).reshape(-1, 2)
        every = team.counts(*mine.sum(axis=0).tolist())  # all have read the hooks
        self.alive, alone = every.sum(axis=0).tolist()
        starts = every[: team.rank].sum(axis=0) + np.cumsum(mine, axis=0) - mine
        starts[:, 1] += self.alive
        numbered = zip(shares, kinds, starts.tolist(), strict=True)
        self.threads.map(number_roots, [
            (component, *share, kind, *first) for share, kind, first in numbered
        ])  # fmt: skip
        (self.parent,) = team.arrays((self.alive + alone, np.uint32))
        ranges = team.ranges(len(self.parent))
        self.threads.map(make_own_parents, [(self.parent, *r) for r in ranges])
        return [trees + single for trees, single in roots]

    def _name(self, shares: list[Range]) -> None:
        """Note which vertices are roots."""
        (names,) = self.team.arrays((len(self.parent), np.uint32))
        self.threads.map(
            note_root_vertices, [(self.component, *s, names) for s in shares]
        )
        self.names = names

    def _edges_of_hooks(
        self, best: np.ndarray, out: EdgeColumns, roots: dict[Range, int]
    ) -> int:
        """Write the edges along which the vertices of this process hook.

        `roots` has the roots of ranges where they have been counted.
        """
        first, last = self.home
        ranges = [(first + b, first + e) for b, e in self.threads.ranges(last - first)]
        unknown = [bounds for bounds in ranges if bounds not in roots]
        counted = self.threads.map(count_roots, [(self.component, *r) for r in unknown])
        roots |= zip(unknown, counted, strict=True)
        counts = [roots[bounds] for bounds in ranges]
        hooked = [e - b - count for (b, e), count in zip(ranges, counts, strict=True)]
        ends = np.cumsum([0, *hooked]).tolist()
        parts = [out.part(*bounds) for bounds in pairwise(ends)]
        self.threads.map(hooked_edges, [
            (self.component, best, first, *bounds, part)
            for bounds, part in zip(ranges, parts, strict=True)
        ])  # fmt: skip
        return ends[-1]

    def joining(
        self, lists: Sequence[Sequence[np.ndarray]]
    ) -> list[CrossComponentEdges]:
        """Keep the edges of lists in (u, v) order between different components.

        Overwrites the lists. Not collective.

        Parameters
        ----------
        lists : sequence of (u, v, key)
        """
        room = [
            CrossComponentEdges(u, v, key, np.empty(len(key) + 1, np.uint64))
            for u, v, key in lists
        ]
        counts = self.threads.map(keep_cross_edges, [
            (edges, self.component) for edges in room
        ])  # fmt: skip
        return [
            CrossComponentEdges(*(column[:count] for column in edges))
            for edges, count in zip(room, counts, strict=True)
        ]

    def join(self, parts: list[CrossComponentEdges]) -> list[np.ndarray]:
        """Join components along the forest of edges.

        Parameters
        ----------
        parts : list of CrossComponentEdges
            The parts of this process, in (u, v) order; the edges of the next process
            follow them. The call drops their pairs, to free the memory early.

        Returns
        -------
        list of ndarray of bool
            Marks the edges of the forest in each part.
        """
        whole = self._together(parts)
        parts[:] = [part._replace(pairs=_NO_PAIRS) for part in parts]
        return self._forest(whole, self.parent[: self.alive])

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

    def cycle_filter(self, parts: Sequence[CrossComponentEdges]) -> list[np.ndarray]:
        """Mark the forest of edges as `join` does, without joining components."""
        (parent,) = self.team.arrays((self.alive, np.uint32))
        ranges = self.team.ranges(self.alive)
        copies = [(parent[b:e], self.parent[b:e]) for b, e in ranges]
        copy_parts(copies, self.threads)
        self.team.sync()
        return self._forest(self._together(parts), parent)

    def _together(self, parts: Sequence[CrossComponentEdges]) -> _Whole:
        """Return the edges of all processes, and the ranges of this one's parts."""
        team, counts = self.team, [len(part.key) for part in parts]
        first = 0
        if team.processes == 1:
            key, pairs = concatenate_columns([part[2:] for part in parts], self.threads)
        else:
            every = team.counts(sum(counts)).ravel()
            first, total = int(every[: team.rank].sum()), int(every.sum())
            dtype = parts[0].key.dtype
            key, pairs = team.arrays((total, dtype), (total, np.uint64))
            copy_parts(_copies(parts, first, key, pairs), self.threads)
            team.sync()
        ends = first + np.cumsum([0, *counts])
        return _Whole(key, pairs, list(pairwise(ends.tolist())))

    def _forest(self, whole: _Whole, parent: np.ndarray) -> list[np.ndarray]:
        """Return masks of the edges of the forest; update `parent`."""
        kept = spanning_forest(self.team, whole.key, whole.pairs, parent)
        return [kept[begin:end] for begin, end in whole.places]

    def settle(self) -> None:
        """Replace the numbers of all vertices by their present components."""
        ranges = self.team.ranges(len(self.component))
        both = self.component, self.parent
        self.threads.map(replace_by_parents, [(*both, *bounds) for bounds in ranges])
        self.team.sync()


def _copies(
    parts: Sequence[CrossComponentEdges], first: int, key: np.ndarray, pairs: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs (target, source) that place parts one behind the other."""
    copies, begin = [], first
    for part in parts:
        end = begin + len(part.key)
        copies += [(key[begin:end], part.key), (pairs[begin:end], part.pairs)]
        begin = end
    return copies
