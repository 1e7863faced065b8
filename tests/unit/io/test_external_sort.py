"""The external partitioner: arcs on disk, and the sort of their keys."""

import numpy as np
import pytest

from mndmst.host.errors import OutputError
from mndmst.io.partitioner.arc_buckets import RunWriter, read_buckets
from mndmst.io.partitioner.write_parts import sort_arcs


@pytest.mark.parametrize("bits", [1, 2, 11, 30, 50, 64])
@pytest.mark.parametrize("count", [0, 1, 300, 40000])
def test_arcs_are_sorted_whether_keys_have_room_for_places_or_not(count, bits):
    rng = np.random.default_rng(bits)
    keys = rng.integers(0, 1 << 64, count, np.uint64) >> np.uint64(64 - bits)
    keys[::3] &= np.uint64(0xFF)  # some are equal
    given, weights = keys.copy(), np.arange(count, dtype=np.int32)
    order = sort_arcs(keys, weights, bits)
    np.testing.assert_array_equal(keys, np.sort(given))
    np.testing.assert_array_equal(keys, given[order])
    np.testing.assert_array_equal(np.sort(order), np.arange(count))


def test_a_run_that_has_become_shorter_is_told(tmp_path):
    with RunWriter(tmp_path / "run", 2) as writer:
        writer.append(np.array([1, 2]), np.arange(3))
    with (tmp_path / "run.arcs").open("r+b") as file:
        file.truncate(20)
    with pytest.raises(OutputError, match=r"run: .*has become shorter"):
        read_buckets(tmp_path / "run", range(1, 2), np.zeros(1, int), np.empty(2, int))
