"""The total order of edges: (weight, smaller endpoint, larger endpoint).

Weights of every type are turned into unsigned integers that compare the same
way, so that every kernel exists for two key widths only. An unsigned or signed
integer is shifted to start at zero; the bits of a float are flipped so that
negative values come first and in the right direction (the usual radix-sort
transform). The map is exact in both directions, except that -0.0, which equals
0.0 as a weight, becomes 0.0.
"""

import numpy as np

WEIGHT_DTYPES = tuple(
    np.dtype(name)
    for name in ("int32", "int64", "uint32", "uint64", "float32", "float64")
)


def key_dtype(weight_dtype: np.dtype) -> np.dtype:
    """Return the unsigned type, uint32 or uint64, that orders `weight_dtype`."""
    return np.dtype(f"u{np.dtype(weight_dtype).itemsize}")


def weights_to_keys(weights: np.ndarray) -> np.ndarray:
    """Turn weights into keys of the same width that sort the same way.

    Parameters
    ----------
    weights : ndarray
        Any of `WEIGHT_DTYPES`, without NaN. It may be overwritten.

    Returns
    -------
    ndarray of uint32 or uint64
        Shares memory with `weights`.
    """
    dtype = weights.dtype
    bits = weights.view(key_dtype(dtype))
    sign = bits.dtype.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "i":
        bits ^= sign
    elif dtype.kind == "f":
        weights += dtype.type(0)  # -0.0 and 0.0 are one weight
        np.copyto(bits, np.where(bits & sign, ~bits, bits | sign))
    return bits


def keys_to_weights(keys: np.ndarray, weight_dtype: np.dtype) -> np.ndarray:
    """Undo `weights_to_keys`; returns a new array of `weight_dtype`."""
    dtype = np.dtype(weight_dtype)
    sign = keys.dtype.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "i":
        return (keys ^ sign).view(dtype)
    if dtype.kind == "f":
        return np.where(keys & sign, keys ^ sign, ~keys).view(dtype)
    return keys.copy()


def id_dtype(num_vertices: int) -> np.dtype:
    """Return the narrowest vertex id type the kernels know: uint32 or int64."""
    return np.dtype(np.uint32 if num_vertices <= 1 << 32 else np.int64)


def stored_id_dtype(num_vertices: int) -> np.dtype:
    """Return the narrowest type of vertex ids in files: int32 or int64."""
    return np.dtype(np.int32 if num_vertices <= 1 << 31 else np.int64)
