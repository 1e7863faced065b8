"""The part of an old forest that a change may alter, with the new edges, contracted."""

import numpy as np

from ...kernels.threads import each_range
from ..devices.point_products import NO_POSITION
from ..kernels.boruvka_steps import LAST_KEY, PointEdges
from ..kernels.rooted_forest import (
    LeafColumns,
    PositionColumns,
    contract_certain,
    count_children,
    name_paths,
    spread_to_leaves,
    strip_leaves,
    write_upward_edges,
)
from .followed_forest import FollowedForest


class ForestCore:
    """The forest less the leaves that join certainly, and further edges."""

    def __init__(
        self,
        after: FollowedForest,
        flagged: np.ndarray,
        further: PointEdges,
        reach: np.ndarray | None,
    ) -> None:
        """Strip the leaves; `flagged` positions are near lost edges, or search.

        No edge up to the `reach` of a position is unlisted; without it, none at all of
        positions that are not flagged.
        """
        up, up_weight, size = after.up, after.up_weight, len(after.up)
        self.after, self.further = after, further
        self.flagged = np.zeros(size, np.bool_)
        self.flagged[flagged] = True
        ends = np.concatenate([flagged, further.a, further.b])
        # By position: its index in `inside`, and later its component
        name, inside = np.full(size, NO_POSITION), np.empty(size, np.uint32)
        if reach is None:
            inside = inside[: name_paths(up, ends, name, inside)]
            self.least = np.full(len(inside), np.inf)
        else:
            stays, least = self.flagged.copy(), np.maximum(reach, 0.0)
            stays[ends] = True
            left = self._without_leaves(stays, least)
            inside = np.flatnonzero(left).astype(np.uint32)
            name[inside] = np.arange(len(inside), dtype=np.uint32)
            self.least = least[inside]
        self.name, self.inside = name, inside
        tree, lower = PointEdges.empty(len(inside)), np.empty_like(inside)
        columns = PositionColumns(after.row, after.radius, up, up_weight)
        count = write_upward_edges(columns, inside, name, lower, tree)
        self.lower = lower[:count]
        named = further._replace(a=name[further.a], b=name[further.b])
        self.edges = PointEdges.concatenate([tree.take(slice(count)), named])

    def _without_leaves(self, stays: np.ndarray, least: np.ndarray) -> np.ndarray:
        """Return whether each position is left; see `strip_leaves`."""
        after, team = self.after, self.after.team
        left, children = after.radius >= 0, np.zeros(len(least), np.int64)
        ranges = each_range(team.bounds(len(least)))
        team.run(count_children, after.up, children, *ranges)
        columns = LeafColumns(after.up, after.up_weight.view(np.uint64), stays)
        is_leaf, bits = children == 0, least.view(np.uint64)
        team.run(strip_leaves, columns, is_leaf, children, left, bits, *ranges)
        return left

    def contract(self, lower_bound: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the component of each position, and the number of components.

        See `contract_certain`; lower bounds are raised. Neither is done for the
        stripped leaves if there is one component, in which no search follows.
        """
        after, inside = self.after, self.inside
        bound, component = lower_bound[inside], np.empty(len(inside), np.uint32)
        self.kept = np.zeros(len(self.edges.key), np.bool_)
        count = contract_certain(
            self.edges, self.flagged[inside], self.least, component, bound, self.kept
        )
        lower_bound[inside] = bound
        vertex = self.name
        vertex[inside] = component
        if count > 1:
            after.team.run(
                spread_to_leaves,
                after.up,
                after.up_weight,
                self.flagged,
                vertex,
                lower_bound,
                *each_range(after.team.bounds(len(vertex))),
            )
        return vertex, count

    def between_components(self, vertex: np.ndarray) -> tuple[PointEdges, int]:
        """Return edges between different components; the ends are components.

        The edges of the old forest come first; the second value is their number.
        """
        component, index = vertex[self.inside], np.flatnonzero(~self.kept)
        a, b = component[self.edges.a[index]], component[self.edges.b[index]]
        differ = np.flatnonzero(a != b)
        index = index[differ]
        edges = self.edges.take(index)._replace(a=a[differ], b=b[differ])
        return edges, int(np.searchsorted(index, len(self.lower)))

    def replaced(self, chosen: PointEdges) -> tuple[np.ndarray, PointEdges]:
        """Return the positions whose upward edges go, and the new edges, by row.

        The forest consists of the edges that `contract` kept and the `chosen` ones.
        """
        after, old = self.after, len(self.lower)
        key, kept = self.edges.key[:old], self.kept[:old]
        rest = np.flatnonzero(~kept)
        rest = rest[np.argsort(key[rest])]
        index = np.searchsorted(key[rest], chosen.key)
        in_forest = np.append(key[rest], LAST_KEY)[index] == chosen.key
        kept[rest[index[in_forest]]] = True
        further = self.further.take(self.kept[old:])
        further = further._replace(a=after.row[further.a], b=after.row[further.b])
        new = chosen.take(~in_forest)
        new = new._replace(
            a=(new.key >> np.uint64(32)).astype(np.uint32),
            b=(new.key & np.uint64(0xFFFFFFFF)).astype(np.uint32),
        )
        return self.lower[~kept], PointEdges.concatenate([further, new])
