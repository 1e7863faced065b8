"""Numbers on the command line: each option takes those within its bounds."""

import argparse
import math
from typing import Any

from ..run.config import MOST_THREADS

# Bounds of counts that no machine reaches, and of ids.
MOST_POINTS = (1 << 32) - 1
MOST_PARTS = 1_000_000
MOST_SECONDS = 1_000_000
MOST_VERTICES = 1 << 48


def plain(text: str) -> bool:
    """Return whether a text may be a number: Python takes 1_0, spaces, other digits."""
    return text.isascii() and "_" not in text and text == text.strip()


class Number:
    """Reads a number within bounds; the `type` of an option.

    Parameters
    ----------
    kind : {int, float}
    least, most : int or float
        Both are allowed, infinity too where it is a bound; NaN never is.
    """

    def __init__(self, kind: type, least: float, most: float = math.inf) -> None:
        self.kind, self.least, self.most = kind, least, most

    def __call__(self, text: str) -> Any:
        """Return the number that a text is; see `argparse`'s `type`."""
        try:
            number = self.kind(text) if plain(text) else math.nan
        except ValueError:
            number = math.nan
        if not self.least <= number <= self.most:
            raise argparse.ArgumentTypeError(f"'{text}' is not {self}")
        return number

    def __str__(self) -> str:
        name = "a whole number" if self.kind is int else "a number"
        if self.least == -math.inf:
            return name
        to = "" if self.most == math.inf else f" to {self.most:,}"
        return f"{name} from {self.least:,}{to}{' on' * (not to)}"


def whole(least: float = -math.inf, most: float = math.inf) -> Number:
    """Return the type of an option that takes whole numbers from least to most."""
    return Number(int, least, most)


def real(least: float = -math.inf, most: float = math.inf) -> Number:
    """Return the type of an option that takes numbers from least to most, not NaN."""
    return Number(float, least, most)


def threads(least: int = 0) -> Number:
    """Return the type of an option that takes a number of threads or processes."""
    return whole(least, MOST_THREADS)
