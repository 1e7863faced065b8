"""What has come out so far, and how it is told."""

import collections
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .case import Case, CaseError

MINUTE = 60


class Results:
    """Counts of outcomes, and the failures."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.failures: list[str] = []
        self._counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self._parts: collections.Counter[tuple[str, str]] = collections.Counter()
        self._begin = self._told = time.monotonic()

    def judge(self, case: Case, check: Callable[[random.Random, Path], str]) -> None:
        """Do a case that is one function: it returns the outcome, or raises."""
        with tempfile.TemporaryDirectory() as name:
            try:
                outcome = check(case.draw(), Path(name))
            except CaseError as error:
                self.add(case, "failed", error)
            except (Exception, pytest.fail.Exception) as error:
                problem = f"{type(error).__name__}: {error}"
                self.add(case, "failed", CaseError(problem))
            else:
                self.add(case, outcome)

    def add(self, case: Case, outcome: str, error: Exception | None = None) -> None:
        """Count a case; print it if it has failed."""
        self._counts[case.kind, outcome] += 1
        if error is not None:
            self.failures.append(f"{case.command()}\n    {_indented(str(error))}")
            print(f"FAILED {self.failures[-1]}", flush=True)
        now = time.monotonic()
        if now >= self._told + MINUTE:
            self._told = now
            self.say(f"{(now - self._begin) / MINUTE:.0f} min: {self.line()}")

    def count(self, case: Case, outcome: str, number: int) -> None:
        """Count parts of a case that has been added."""
        self._parts[case.kind, outcome] += number

    def line(self) -> str:
        """Return the counts of all kinds in a line."""
        kinds: collections.Counter[str] = collections.Counter()
        for (kind, _), count in self._counts.items():
            kinds[kind] += count
        text = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        return f"{text}, {len(self.failures)} failures"

    def say(self, text: str) -> None:
        """Print a line."""
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def tell(self) -> None:
        """Print a table of the counts, and how to repeat each failure."""
        for (kind, outcome), count in sorted((self._counts | self._parts).items()):
            self.say(f"{kind:8} {count:6}  {outcome}")
        self.say(self.line())
        for failure in self.failures:
            self.say(failure.splitlines()[0])


def _indented(text: str) -> str:
    return "\n    ".join(text.strip().splitlines())
