"""Numbers of clusters that stay, by drawn examples.

Each column of a drawing is a point: a letter is its cluster, "." noise, " " a point
that is not in this version. Clusters have labels in the order of the letters.
"""

from typing import NamedTuple

import numpy as np
import pytest

from mndmst.points.clusters.cluster_numbers import (
    ChangedLabels,
    ClusterEvent,
    ClusterNumbers,
    renumbered,
)


class LabelledPoints(NamedTuple):
    """The ids and labels of a version's points."""

    ids: np.ndarray
    labels: np.ndarray


def drawn(version: str) -> LabelledPoints:
    ids = np.array([at for at, mark in enumerate(version) if mark != " "], np.int64)
    letters = sorted(set(version) - set(". "))
    labels = [letters.index(version[at]) if version[at] != "." else -1 for at in ids]
    return LabelledPoints(ids, np.array(labels, np.int64))


def changed(old: LabelledPoints, new: LabelledPoints) -> ChangedLabels:
    """Return the labels of a batch: points that stay keep their order."""
    stays = np.isin(old.ids, new.ids)
    came = ~np.isin(new.ids, old.ids)
    ids = np.append(old.ids[stays], new.ids[came])
    order = np.argsort(new.ids)
    rows = order[np.searchsorted(new.ids, ids, sorter=order)]
    return ChangedLabels(old.labels, np.flatnonzero(~stays), new.labels[rows], ids.take)


def told(events: list[ClusterEvent]) -> list[str]:
    """Return events as "kind old -> new"."""
    return [
        f"{event.kind} {' '.join(map(str, event.old))} -> "
        f"{' '.join(map(str, event.new))}".replace("  ", " ").strip()
        for event in events
    ]


# what it shows, version before, version after, numbers after, events
EXAMPLES = [
    ("nothing changes", "aaabbb.", "aaabbb.", [0, 1], []),
    ("labels swap", "aaabbb", "bbbaaa", [1, 0], []),
    ("growth by new points", "aaa   bbb", "aaaaaabbb", [0, 1], []),
    ("growth by noise", "aaa..", "aaaaa", [0], []),
    ("shrinkage to more than half", "aaaaabbb", "aaa..bbb", [0, 1], []),
    ("expiry of most points", "aaaaaa   bbb", "     aaaabbb", [0, 1], []),
    ("birth of new points", "aaa   ", "aaabbb", [0, 1], ["born -> 1"]),
    ("birth out of noise", "aaa...", "aaabbb", [0, 1], ["born -> 1"]),
    ("births by smallest ids", "   aaa   ", "cccaaabbb", [0, 2, 1],
     ["born -> 1", "born -> 2"]),
    ("death by removal", "aaabbb", "   aaa", [1], ["died 0 ->"]),
    ("death into noise", "aaabbb", "...aaa", [1], ["died 0 ->"]),
    ("half is not more than half", "aaaaaa", "aaa...", [1], ["born -> 1", "died 0 ->"]),
    ("drowned in noise", "aaa...", "aaaaaa", [1], ["born -> 1", "died 0 ->"]),
    ("split, the larger part stays", "aaaaa", "aaabb", [0, 1], ["split 0 -> 0 1"]),
    ("split into halves", "aaaabb", "aabbcc", [2, 3, 1], ["split 0 -> 2 3"]),
    ("split into three", "aaaaaaa", "aaaabbc", [0, 1, 2], ["split 0 -> 0 1 2"]),
    ("split off noise", "aaaaaaaa", "aabb....", [1, 2], ["split 0 -> 1 2"]),
    ("merge, the larger one stays", "aaabb", "aaaaa", [0], ["merged 0 1 -> 0"]),
    ("merge of halves", "aabb", "aaaa", [2], ["merged 0 1 -> 2"]),
    ("merge of three", "aaaabbc", "aaaaaaa", [0], ["merged 0 1 2 -> 0"]),
    ("merge with part of another", "aaaaaaabb", "aaaabbbbb", [0, 2],
     ["split 0 -> 0 2", "merged 0 1 -> 2"]),
    ("a point moves", "aaaabbbb", "aaabbbbb", [0, 1], []),
    ("all points go, others come", "aaa   ", "   aaa", [1], ["born -> 1", "died 0 ->"]),
    ("no cluster before", "....", "aabb", [0, 1], ["born -> 0", "born -> 1"]),
    ("no cluster after", "aabb", "....", [], ["died 0 ->", "died 1 ->"]),
    ("no point before", "   ", "aaa", [0], ["born -> 0"]),
    ("no point after", "aaa", "   ", [], ["died 0 ->"]),
]  # fmt: skip


