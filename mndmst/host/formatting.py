"""Format values: numbers with their nouns, and JSON that every reader accepts."""

import json
import math
import re
from collections.abc import Mapping

_PLURALS = {"vertex": "vertices", "entry": "entries", "batch": "batches"}
# Control characters but line feeds, other line breaks, controls of the direction of
# text, and code points that XML excludes.
_UNPRINTABLE = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]"
)
_BINARY_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 tree, 2,000 trees."""
    if number != 1:
        noun = _PLURALS.get(noun, f"{noun}s")
    return f"{number:,} {noun}"


def size_text(nbytes: int) -> str:
    """Return a number of bytes to four digits: 512 bytes, 1.5 GiB."""
    if nbytes < 1 << 10:
        return counted(nbytes, "byte")
    power = min((nbytes.bit_length() - 1) // 10, len(_BINARY_UNITS))
    value = nbytes / (1 << 10 * power)
    digits = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return f"{digits} {_BINARY_UNITS[power - 1]}"


def option_size(nbytes: int) -> str:
    """Return a number of bytes as an option takes it: 512, 1.5GiB."""
    if nbytes < 1 << 10:
        return str(nbytes)
    return size_text(nbytes).replace(" ", "").replace(",", "")


def sufficient_size(nbytes: int) -> str:
    """Return a size for an option that asks for at least some bytes: 429MiB.

    It is rounded up by more than 1 MiB: the memory of a program varies a little.
    """
    return f"{(nbytes >> 20) + 2}MiB"


def printable(text: str) -> str:
    """Return a text with escapes, such as \\u0001, for unprintable characters."""
    return _UNPRINTABLE.sub(lambda letter: f"\\u{ord(letter[0]):04x}", text)


def one_line(text: str) -> str:
    """Return a text for a terminal: line feeds and unprintable characters escaped.

    Texts of files, names and clients could otherwise move the cursor, or imitate a line
    of mndmst.
    """
    return printable(text).replace("\n", "\\n")


def to_json(value: object, indent: int | None = None) -> str:
    """Return a value as JSON.

    Sets become sorted lists. "Infinity", "-Infinity" and "NaN" stand for numbers that
    are not finite; other objects become text.
    """
    try:
        return json.dumps(value, indent=indent, default=_plain, allow_nan=False)
    except ValueError:  # JSON has no infinity and no NaN
        return json.dumps(_finite(value), indent=indent, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value) if isinstance(value, frozenset) else str(value)


def _finite(value: object) -> object:
    """Return a value with text for the numbers that are not finite."""
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value
