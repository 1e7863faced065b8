"""Rows come to the device while they are read."""

from itertools import pairwise
from threading import Thread

import numpy as np
import pytest
from shapes import KEYS, csr, edges_of

from mndmst.arrival import Arrival
from mndmst.backends.base import Band
from mndmst.backends.cuda import unavailable
from mndmst.errors import InputError
from mndmst.graph import Rows

reason = unavailable()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(reason is not None, reason=str(reason)),
]


@pytest.fixture(scope="module")
def backend():
    from mndmst.backends.cuda import CudaBackend

    return CudaBackend()


@pytest.mark.parametrize("keys", KEYS)
def test_rows_are_placed_while_they_are_read(backend, monkeypatch, keys):
    monkeypatch.setattr("mndmst.backends.cuda.placed._COPIED", 64)
    n, u, v, key = edges_of("gnm", np.random.default_rng(7), keys)
    whole = csr(n, u, v, key, np.uint32)
    for rows in (whole, whole.cut(n // 3, n // 2)):
        arrays = [np.zeros_like(array) for array in (rows.indices, rows.keys)]
        arrival = Arrival()
        coming = Rows(rows.first, n, rows.indptr, *arrays, arrival)

        def read(rows=rows, arrays=arrays, arrival=arrival):
            steps = list(pairwise([*range(0, rows.num_arcs, 50), rows.num_arcs]))
            for low, high in steps[::-1][1:] + steps[-1:]:
                for array, source in zip(
                    arrays, (rows.indices, rows.keys), strict=True
                ):
                    array[low:high] = source[low:high]
                arrival.note(low, high)

        reader = Thread(target=read)
        reader.start()
        placed = backend.place(coming)
        reader.join()
        result, expected = (
            backend.band_forest(p, Band(), None) for p in (placed, backend.place(rows))
        )
        for name in ("u", "v", "key"):
            np.testing.assert_array_equal(
                getattr(result, name), getattr(expected, name)
            )


def test_rows_that_do_not_come_are_not_waited_for(backend):
    arrival = Arrival()
    arrival.fail()
    n, u, v, key = edges_of("gnm", np.random.default_rng(7), np.uint32)
    rows = csr(n, u, v, key, np.uint32)
    with pytest.raises(InputError, match="not been read"):
        backend.place(Rows(0, n, rows.indptr, rows.indices, rows.keys, arrival))
