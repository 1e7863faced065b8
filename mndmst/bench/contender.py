"""Contenders: anything that computes the forest of a graph in memory."""

import math
import time
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

# The largest range in which float64, which most peers compute in, has all integers.
_EXACT = 1 << 53
_TOLERANCE = 1e-9


class Answer(NamedTuple):
    """The size and the total weight of a forest."""

    edges: int
    weight: int | float

    def agrees(self, other: "Answer") -> bool:
        """Return whether both may be of one forest.

        Integers that float64 holds are compared exactly, other totals to a relative
        1e-9, since peers add them up in float64 in an order of their own.
        """
        exact = isinstance(self.weight, int) and abs(self.weight) <= _EXACT
        same = (
            self.weight == other.weight
            if exact
            else math.isclose(self.weight, other.weight, rel_tol=_TOLERANCE)
        )
        return self.edges == other.edges and same


class Contender(ABC):
    """One row of the table. Making it converts the graph into the form it wants."""

    name: str

    @abstractmethod
    def solve(self) -> Any:
        """Compute the forest: the timed part."""

    @abstractmethod
    def answer(self, forest: Any) -> Answer:
        """Return what `solve` has found."""

    def timed(self) -> tuple[float, Any]:
        """Return the milliseconds of `solve`, and its result."""
        begin = time.perf_counter()
        forest = self.solve()
        return 1e3 * (time.perf_counter() - begin), forest
