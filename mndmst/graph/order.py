"""The total order of edges: (weight, smaller endpoint, larger endpoint).

Weights of every type are turned into unsigned integers that compare the same
way, so that every kernel exists for two key widths only. An unsigned or signed
integer is shifted to start at zero; the bits of a float are flipped so that
negative values come first and in the right direction (the usual radix-sort
transform). The map is exact in both directions, except that -0.0, which equals
0.0 as a weight, becomes 0.0.

A maximum spanning forest is the minimum forest of descending keys, whose bits are all
flipped: edges are ordered by falling weight, then by smaller and larger endpoint as
before. Nothing is negated, so no weight overflows.
"""

import math
from typing import NamedTuple

import numpy as np

from ..host.errors import ConfigError

WEIGHT_DTYPES = tuple(
    np.dtype(name)
    for name in ("int32", "int64", "uint32", "uint64", "float32", "float64")
)


def key_dtype(weight_dtype: np.dtype) -> np.dtype:
    """Return the unsigned type, uint32 or uint64, that orders `weight_dtype`."""
    return np.dtype(f"u{np.dtype(weight_dtype).itemsize}")


class KeyRule(NamedTuple):
    """The map of weight bits to keys, for NumPy and for kernels."""

    sign: np.unsignedinteger  # The highest bit
    # The bits to flip in words above `sign`, equal to it (-0.0), and below it.
    above: np.unsignedinteger
    at: np.unsignedinteger
    below: np.unsignedinteger
    # A word that is larger without its highest bit is not a number.
    largest: np.unsignedinteger

    def unchanged(self) -> "KeyRule":
        """Return a rule that leaves weights as they are."""
        zero = self.sign ^ self.sign
        return self._replace(above=zero, at=zero, below=zero)


def key_rule(weight_dtype: np.dtype, descending: bool = False) -> KeyRule:
    """Return the map of a weight type's bits to keys; see `weights_to_keys`."""
    dtype, word = np.dtype(weight_dtype), key_dtype(weight_dtype).type
    sign, ones, zero = word(1 << (8 * dtype.itemsize - 1)), ~word(0), word(0)
    all_bits = ones if descending else zero
    if dtype.kind == "u":
        return KeyRule(sign, all_bits, all_bits, all_bits, ones)
    if dtype.kind == "i":
        flips = sign ^ all_bits
        return KeyRule(sign, flips, flips, flips, ones)
    infinity = np.array(np.inf, dtype).view(word)[()]
    return KeyRule(sign, ones ^ all_bits, all_bits, sign ^ all_bits, infinity)


def weights_to_keys(weights: np.ndarray, descending: bool = False) -> np.ndarray:
    """Turn weights into keys of the same width that sort the same way.

    Weights are any of `WEIGHT_DTYPES`, without NaN. The keys (uint32 or uint64) share
    their memory and overwrite them. If `descending`, the order is reversed: the minimum
    forest of the keys is the maximum forest of the weights.
    """
    bits = weights.view(key_dtype(weights.dtype))
    flip_bits(bits, key_rule(weights.dtype, descending))
    return bits


def flip_bits(bits: np.ndarray, rule: KeyRule) -> None:
    """Turn the bits of weights into keys, in place."""
    if rule.above != rule.below:
        flips = np.where(bits > rule.sign, rule.above, rule.below)
        flips[bits == rule.sign] = rule.at
        bits ^= flips
    elif rule.below:
        bits ^= rule.below


def reversed_keys(keys: np.ndarray) -> np.ndarray:
    """Return ascending keys as descending ones, and descending ones as ascending."""
    return ~keys


def keys_to_weights(
    keys: np.ndarray, weight_dtype: np.dtype, descending: bool = False
) -> np.ndarray:
    """Undo `weights_to_keys`; returns a new array of `weight_dtype`."""
    if descending:
        keys = reversed_keys(keys)
    dtype = np.dtype(weight_dtype)
    sign = keys.dtype.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "i":
        return (keys ^ sign).view(dtype)
    if dtype.kind == "f":
        flips = keys >> keys.dtype.type(8 * dtype.itemsize - 1)
        flips -= flips.dtype.type(1)  # all bits, if the highest one is not set
        flips |= sign
        flips ^= keys
        return flips.view(dtype)
    return keys.copy()


def check_threshold(threshold: int | float) -> None:
    """Raise a ConfigError for a threshold that no weight compares with: NaN."""
    if isinstance(threshold, float) and math.isnan(threshold):
        raise ConfigError("the threshold must not be NaN; give a number")


def id_dtype(num_vertices: int) -> np.dtype:
    """Return the narrowest vertex id type the kernels know: uint32 or int64."""
    return np.dtype(np.uint32 if num_vertices <= 1 << 32 else np.int64)


def stored_id_dtype(num_vertices: int) -> np.dtype:
    """Return the narrowest type of vertex ids in files: int32 or int64."""
    return np.dtype(np.int32 if num_vertices <= 1 << 31 else np.int64)
