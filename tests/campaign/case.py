"""What a case is drawn from, and how it fails."""

import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mndmst.host.errors import MndmstError


class CaseError(MndmstError):
    """The program has not done what it promises."""


class Case(NamedTuple):
    """One case of a campaign."""

    seed: int
    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.number}"

    def draw(self) -> random.Random:
        """Return the source of all that is random in the case."""
        return random.Random(f"{self.seed}-{self}")

    def command(self) -> str:
        """Return the command that repeats the case."""
        return f"python -m tests.campaign --seed {self.seed} --case {self}"


def numbers(draw: random.Random) -> np.random.Generator:
    """Return a source of random arrays."""
    return np.random.default_rng(draw.getrandbits(64))


def contents(folder: Path) -> dict[str, str]:
    """Return the digests of all files below a folder, by their paths in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def expect(fine: bool, text: object) -> None:
    """Raise a CaseError with a text if something is not fine."""
    if not fine:
        raise CaseError(str(text))


def refusal(read: Callable[[], object], path: Path) -> str | None:
    """Return the line that a reader refuses a file with, or None."""
    try:
        read()
    except MndmstError as error:
        message = str(error)
        expect(str(path) in message and "\n" not in message, message)
        return message
    return None
