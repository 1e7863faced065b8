"""Edges that lie on the device already, as placed rows."""

import cupy
import numpy as np

from ...graph.order import key_dtype
from ...host.errors import InputError
from .placed import PlacedRows


def place_edges(
    num_vertices: int,
    src: cupy.ndarray,
    dst: cupy.ndarray,
    weight: cupy.ndarray,
    maximum: bool,
) -> PlacedRows:
    """Return the rows of edges in any order and direction.

    Parameters
    ----------
    src, dst : device array of integers, shape (edges,)
    weight : device array of 32- or 64-bit integers or floats, shape (edges,)
    maximum : bool
        Reverse the order of the weights.

    Raises
    ------
    InputError
        If an end is no vertex or a weight is NaN.
    """
    if len(src) and (
        int(cupy.minimum(src, dst).min()) < 0
        or int(cupy.maximum(src, dst).max()) >= num_vertices
    ):
        raise InputError(f"the edges: an end is not among the {num_vertices} vertices")
    keys = device_keys(weight)
    if maximum:
        keys = ~keys
    other = src != dst
    tail = cupy.concatenate([src[other], dst[other]]).astype(np.uint64)
    head = cupy.concatenate([dst[other], src[other]]).astype(np.uint64)
    keys = cupy.concatenate([keys[other], keys[other]])
    arcs = tail << np.uint64(32) | head
    # Sorted by ends and then by key, so that of parallel arcs the lightest is first.
    order = cupy.lexsort(cupy.stack([keys.astype(np.uint64), arcs]))
    arcs, keys = arcs[order], keys[order]
    first = cupy.ones(len(arcs), np.bool_)
    first[1:] = arcs[1:] != arcs[:-1]
    arcs, keys = arcs[first], keys[first]
    rows = cupy.arange(num_vertices + 1, dtype=np.uint64) << np.uint64(32)
    indptr = cupy.searchsorted(arcs, rows).astype(np.int64)
    ends = (arcs & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    return PlacedRows(
        indptr, ends, keys, cupy.empty(0, np.int64), 0, 0, np.dtype(np.uint32)
    )


def device_keys(weight: cupy.ndarray) -> cupy.ndarray:
    """Return order-preserving keys, as `order.weights_to_keys` does on the host."""
    dtype = weight.dtype
    sign = np.array(1 << (8 * dtype.itemsize - 1), key_dtype(dtype))[()]
    if dtype.kind == "f":
        if bool(cupy.isnan(weight).any()):
            bad = int(cupy.isnan(weight).argmax())
            raise InputError(
                f"the edges: the weight of entry {bad} (from 0) is NaN, which has no "
                "place in an order. Give it a number or leave the edge out."
            )
        bits = (weight + dtype.type(0)).view(key_dtype(dtype))
        return cupy.where(bits & sign, ~bits, bits | sign)
    bits = weight.view(key_dtype(dtype))
    return bits ^ sign if dtype.kind == "i" else bits.copy()
