"""Searches of all ranks for the points that rank 0 holds.

Rank 0 makes versions. While it does, the other ranks wait for its searches, take part
in each, and hold their share of the points only as long.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from ...comm.communicator import Comm
from ...comm.placement import locate
from ...host.errors import MndmstError
from ...host.memory_costs import (
    COORDINATE_BYTES,
    DENSITY_BYTES,
    MIB,
    NEIGHBOUR_BYTES,
    POINT_BYTES,
)
from ...host.progress import Progress
from ...points.distribute import deal
from ...points.pairwise_forest import lists_all
from ...points.point_forest import PointForest, distributed_forest
from ...points.versions.point_version import ForestRule
from ...solver.startup import compile_kernels
from ..limits import ServiceMemory

T = TypeVar("T")
# Neighbours that are listed for each point of a search
LISTED = 16


def hold_search(
    memory: ServiceMemory, min_samples: int, count: int, dimensions: int
) -> AbstractContextManager[None]:
    """Count the search and the trees of points while a block makes them."""
    each = POINT_BYTES + DENSITY_BYTES + COORDINATE_BYTES * dimensions
    each += NEIGHBOUR_BYTES * (min_samples + LISTED)
    nbytes = each * count
    # The kernels of a small set take no more than a rank may always hold
    return memory.hold(nbytes if nbytes > MIB else 0, f"a search of {count:,} points")


class SearchTask(NamedTuple):
    """A search that rank 0 asks the other ranks to take part in."""

    metric: str
    min_samples: int
    shape: tuple[int, ...]  # of the points of all ranks


@dataclass(frozen=True)
class SharedSearch:
    """The ranks that search together; the same value on all of them.

    `threads` are those of a rank; 0 for its share of the cores.
    """

    comm: Comm
    memory: ServiceMemory
    threads: int = 0

    def rule(self, metric: str, min_samples: int) -> "SharedRule":
        """Return the rule of a forest that all ranks search; for `run` on rank 0."""
        return SharedRule(metric, min_samples, threads=self.threads, ranks=self)

    def run(self, work: Callable[[], T]) -> T | None:
        """Return the result of `work` on rank 0, and None on others. Collective.

        All ranks take part in its searches. Raises on every rank the MndmstError that
        `work` raises.
        """
        result, error = None, None
        if self.comm.rank == 0:
            try:
                result = work()
            except MndmstError as raised:
                error = raised
            self.comm.bcast(False)  # there is no further search
        else:
            while self.comm.bcast(None):
                with suppress(MndmstError):  # rank 0 has raised it, too
                    self._search(None, None)
        with self.comm.raise_on_all():
            if error is not None:
                raise error
        return result

    def forest_of(self, rule: ForestRule, points: np.ndarray) -> PointForest:
        """Return the forest of points; on rank 0, while all ranks `run`."""
        self.comm.bcast(True)
        task = SearchTask(str(rule.metric), rule.min_samples, points.shape)
        found = self._search(task, points)
        assert found is not None
        return found

    def _search(
        self, task: SearchTask | None, points: np.ndarray | None
    ) -> PointForest | None:
        """Search the points of rank 0, and return their forest there. Collective."""
        comm, task = self.comm, self.comm.bcast(task)
        threads = self.threads or locate(comm).share
        count, dimensions = task.shape
        with ExitStack() as work:
            with comm.raise_on_all():
                if comm.rank:  # rank 0 has counted all points
                    share = -(-count // comm.size)
                    held = hold_search(self.memory, task.min_samples, share, dimensions)
                    work.enter_context(held)
            for user in ("points", "products"):  # else each rank would compile them
                compile_kernels(comm, user, None, Progress(False))
            part = deal(comm, points)
            return distributed_forest(
                comm, part, task.metric, task.min_samples, threads=threads
            )


@dataclass(frozen=True)
class SharedRule(ForestRule):
    """The rule of a forest that all ranks search for rank 0."""

    ranks: SharedSearch | None = field(default=None, compare=False, repr=False)

    def forest_of(self, points: np.ndarray) -> PointForest:
        """Return the forest of points, found anew; see `SharedSearch.run`."""
        alone = lists_all(self.min_samples, len(points)) or len(points) == 0
        if self.ranks is None or self.ranks.comm.size == 1 or alone:
            return super().forest_of(points)
        return self.ranks.forest_of(self, points)
