"""The kernels that are called, and for which types: what can be compiled ahead.

`signatures.txt` lists them under who calls them, `solve`, `verify` and `update` for
graphs in files, `arrays` or symmetric `matrices` for those in memory, and for which
types of weights; under `points` and `service`; and under `others`, for which no command
waits. It is written by watching runs (`python -m tests.called_kernels`), and a test
holds it to them. A kernel that is missing there is compiled when it is first called.
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


def entries(user: str = "", weights: np.dtype | None = None) -> list[Entry]:
    """Return the kernels that somebody calls, or all.

    The first is what takes memory for the others.

    Parameters
    ----------
    user : {"solve", "verify", "update", "arrays", "matrices", "points", "service"}
    weights : dtype, optional
        For the first five.
    """
    wanted = user if weights is None else f"{user}:{weights.str[1:]}"
    found = [Entry(RUNTIME_NAME, "")]
    for line in FILE.read_text().splitlines():
        if not line.startswith("#"):
            users, name, signature = line.split(" ", 2)
            if not wanted or wanted in users.split(","):
                found.append(Entry(f"mndmst.{name}", signature))
    return found


def missing(wanted: Sequence[Entry], places: Sequence[Path]) -> list[Entry]:
    """Return those kernels that have no code in some places."""
    return [entry for entry in wanted if not has(places, *entry)]
