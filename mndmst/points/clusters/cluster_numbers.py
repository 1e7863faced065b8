"""Numbers that clusters keep while their points change, and the events of a change.

Labels 0, 1, ... are counted anew in each version of the points; a number stays with its
cluster. Points in both versions alone decide which clusters are the same: an old and a
new cluster that each have more than half of the other's such points are one cluster,
which keeps its number. Each other new cluster gets a number that no cluster had before.

More than half of the common points of a new cluster come from at most one old cluster,
its *source*; more than half of those of an old cluster go to at most one new cluster,
its *heir*. The other changes follow:

- an old cluster splits if it is the source of two new clusters, or of one beside its
  heir;
- old clusters merge if they have one heir, or if one has it and another is its source;
- a new cluster that keeps no number, and in which none splits or merges, is born;
- an old cluster whose number ends, and which neither splits nor merges, dies.

Nothing here depends on the order of the points.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

EventKind = Literal["split", "merged", "born", "died"]
KINDS: tuple[EventKind, ...] = get_args(EventKind)


@dataclass(frozen=True)
class ClusterEvent:
    """What became of clusters when their points changed."""

    version: int  # the first version with the new clusters
    kind: EventKind
    old: tuple[int, ...]  # numbers of the clusters before, ascending
    new: tuple[int, ...]  # and after
    old_sizes: tuple[int, ...]  # points of each, in the order of the numbers
    new_sizes: tuple[int, ...]


@dataclass(frozen=True)
class ClusterNumbers:
    """The numbers of the clusters of one version."""

    numbers: np.ndarray  # int64, by label
    next_number: int  # larger than all numbers so far

    @classmethod
    def first(cls, clusters: int) -> Self:
        """Return the numbers of the first version, which are its labels."""
        return cls(np.arange(clusters), clusters)

    def of(self, labels: np.ndarray) -> np.ndarray:
        """Return the numbers of points; labels below 0, such as noise, stay."""
        shown = labels.copy()
        if not np.array_equal(self.numbers, np.arange(len(self.numbers))):
            inside = labels >= 0
            shown[inside] = self.numbers[labels[inside]]
        return shown

    def labels_of(self, shown: np.ndarray) -> np.ndarray:
        """Return the labels of points from their numbers; the inverse of `of`.

        A number of no cluster becomes a label that is too large.
        """
        order = np.argsort(self.numbers)
        index = np.searchsorted(self.numbers, shown, sorter=order)
        unknown = len(order)
        labels = np.append(order, unknown)[index]
        known = np.append(self.numbers, -1)[labels] == shown
        return np.where(shown < 0, shown, np.where(known, labels, unknown))

    def consistent(self, most: int) -> bool:
        """Return whether at most so many clusters have a number each, all different."""
        numbers = self.numbers
        return bool(
            len(numbers) <= most
            and len(np.unique(numbers)) == len(numbers)
            and ((numbers >= 0) & (numbers < self.next_number)).all()
        )


@dataclass(frozen=True)
class ChangedLabels:
    """The labels 0, 1, ... of points before and after a batch; -1 is noise.

    Points that stay keep their order, and new points follow.
    """

    old: np.ndarray
    removed: np.ndarray  # rows of `old`
    new: np.ndarray
    id_of: Callable[[np.ndarray], np.ndarray]  # from rows of `new`; unique

    def table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs of an old and a new label, and how many points have each.

        These are points that stay. Pairs are sorted, and include noise.
        """
        before = np.delete(self.old, self.removed)
        after = self.new[: len(before)]
        columns = int(after.max(initial=-1)) + 2
        pairs = (int(before.max(initial=-1)) + 2) * columns
        pair = (before + 1) * columns
        pair += after + 1
        if pairs <= len(pair):  # counting is faster than sorting
            counts = np.bincount(pair, minlength=1)
            pair = np.flatnonzero(counts)
            points = counts[pair]
        else:
            pair, points = np.unique(pair, return_counts=True)
        left, right = np.divmod(pair, columns)
        return left - 1, right - 1, points


