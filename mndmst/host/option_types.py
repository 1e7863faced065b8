"""Types of options that are numbers within bounds, for `argparse`."""

import argparse
import math
from typing import Generic, TypeVar

# Of integers of 64 bits, with a sign.
MOST_DIGITS = 21


def plain(text: str) -> bool:
    """Return whether a text has no underscores, blanks or non-ASCII digits."""
    return text.isascii() and "_" not in text and text == text.strip()


NumberT = TypeVar("NumberT", bound=float)


class Number(Generic[NumberT]):
    """Reads an int or float within inclusive bounds; the `type` of an option.

    An infinite bound permits infinity; NaN is not permitted.
    """

    def __init__(
        self, kind: type[NumberT], least: float, most: float = math.inf
    ) -> None:
        self.kind, self.least, self.most = kind, least, most

    def __call__(self, text: str) -> NumberT:
        """Return the number that a text denotes; see `argparse`'s `type`."""
        try:
            number = self.kind(text) if plain(text) else None
        except ValueError:
            number = None
        if number is None or not self.least <= number <= self.most:
            raise argparse.ArgumentTypeError(f"'{text}' is not {self}")
        return number

    def __str__(self) -> str:
        name = "a whole number" if self.kind is int else "a number"
        if self.least == -math.inf:
            return name
        to = "" if self.most == math.inf else f" to {self.most:,}"
        return f"{name} from {self.least:,}{to}{' on' * (not to)}"


def whole(least: float = -math.inf, most: float = math.inf) -> Number[int]:
    """Return the type of an option that takes whole numbers from least to most."""
    return Number(int, least, most)


def real(least: float = -math.inf, most: float = math.inf) -> Number[float]:
    """Return the type of an option that takes numbers from least to most, not NaN."""
    return Number(float, least, most)


def number(word: str) -> int | float:
    """Return a number, integers of up to 64 bits exactly."""
    try:
        value = float(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{word}' is not a number") from error
    # A float of 20 digits may be rounded up to 2^64.
    whole = word.strip().lstrip("+-").isdecimal() and len(word.strip()) <= MOST_DIGITS
    return int(word) if whole and abs(int(word)) < 1 << 64 else value