def first_numbers(version: LabelledPoints) -> ClusterNumbers:
    return ClusterNumbers.first(int(version.labels.max(initial=-1)) + 1)


@pytest.mark.parametrize(
    ("before", "after", "numbers", "events"),
    [row[1:] for row in EXAMPLES],
    ids=[row[0] for row in EXAMPLES],
)
def test_a_drawn_change_gives_these_numbers_and_events(
    before: str, after: str, numbers: list[int], events: list[str]
) -> None:
    old = drawn(before)
    following, found = renumbered(
        first_numbers(old), changed(old, drawn(after)), version=1
    )
    assert following.numbers.tolist() == numbers
    assert told(found) == events


def test_an_event_has_its_version_and_the_sizes_of_its_clusters() -> None:
    old, new = drawn("aaaaabb  ."), drawn(" aaaabbccc")
    following, events = renumbered(first_numbers(old), changed(old, new), version=7)
    assert events == [ClusterEvent(7, "born", (), (2,), (), (3,))]
    assert following.next_number == 3
    merged = renumbered(following, changed(new, drawn(" aaaaaabbb")), version=8)[1]
    assert merged == [ClusterEvent(8, "merged", (0, 1), (0,), (4, 2), (6,))]


@pytest.mark.parametrize("seed", range(5))
def test_numbers_follow_no_order_of_rows_or_labels(seed: int) -> None:
    random = np.random.default_rng(seed)
    ids = random.permutation(400)
    old = LabelledPoints(ids[:300], random.integers(-1, 12, 300))
    new = LabelledPoints(ids[100:], np.append(old.labels[100:], np.full(100, -1)))
    moved = random.random(300) < 0.4
    new.labels[moved] = random.integers(-1, 14, moved.sum())

    def shuffled(
        version: LabelledPoints, clusters: int
    ) -> tuple[LabelledPoints, np.ndarray]:
        rows, names = random.permutation(300), random.permutation(clusters)
        labels = np.where(version.labels < 0, -1, names[version.labels])
        return LabelledPoints(version.ids[rows], labels[rows]), names

    expected, events = renumbered(first_numbers(old), changed(old, new), version=1)
    assert events
    old_rows, old_names = shuffled(old, 12)
    new_rows, new_names = shuffled(new, 14)
    given = ClusterNumbers(np.argsort(old_names), 12)
    found, found_events = renumbered(given, changed(old_rows, new_rows), version=1)
    assert found.numbers[new_names].tolist() == expected.numbers.tolist()
    assert (found.next_number, found_events) == (expected.next_number, events)


def test_no_number_is_used_again() -> None:
    random = np.random.default_rng(3)
    present = LabelledPoints(np.arange(60), random.integers(-1, 4, 60))
    numbers = first_numbers(present)
    ever = set(numbers.numbers.tolist())
    for version in range(1, 40):
        stays = random.random(len(present.ids)) < 0.8
        ids = np.append(present.ids[stays], 1000 * version + np.arange(12))
        moved = LabelledPoints(ids, random.integers(-1, 5, len(ids)))
        moved.labels[: stays.sum()] = np.where(
            random.random(stays.sum()) < 0.3,
            moved.labels[: stays.sum()],
            present.labels[stays],
        )
        following, events = renumbered(numbers, changed(present, moved), version)
        now = set(following.numbers.tolist())
        fresh = now - set(numbers.numbers.tolist())
        assert len(now) == len(following.numbers)
        assert not fresh & ever
        ended = set(numbers.numbers.tolist()) - now
        assert ended <= {number for event in events for number in event.old}
        assert fresh <= {number for event in events for number in event.new}
        ever |= now
        present, numbers = moved, following
    assert numbers.next_number == len(ever)


def test_points_get_the_numbers_of_their_labels_and_noise_stays_noise() -> None:
    labels = np.array([1, -1, 0, -3, 1])
    assert ClusterNumbers(np.array([8, 5]), 9).of(labels).tolist() == [5, -1, 8, -3, 5]
    assert ClusterNumbers.first(0).of(np.array([-1, -2])).tolist() == [-1, -2]
