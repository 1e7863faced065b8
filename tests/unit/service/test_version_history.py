"""The kept differences of a forest have bounded bytes, which the service counts."""

import gc

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.changes.edges import PairEdges
from mndmst.changes.forest_difference import ForestDifference
from mndmst.host.errors import ConfigError
from mndmst.host.memory_costs import DIFFERENCE_BYTES, MIB
from mndmst.service.limits import ServiceMemory
from mndmst.service.version_history import StaleVersionError, VersionHistory

WHAT, ADVICE = "the changes of city", "Read the forest as a whole."


def difference(edges: int) -> ForestDifference:
    left, entered = (
        PairEdges(np.arange(count, dtype=np.uint64), np.zeros(count, np.uint32))
        for count in (edges, 0)
    )
    return ForestDifference(left, entered)


def of(edges: int) -> int:
    """Return the bytes of a kept difference."""
    return DIFFERENCE_BYTES + 12 * edges


def test_the_oldest_differences_are_dropped_beyond_the_bytes() -> None:
    history = VersionHistory(WHAT, 7, of(10) + of(20), ADVICE)
    for edges, oldest, nbytes in (
        (10, 7, of(10)),
        (20, 7, of(10) + of(20)),
        (20, 9, of(20)),
        (100, 11, 0),  # a difference that is too large by itself
        (0, 11, of(0)),
    ):
        history.add(difference(edges))
        assert (history.oldest, history.nbytes) == (oldest, nbytes)
    assert [each.num_edges for each in history.between(11, 12)] == [0]
    assert history.between(11, 11) == history.between(12, 12) == []


def test_a_range_has_the_differences_between_its_versions() -> None:
    history = VersionHistory(WHAT, 0, MIB, ADVICE)
    for edges in range(1, 6):  # version v has the difference of v edges
        history.add(difference(edges))
    for since in range(6):
        for until in range(since, 6):
            found = [each.num_edges for each in history.between(since, until)]
            assert found == list(range(since + 1, until + 1))


def test_a_range_that_is_not_kept_is_refused() -> None:
    history = VersionHistory(WHAT, 0, of(1), ADVICE)
    for _ in range(3):
        history.add(difference(1))
    with pytest.raises(StaleVersionError) as stale:
        history.between(1, 3)
    assert str(stale.value) == (
        "the changes of city since version 1 are no longer kept: the oldest version to "
        "compare with is 2. Read the forest as a whole."
    )
    with pytest.raises(ConfigError, match="give an earlier version as since"):
        history.between(3, 2)


def test_the_memory_counts_a_history_while_it_lives() -> None:
    memory = ServiceMemory(160 * MIB)
    history = VersionHistory.of(WHAT, 0, memory, ADVICE)
    history.add(difference(100))
    assert memory.of_graphs == of(100)
    for _ in range(3):  # 6 MiB each; 10 MiB are a sixteenth of the limit
        history.add(difference(MIB // 2))
    assert history.oldest == 3
    assert memory.of_graphs == of(MIB // 2)
    del history
    gc.collect()
    assert memory.of_graphs == 0
