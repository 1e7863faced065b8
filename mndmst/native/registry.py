"""The kernels that a command calls, and for which types: what can be compiled ahead.

`signatures.txt` lists them under the types of weights that a graph has. It is written
by watching runs (`python -m tests.called_kernels`), and a test holds it to them. A
kernel that is missing there is compiled when it is first called.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .store import RUNTIME_NAME, has

FILE = Path(__file__).with_name("signatures.txt")


class Entry(NamedTuple):
    """A kernel, as `module.name`, and the types of its arguments as text."""

    name: str
    signature: str


def entries(weights: np.dtype | None = None) -> list[Entry]:
    """Return the kernels of solving for a type of weights; for all without one.

    The first is what takes memory for the others.
    """
    found = [Entry(RUNTIME_NAME, "")]
    for line in FILE.read_text().splitlines():
        if not line.startswith("#"):
            types, name, signature = line.split(" ", 2)
            if weights is None or weights.str[1:] in types.split(","):
                found.append(Entry(f"mndmst.{name}", signature))
    return found


def missing(wanted: Sequence[Entry], places: Sequence[Path]) -> list[Entry]:
    """Return those kernels that have no code in some places."""
    return [entry for entry in wanted if not has(places, *entry)]
