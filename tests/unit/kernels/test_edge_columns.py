"""Room for edges, and what shares it out."""

import numpy as np
import pytest

from mndmst.graph.model import Rows
from mndmst.kernels.edge_columns import PAGE, allocate_edges

CACHE_LINE = 64


@pytest.mark.parametrize("ids", [np.uint32, np.int64])
@pytest.mark.parametrize("keys", [np.uint32, np.uint64])
@pytest.mark.parametrize("length", [0, 5, 1 << 20, (1 << 22) + 1])
def test_columns_do_not_share_the_sets_of_a_cache(
    ids: type, keys: type, length: int
) -> None:
    rows = Rows(0, 0, np.zeros(1, np.int64), np.empty(0, ids), np.empty(0, keys))
    columns = allocate_edges(rows, length)
    assert [column.dtype for column in columns] == [ids, ids, keys]
    assert [len(column) for column in columns] == [length] * 3
    places = [column.ctypes.data % PAGE for column in columns if length]
    assert all(place % CACHE_LINE == 0 for place in places)
    assert len({place // CACHE_LINE for place in places}) == len(places)
    for number, column in enumerate(columns):  # nor any memory
        column[:] = number
    assert all((column == number).all() for number, column in enumerate(columns))
