"""Parse decimal numbers: digits eight at a time, rounded as C's `strtod` does.

Rounding follows Eisel and Lemire (Number Parsing at a Gigabyte per Second, Software:
Practice and Experience 51, 2021): the digits as an integer of 64 bits are multiplied
by 128 bits of the power of five, and the product is rounded once.
"""

import numpy as np

from ...kernels.intrinsics import (
    bits_to_float,
    leading_zeros,
    load_byte,
    load_word,
    multiply_high,
    trailing_zeros,
)
from ...native.kernel import kernel

DIGITS = 19  # always fit 64 bits
LEAST, LARGEST = -342, 308  # powers of ten beyond which all is zero or infinite
FRACTION = 52
U1, U63 = np.uint64(1), np.uint64(63)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def _powers_of_five() -> np.ndarray:
    """Return the leading 128 bits of 5^q, in two words.

    They are cut off, but rounded up for -27 <= q < 0, where 5^-q has so few digits
    that a product with it must come out exact.
    """
    words = []
    for power in range(LEAST, LARGEST + 1):
        value = 5 ** abs(power)
        if power < 0:
            bits = value.bit_length()
            bits += 127 if power >= -27 else bits + 128
            value = (1 << bits) // value + 1
        excess = value.bit_length() - 128
        value = value >> excess if excess > 0 else value << -excess
        words += [value >> 64, value & int(ALL)]
    return np.array(words, np.uint64)


POWERS = _powers_of_five()


@kernel
def _product(digits, power):
    """Return the leading 128 bits of digits * 5^power, enough of them right."""
    index = 2 * (power - LEAST)
    high = multiply_high(digits, POWERS[index])
    low = digits * POWERS[index]
    mask = ALL >> np.uint64(FRACTION + 3)
    if high & mask == mask:
        more = multiply_high(digits, POWERS[index + 1])
        low += more
        if more > low:
            high += U1
    return high, low


@kernel
def to_float(digits, power):
    """Return the float64 nearest to digits (uint64) * 10^power, ties to even."""
    if digits == 0 or power < LEAST:
        return 0.0
    if power > LARGEST:
        return np.inf
    zeros = leading_zeros(digits)
    high, low = _product(digits << zeros, power)
    top = high >> U63
    shift = top + np.uint64(64 - FRACTION - 3)
    mantissa = high >> shift
    exponent = ((217706 * power) >> 16) + 63 + np.int64(top) - np.int64(zeros) + 1023
    if exponent <= 0:  # subnormal
        if exponent < -62:
            return 0.0
        mantissa >>= np.uint64(1 - exponent)
        mantissa = (mantissa + (mantissa & U1)) >> U1
        return bits_to_float(mantissa)
    # Exactly between two floats: the even one, so do not round up
    halfway = low <= U1 and -4 <= power <= 23 and mantissa & np.uint64(3) == U1
    if halfway and mantissa << shift == high:
        mantissa -= U1
    mantissa = (mantissa + (mantissa & U1)) >> U1
    # A carry out of the mantissa makes the exponent one larger by itself
    bits = mantissa + (np.uint64(exponent - 1) << np.uint64(FRACTION))
    if bits >= np.uint64(0x7FF) << np.uint64(FRACTION):
        return np.inf
    return bits_to_float(bits)


MINUS, PLUS, ZERO, NINE = 45, 43, 48, 57
ZEROS, SIXES, HIGH = (
    np.uint64(byte * 0x0101010101010101) for byte in (0x30, 0x06, 0xF0)
)
PAIRS = np.uint64(0x000000FF000000FF)
HUNDREDS, ONES = np.uint64(1000000 << 32 | 100), np.uint64(10000 << 32 | 1)
POWERS_OF_TEN = np.array([10**n for n in range(9)], np.uint64)


@kernel
def read_digits(at, value, taken):
    """Append digits to a value of `taken` digits, as long as 64 bits hold them."""
    count = 8  # zeros that lead to a digit in the same group of eight may be taken
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
    """Return the value of up to eight digits, and their count."""
    # All at once, as in Lemire's fast_float: digits become pairs, fours and eights
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
