"""CRC-32, the checksum of zip archives, of a file that several processes read.

Bits stand for polynomials over GF(2), the highest for the lowest power, as in zlib,
whose `crc32_combine` Python does not offer.
"""

import zlib

from .binary import Binary, Column

_PIECE = 1 << 20
_POLYNOMIAL = 0xEDB88320
_ONE, _X = 1 << 31, 1 << 30


def crc32(file: Binary, stored: Column, begin: int, end: int) -> int:
    """Return the checksum of the bytes [begin, end) of a column of bytes."""
    checksum = 0
    for low in range(begin, end, _PIECE):
        piece = file.read(stored, low, min(low + _PIECE, end))
        checksum = zlib.crc32(piece.data, checksum)
    return checksum


def joined_crc32(one: int, two: int, length: int) -> int:
    """Return the checksum of bytes with one checksum and of `length` more."""
    # As many zeros behind the first ones multiply their sum by a power of x
    shift, square = _ONE, _X
    for bit in f"{8 * length:b}"[::-1]:
        if bit == "1":
            shift = _product(shift, square)
        square = _product(square, square)
    return _product(one, shift) ^ two


def _product(one: int, two: int) -> int:
    """Return the product of two polynomials, modulo that of CRC-32."""
    product = 0
    while one:
        if one & _ONE:
            product ^= two
        one = (one << 1) & 0xFFFFFFFF
        two = (two >> 1) ^ (_POLYNOMIAL if two & 1 else 0)
    return product
