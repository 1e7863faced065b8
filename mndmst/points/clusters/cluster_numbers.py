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
from collections.abc import Iterator
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
class LabelledPoints:
    """The ids of a version's points, and their labels 0, 1, ...; noise is below 0."""

    ids: np.ndarray  # unique
    labels: np.ndarray


def renumbered(
    numbers: ClusterNumbers, old: LabelledPoints, new: LabelledPoints, version: int
) -> tuple[ClusterNumbers, list[ClusterEvent]]:
    """Return the numbers of a version's clusters, and what became of the old ones.

    `numbers` has the numbers of the clusters of `old`. New numbers are given in the
    order of the clusters' smallest ids.
    """
    old_sizes = np.bincount(old.labels[old.labels >= 0], minlength=len(numbers.numbers))
    new_sizes = np.bincount(new.labels[new.labels >= 0])
    heir, source = _relatives(old, new, len(old_sizes), len(new_sizes))
    kept = _kept(heir, source)
    given = np.full(len(new_sizes), -1)
    given[kept] = numbers.numbers[source[kept]]
    others = np.flatnonzero(given < 0)
    if len(others):
        inside = new.labels >= 0
        inside[inside] = given[new.labels[inside]] < 0
        smallest = np.full(len(new_sizes), np.iinfo(np.int64).max)
        np.minimum.at(smallest, new.labels[inside], new.ids[inside])
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


def _relatives(
    old: LabelledPoints, new: LabelledPoints, old_clusters: int, new_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the heir of each old cluster and the source of each new one; -1: none."""
    before, after = _common(old, new)
    stay = np.bincount(before[before >= 0], minlength=old_clusters)
    came = np.bincount(after[after >= 0], minlength=new_clusters)
    both = (before >= 0) & (after >= 0)
    pair = before[both] * new_clusters + after[both]
    if old_clusters * new_clusters <= len(pair):  # counting is faster than sorting
        counts = np.bincount(pair)
        pair = np.flatnonzero(counts)
        points = counts[pair]
    else:
        pair, points = np.unique(pair, return_counts=True)
    left, right = np.divmod(pair, max(new_clusters, 1))
    heir, source = np.full(old_clusters, -1), np.full(new_clusters, -1)
    goes, comes = 2 * points > stay[left], 2 * points > came[right]
    heir[left[goes]] = right[goes]
    source[right[comes]] = left[comes]
    return heir, source


def _common(old: LabelledPoints, new: LabelledPoints) -> tuple[np.ndarray, np.ndarray]:
    """Return the old and the new label of each point that is in both versions."""
    ids, labels = old.ids, old.labels
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids)
        ids, labels = ids[order], labels[order]
    index = np.searchsorted(ids, new.ids)
    common = np.zeros(len(index), bool)
    inside = index < len(ids)
    common[inside] = ids[index[inside]] == new.ids[inside]
    return labels[index[common]], new.labels[common]


def _kept(heir: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return the new clusters that keep a number: each is the heir of its source."""
    new = np.flatnonzero(source >= 0)
    return new[heir[source[new]] == new]


def _changes(
    heir: np.ndarray, source: np.ndarray
) -> Iterator[tuple[EventKind, list[int], list[int]]]:
    """Yield the kind of each change, and the labels of its old and new clusters."""
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
    kept = _kept(heir, source)
    ended, began = np.ones(len(heir), bool), np.ones(len(source), bool)
    for changed in (splits, merges, np.column_stack([source[kept], kept])):
        ended[changed[:, 0]] = False
        began[changed[:, 1]] = False
    for one in np.flatnonzero(began).tolist():
        yield "born", [], [one]
    for one in np.flatnonzero(ended).tolist():
        yield "died", [one], []