def renumbered(
    numbers: ClusterNumbers, labels: ChangedLabels, version: int
) -> tuple[ClusterNumbers, list[ClusterEvent]]:
    """Return the numbers of a version's clusters, and what became of the old ones.

    `numbers` has the numbers of the old clusters. New numbers are given in the order of
    the clusters' smallest ids.
    """
    left, right, points = labels.table()
    gone, came = labels.old[labels.removed], labels.new[points.sum() :]
    stay = _sizes(left, points, len(numbers.numbers))
    old_sizes = stay + _sizes(gone, None, len(stay))
    clusters = int(max(right.max(initial=-1), came.max(initial=-1))) + 1
    common = _sizes(right, points, clusters)
    new_sizes = common + _sizes(came, None, clusters)
    inside = (left >= 0) & (right >= 0)
    left, right, points = left[inside], right[inside], points[inside]
    heir, source = np.full(len(stay), -1), np.full(clusters, -1)
    goes, comes = 2 * points > stay[left], 2 * points > common[right]
    heir[left[goes]] = right[goes]
    source[right[comes]] = left[comes]
    kept = _kept(heir, source)
    given = np.full(clusters, -1)
    given[kept] = numbers.numbers[source[kept]]
    others = np.flatnonzero(given < 0)
    if len(others):
        is_other = np.append(given < 0, False)  # the last one is for noise
        rows = np.flatnonzero(is_other[labels.new])
        smallest = np.full(clusters, np.iinfo(np.int64).max)
        np.minimum.at(smallest, labels.new[rows], labels.id_of(rows))
        others = others[np.argsort(smallest[others])]
        given[others] = numbers.next_number + np.arange(len(others))

    def event(kind: EventKind, before: list[int], after: list[int]) -> ClusterEvent:
        before = sorted(before, key=lambda label: numbers.numbers[label])
        after = sorted(after, key=lambda label: given[label])
        return ClusterEvent(
            version,
            kind,
            tuple(numbers.numbers[before].tolist()),
            tuple(given[after].tolist()),
            tuple(old_sizes[before].tolist()),
            tuple(new_sizes[after].tolist()),
        )

    events = [event(*change) for change in _changes(heir, source)]
    events.sort(key=lambda event: (KINDS.index(event.kind), event.old, event.new))
    return ClusterNumbers(given, numbers.next_number + len(others)), events


def _sizes(labels: np.ndarray, points: np.ndarray | None, clusters: int) -> np.ndarray:
    """Return the points of each cluster; each label has some `points`, or one."""
    counts = np.bincount(labels + 1, points, clusters + 1)
    return counts[1:].astype(np.int64)


def _kept(heir: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return the new clusters that keep a number: each is the heir of its source."""
    new = np.flatnonzero(source >= 0)
    return new[heir[source[new]] == new]


def _changes(
    heir: np.ndarray, source: np.ndarray
) -> Iterator[tuple[EventKind, list[int], list[int]]]:
    """Yield the kind of each change, and the labels of its old and new clusters."""
    kept = _kept(heir, source)
    if len(kept) == len(heir) == len(source):
        return  # all clusters go on
    old, new = np.flatnonzero(heir >= 0), np.flatnonzero(source >= 0)
    gone = np.column_stack([old, heir[old]])
    came = np.column_stack([source[new], new])
    pairs = np.unique(np.concatenate([gone, came]), axis=0)
    parts = np.bincount(pairs[:, 0], minlength=len(heir))
    origins = np.bincount(pairs[:, 1], minlength=len(source))
    splits = pairs[parts[pairs[:, 0]] > 1]
    merges = pairs[origins[pairs[:, 1]] > 1]
    after, before = defaultdict(list), defaultdict(list)
    for one, part in splits.tolist():
        after[one].append(part)
    for origin, one in merges.tolist():
        before[one].append(origin)
    for one, found in after.items():
        yield "split", [one], found
    for one, found in before.items():
        yield "merged", found, [one]
    ended, began = np.ones(len(heir), bool), np.ones(len(source), bool)
    for changed in (splits, merges, np.column_stack([source[kept], kept])):
        ended[changed[:, 0]] = False
        began[changed[:, 1]] = False
    for one in np.flatnonzero(began).tolist():
        yield "born", [], [one]
    for one in np.flatnonzero(ended).tolist():
        yield "died", [one], []
