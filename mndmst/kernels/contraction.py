"""Components of vertices, which a team contracts along hooks, then along edges.

1. Every vertex hooks to the far end of its lightest edge. The trees of hooks are
   numbered: first those that may have other edges, then vertices without any.
2. Edges between components are joined, band by band; a number stays what it is, and
   the component it stands for now is looked up in `parent`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..graph.model import EdgeColumns
from .columns import joined
from .hooks import (
    Hooks,
    climb,
    hooked_edges,
    keep_joining,
    link,
    number_roots_apart,
    replace_by_parents,
    rooted,
)
from .rounds import forest_by_rounds
from .spanning import spanning_pairs
from .team import Team
from .threads import Threads

# A team of so many members does Borůvka rounds. Fewer share a sort, and one of them
# runs Kruskal's algorithm: it does a fifth of the work of all rounds.
ROUNDS_FROM = 8

Range = tuple[int, int]


class JoiningEdges(NamedTuple):
    """Edges between components, in (u, v) order.

    Attributes
    ----------
    u, v, key : ndarray
    pairs : ndarray of uint64
        The numbers of the components at both ends of each, in one word.
    """

    u: np.ndarray
    v: np.ndarray
    key: np.ndarray
    pairs: np.ndarray


def components_of(hook: np.ndarray, threads: Threads) -> np.ndarray:
    """Return the tree that each vertex is in, called after one of its vertices.

    Parameters
    ----------
    hook : ndarray of uint32, shape (vertices,)
        Where each vertex hooks, itself if nowhere.

    Returns
    -------
    ndarray of uint32, shape (vertices,)
        With the bit `hooks.ROOT`.
    """
    component, ranges = np.empty_like(hook), threads.ranges(len(hook))
    threads.map(lambda b, e: link(hook, b, e, component), ranges)
    threads.map(lambda b, e: climb(component, b, e), ranges)
    return component


class Contraction:
    """Numbered components of all vertices; its calls are collective.

    Parameters
    ----------
    team : Team
    num_vertices : int
    home : (int, int)
        The vertices of this process.

    Attributes
    ----------
    hook : ndarray of uint32, shape (vertices,)
        Shared: where each vertex hooks, itself if nowhere. Processes fill in theirs.
    component : ndarray of uint32, shape (vertices,)
        Shared: the number of each vertex's component, with the bit `hooks.ROOT`.
    parent : ndarray of uint32, shape (components,)
        Shared: the component that each number stands for.
    alive : int
        Smaller numbers are those of components that may have other edges.
    """

    def __init__(self, team: Team, num_vertices: int, home: Range) -> None:
        self.team, self.threads, self.home = team, team.threads, home
        self.hook, self.component = team.arrays(
            (num_vertices, np.uint32), (num_vertices, np.uint32)
        )
        self.parent = np.empty(0, np.uint32)
        self.alive = 0

    def link(self, best: np.ndarray, out: EdgeColumns) -> int:
        """Contract along the hooks.

        Parameters
        ----------
        best : ndarray
            The keys along which the vertices of this process hook.
        out : EdgeColumns
            Gets the edges along which they do; has room for one for each.

        Returns
        -------
        int
            How many edges there are in `out`.
        """
        team, component = self.team, self.component
        team.sync()
        shares = team.ranges(len(component))
        self._number(shares)
        found = self._edges_of_hooks(best, out)
        team.sync()
        self.threads.map(lambda b, e: climb(component, b, e), shares)
        team.sync()
        return found

    def _number(self, shares: list[Range]) -> None:
        """Find the roots, and number them."""
        team, hook, component = self.team, self.hook, self.component
        roots = self.threads.map(lambda b, e: link(hook, b, e, component), shares)
        mine = np.array(roots, np.int64).reshape(-1, 2)
        every = team.counts(*mine.sum(axis=0).tolist())  # all have linked theirs
        self.alive, alone = every.sum(axis=0).tolist()
        starts = every[: team.rank].sum(axis=0) + np.cumsum(mine, axis=0) - mine
        starts[:, 1] += self.alive
        self.threads.map(
            lambda share, start: number_roots_apart(component, hook, *share, *start),
            list(zip(shares, starts.tolist(), strict=True)),
        )
        (self.parent,) = team.arrays((self.alive + alone, np.uint32))
        for begin, end in team.ranges(len(self.parent)):
            self.parent[begin:end] = np.arange(begin, end, dtype=np.uint32)

    def _edges_of_hooks(self, best: np.ndarray, out: EdgeColumns) -> int:
        """Write the edges along which the vertices of this process hook."""
        first, last = self.home
        ranges = [(first + b, first + e) for b, e in self.threads.ranges(last - first)]
        counts = self.threads.map(lambda b, e: rooted(self.component, b, e), ranges)
        hooked = [e - b - count for (b, e), count in zip(ranges, counts, strict=True)]
        ends = np.cumsum([0, *hooked]).tolist()
        hooks = Hooks(self.hook, best)
        self.threads.map(
            lambda i, b, e: hooked_edges(
                hooks, self.component, first, b, e, out.part(ends[i], ends[i + 1])
            ),
            [(i, *bounds) for i, bounds in enumerate(ranges)],
        )
        return ends[-1]

    def joining(self, u: np.ndarray, v: np.ndarray, key: np.ndarray) -> JoiningEdges:
        """Return those edges of a list in (u, v) order that join two components.

        Overwrites the list. Not collective.
        """
        pairs = np.empty(len(key) + 1, np.uint64)
        count = keep_joining(u, v, key, self.component, pairs)
        return JoiningEdges(u[:count], v[:count], key[:count], pairs[:count])

    def join(self, parts: Sequence[JoiningEdges]) -> list[np.ndarray]:
        """Join components along the forest of edges.

        Parameters
        ----------
        parts : sequence of JoiningEdges
            Those of this process, one part behind the other in (u, v) order. The
            edges of the next process follow them.

        Returns
        -------
        list of ndarray of bool
            Marks the edges of the forest in each part.
        """
        counts = [len(part.key) for part in parts]
        every = self.team.counts(sum(counts)).ravel()
        first, total = int(every[: self.team.rank].sum()), int(every.sum())
        kept = self._forest(parts, first, total)
        ends = first + np.cumsum([0, *counts])
        return [kept[b:e] for b, e in pairwise(ends)]

    def _forest(
        self, parts: Sequence[JoiningEdges], first: int, total: int
    ) -> np.ndarray:
        """Return a mask of all edges, of which those here begin at `first`."""
        team, parent = self.team, self.parent[: self.alive]
        rounds = team.size_for(total) >= ROUNDS_FROM
        if team.processes == 1 and not rounds:
            key, pairs = joined([part[2:] for part in parts], self.threads)
            return spanning_pairs(key, pairs, parent, self.threads)
        key, pairs, kept = team.arrays(
            (total, parts[0].key.dtype), (total, np.uint64), (total, np.bool_)
        )
        self.threads.map(np.copyto, _copies(parts, first, key, pairs))
        team.sync()
        if rounds:
            forest_by_rounds(team, key, pairs, parent, kept)
        elif team.rank == 0:
            kept[:] = spanning_pairs(key, pairs, parent, self.threads)
        team.sync()
        return kept

    def settle(self) -> None:
        """Give all vertices their present components, without the bit ROOT."""
        first, last = self.home
        self.threads.map(
            lambda b, e: replace_by_parents(
                self.component, self.parent, first + b, first + e
            ),
            self.threads.ranges(last - first),
        )
        self.team.sync()


def _copies(
    parts: Sequence[JoiningEdges], first: int, key: np.ndarray, pairs: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return what goes where if parts follow each other from a place on."""
    copies, begin = [], first
    for part in parts:
        end = begin + len(part.key)
        copies += [(key[begin:end], part.key), (pairs[begin:end], part.pairs)]
        begin = end
    return copies
