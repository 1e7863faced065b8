"""The edges that a forest was computed from: positions of its edges, and ties."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..graph.order import weights_to_keys
from ..host.errors import InputError
from ..io.edge_file import Edges
from ..kernels.sorting import sort_positions
from ..tree.exchange import find_pairs, mark_replaceable
from ..tree.rooted import root_forest

# Input edges that are looked at together, which bounds the memory beside the columns.
PIECE = 1 << 20

_CHANGED = (
    "the arrays that the forest was computed from have changed since, so the "
    "forest is out of date; compute it again"
)


@dataclass(frozen=True)
class ForestColumns:
    """The edges of a forest, sorted by (src, dst), and the tree of each vertex."""

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class InputEdges:
    """The edges that a forest was computed from, read again when they are needed."""

    read: Callable[[], Edges]  # Returns the edges
    maximum: bool  # Whether the forest is a maximum spanning forest
    # integers, shape (edges,), optional: the position of each edge in the input; by
    # default the edges are the input.
    positions: np.ndarray | None = None

    def first_positions(self, forest: ForestColumns) -> np.ndarray:
        """Return the position (int64) of every forest edge in the input.

        Of parallel edges it is the lightest, and the first of several as light. Raises
        InputError if the input has no such edge, because it has changed.
        """
        edges, keys = self.read(), self._keys(forest.weight)
        finder = PairFinder(forest)
        positions = np.full(len(keys), -1, np.int64)
        starts = range(0, len(edges), PIECE)
        for begin in reversed(starts):  # so that the first of all remains
            piece = slice(begin, begin + PIECE)
            matches = finder.find(edges.src[piece], edges.dst[piece])
            here = np.flatnonzero(matches >= 0)
            same = self._keys(edges.weight[piece][here]) == keys[matches[here]]
            here = here[same][::-1]
            positions[matches[here]] = begin + here
        if (positions < 0).any():
            raise InputError(_CHANGED)
        return positions if self.positions is None else self.positions[positions]

    def replaceable(self, forest: ForestColumns) -> np.ndarray:
        """Return a boolean per forest edge: whether a forest of equal weight lacks it.

        Raises InputError if the forest is not that of the input, because it has
        changed.
        """
        keys = self._keys(forest.weight)
        order = sort_positions(keys).astype(np.uint32)
        src, dst, outside = self._rivals(forest, keys[order])
        marked = np.zeros(len(keys), np.bool_)
        if not len(outside):
            return marked
        rooted = root_forest(
            forest.src.astype(np.uint32),
            forest.dst.astype(np.uint32),
            forest.labels.astype(np.uint32),
        )
        rank = sort_positions(outside)
        if (
            mark_replaceable(
                rooted, keys, order, outside[rank], src[rank], dst[rank], marked
            )
            >= 0
        ):
            raise InputError(_CHANGED)
        return marked

    def _rivals(
        self, forest: ForestColumns, ascending: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ends and keys of edges outside that weigh as much as one inside.

        `ascending` has the keys of the forest's edges.
        """
        edges, finder = self.read(), PairFinder(forest)
        rivals: list[list[np.ndarray]] = [[], [], []]
        for begin in range(0, len(edges) if len(ascending) else 0, PIECE):
            piece = slice(begin, begin + PIECE)
            src, dst = edges.src[piece], edges.dst[piece]
            keys = self._keys(edges.weight[piece])
            nearest = np.searchsorted(ascending, keys)
            same = ascending[np.minimum(nearest, len(ascending) - 1)] == keys
            rival = np.flatnonzero(same & (src != dst))
            rival = rival[finder.find(src[rival], dst[rival]) < 0]
            for column, values in zip(rivals, (src, dst, keys), strict=True):
                column.append(values[rival])
        empty = np.empty(0, np.uint32)
        ends = [np.concatenate([empty, *column]) for column in rivals[:2]]
        return ends[0], ends[1], np.concatenate([ascending[:0], *rivals[2]])

    def _keys(self, weight: np.ndarray) -> np.ndarray:
        return weights_to_keys(weight.copy(), self.maximum)


class PairFinder:
    """Finds pairs of vertices among the edges of a forest."""

    def __init__(self, forest: ForestColumns) -> None:
        vertices = np.arange(len(forest.labels) + 1)
        self._offsets = np.searchsorted(forest.src, vertices).astype(np.int64)
        self._heads = forest.dst.astype(np.uint32)

    def find(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the position of each pair's edge; -1 if the forest has none."""
        position = np.empty(len(src), np.int64)
        find_pairs(src, dst, self._offsets, self._heads, position)
        return position
