"""Groups of columns that lie near a centre each.

The error of a product is a fraction of the lengths of both factors. In a dense cluster
far from the centre of all points it exceeds the differences of distances, so that no
product tells the points of the cluster apart. Columns less a centre of their cluster
are short, and so are the errors. Rows keep one centre, whichever columns they meet.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .component_pairs import order_by_component
from .point_products import NO_POSITION

# Points among which centres are looked for; the most centres, and the fewest points of
# all for each.
SAMPLE, MOST, FEWEST = 1 << 11, 128, 1 << 11
# Rounds in which centres are drawn: later ones draw far points that the first missed.
ROUNDS = 3
SHORTER = 0.5  # groups pay if they shorten columns by this factor
# Centres suffice if at most FAR of the points are more than WIDE times as far from the
# nearest one as nine of ten points are from the nearest of all drawn ones.
WIDE, FAR = 2.0, 1 / 256
# Columns shorter than SHORT times the others of their group count as so long; the
# columns of a group as at least LEAST times as long as those of others.
SHORT, LEAST = 1 / 16, 2.0**-10
SEED = 11


class ColumnGroups(NamedTuple):
    """Groups of columns; lengths are in units of factors."""

    centres: np.ndarray  # float64, shape (groups, dimensions): coordinates
    # float64, by group: the typical length of a column, as a fraction of that of a row
    spread: np.ndarray
    distance: np.ndarray  # float64: of the centre from that of all points
    least: np.ndarray  # float64: shorter columns count as this long


class ColumnOrder(NamedTuple):
    """Columns by group in each launch; a group begins at a multiple of BLOCK."""

    position: np.ndarray  # uint32; the last block of a group may end in NO_POSITION
    group: np.ndarray  # uint32, by block
    bounds: list[int]  # of launches


def one_group(centre: np.ndarray) -> ColumnGroups:
    """Return the group of all points."""
    none = np.zeros(1)
    return ColumnGroups(centre[None], np.ones(1), none, none)


def find_groups(
    sample: np.ndarray, centre: np.ndarray, factor: float, points: int
) -> ColumnGroups | None:
    """Return the groups that a sample of some points suggests; None if none pay.

    The sample has differences from the `centre` of all points, times `factor`.
    """
    centres = find_centres(sample, min(MOST, points // FEWEST))
    if len(centres) < 2:
        return None
    nearest, square = _nearest(sample, centres)
    sums, sizes = (
        np.bincount(nearest, weights, len(centres)) for weights in (square, None)
    )
    length = np.sqrt(sums / np.maximum(sizes, 1))
    length = np.maximum(length, LEAST * length.max())
    of_rows = np.sqrt((sample * sample).sum(axis=1).mean())
    coordinates = centre + centres / factor
    distance = np.linalg.norm(coordinates - centre, axis=1) * factor * (1 + 1e-9)
    return ColumnGroups(coordinates, length / of_rows, distance, length * SHORT)


def find_centres(sample: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` centres of groups of a sample; only the origin if none pay.

    The origin is the centre of all points.
    """
    drawn = _draw(sample, most)
    whole = np.linalg.norm(sample, axis=1).mean()
    # A point is about sqrt(2) times as far from another as from the centre of both.
    if len(drawn) and _mean_distance(sample, drawn) <= 1.5 * SHORTER * whole:
        nearest, _ = _nearest(sample, _prefix(sample, drawn))
        sums = np.zeros((nearest.max() + 1, sample.shape[1]))
        np.add.at(sums, nearest, sample)
        sizes = np.bincount(nearest)
        centres = sums[sizes > 1] / sizes[sizes > 1, None]
        if len(centres) and _mean_distance(sample, centres) <= SHORTER * whole:
            return centres
    return np.zeros((1, sample.shape[1]))


def _mean_distance(sample: np.ndarray, centres: np.ndarray) -> float:
    return float(np.sqrt(_nearest(sample, centres)[1]).mean())


def _draw(sample: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` points of a sample; far ones are more likely."""
    random = np.random.default_rng(SEED)
    drawn = sample[:0]
    square = np.ones(len(sample))
    for remaining in range(ROUNDS, 0, -1):
        size = (min(most, len(sample)) - len(drawn)) // remaining
        size = min(size, int(np.count_nonzero(square)))
        if size:
            some = random.choice(len(sample), size, False, square / square.sum())
            drawn = np.concatenate([drawn, sample[some]])
            square = _nearest(sample, drawn)[1]
    return drawn


def _prefix(sample: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return few of the points: the one that shortens distances most comes first."""
    gaps = _squares(sample, drawn)
    limit = WIDE * WIDE * np.quantile(gaps.min(axis=1), 0.9)
    square = np.full(len(sample), np.inf)
    chosen: list[int] = []
    while len(chosen) < len(drawn) and (square > limit).mean() > FAR:
        best = int(np.minimum(gaps, square[:, None]).sum(axis=0).argmin())
        square = np.minimum(square, gaps[:, best])
        chosen.append(best)
    return drawn[chosen]


def _nearest(sample: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest centre of each point, and the squared distance."""
    gaps = _squares(sample, centres)
    return gaps.argmin(axis=1), gaps.min(axis=1)


def _squares(sample: np.ndarray, centres: np.ndarray) -> np.ndarray:
    squares = (sample * sample).sum(axis=1)[:, None] + (centres * centres).sum(axis=1)
    return np.maximum(squares - 2 * (sample @ centres.T), 0)


def order_columns(group: np.ndarray, bounds: Sequence[int]) -> ColumnOrder:
    """Return the columns of launches, which have the positions between two bounds.

    `group` is by position.
    """
    count = int(group.max()) + 1
    positions, groups, begins = [], [], [0]
    for begin, end in pairwise(bounds):
        order = order_by_component(group[begin:end], count)
        empty = order.positions == NO_POSITION
        position = np.where(empty, NO_POSITION, order.positions + np.uint32(begin))
        positions.append(position)
        groups.append(order.component)
        begins.append(begins[-1] + len(position))
    return ColumnOrder(np.concatenate(positions), np.concatenate(groups), begins)
