"""Digits in text, read many at a time."""

import numpy as np

from ...kernels.intrinsics import load_byte, load_word, trailing_zeros
from ...native.kernel import kernel
from .decimal import DIGITS

MINUS, PLUS, ZERO, NINE = 45, 43, 48, 57
ZEROS, SIXES, HIGH = (
    np.uint64(byte * 0x0101010101010101) for byte in (0x30, 0x06, 0xF0)
)
PAIRS = np.uint64(0x000000FF000000FF)
HUNDREDS, ONES = np.uint64(1000000 << 32 | 100), np.uint64(10000 << 32 | 1)
POWERS_OF_TEN = np.array([10**n for n in range(9)], np.uint64)


@kernel
def read_digits(at, value, taken):
    """Append digits to a value of `taken` digits, as long as 64 bits hold them.

    Zeros that lead to a digit in the same group of eight may count as taken.
    """
    count = 8
    while count == 8 and taken <= DIGITS - 8:
        part, count = read_eight(at)
        value = value * POWERS_OF_TEN[count] + part
        taken += count if value else 0
        at += count
    while ZERO <= load_byte(at) <= NINE:
        if taken < DIGITS:
            value = np.uint64(10) * value + np.uint64(load_byte(at) - ZERO)
        taken += value > 0
        at += 1
    return value, taken, at


@kernel
def read_eight(at):
    """Return the number that at most eight digits make, and how many there are.

    All at once, as in Lemire's fast_float: digits become pairs, fours and eights.
    """
    word = load_word(at) ^ ZEROS
    others = ((word + SIXES) | word) & HIGH
    count = np.int64(8)
    if others:
        count = np.int64(trailing_zeros(others) >> np.uint64(3))
        if count == 0:
            return np.uint64(0), count
        word <<= np.uint64(64 - 8 * count)
    word = word * np.uint64(10) + (word >> np.uint64(8))
    fours = (word & PAIRS) * HUNDREDS + ((word >> np.uint64(16)) & PAIRS) * ONES
    return fours >> np.uint64(32), count


@kernel
def read_exponent(at):
    """Return a number with a sign, where it ends, and whether it is one."""
    negative = load_byte(at) == MINUS
    if negative or load_byte(at) == PLUS:
        at += 1
    first, value = at, 0
    while ZERO <= load_byte(at) <= NINE:
        value = min(10 * value + (load_byte(at) - ZERO), 100000)
        at += 1
    return -value if negative else value, at, at > first
