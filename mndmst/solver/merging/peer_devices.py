"""GPUs of one host merge directly, and copy only the forest of the graph to the host.

Every device computes the forest of its rank's rows, and the device of the first rank
the forest of these forests. Each edge is published once, by the owner of its smaller
end. So a rank receives exactly the forest edges that it writes, in their order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ...backends.base import Band, MergedForests
from ...graph.model import EdgeList
from .phases import RowBand
from .strategy import Facts, HyPar, NotSuitableError, Strategy, StrategySetting


@dataclass(frozen=True)
class PublishedForests:
    """Descriptions of the forests that devices have published."""

    # On the first rank the forest of each rank, or None if its device failed. Other
    # ranks have None in place of the list.
    forests: list[object | None] | None


@dataclass(frozen=True)
class RankForest:
    """This rank's part of the forest of the graph."""

    edges: EdgeList
    label: np.ndarray  # uint32, shape (rows,): the smallest vertex of each row's tree


class MergeOnDevices(HyPar[RowBand, PublishedForests, RankForest]):
    """GPUs of a host merge directly.

    If a device runs out of memory, the next strategy starts from the unchanged state.
    """

    name = "devices"

    def __init__(self, setting: StrategySetting) -> None:
        super().__init__(setting)
        run = self.run
        (worker,) = run.workers
        peer = worker.backend.peer(worker.uploaded, run.num_vertices)
        if run.comm.min(int(peer is not None)) == 0 or peer is None:
            raise NotSuitableError("not every rank has all its rows on a GPU")
        self.peer = peer
        self.choose_next = setting.choose_next

    @staticmethod
    def refuses(facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        if facts.ranks == 1:
            return "there is one rank"
        if not facts.one_host:
            return "the ranks are on several hosts"
        if facts.pieces > 1:
            return "not every rank has all its rows on one device"
        if facts.resumed or facts.custom_exception:
            return "the run resumes, or has an exception condition of its own"
        return None

    def first_phase(self) -> RowBand:
        """Return all edges: devices need no bands."""
        return RowBand(Band())

    def next_phase(self, phase: RowBand, remaining: PublishedForests) -> None:
        """Return None: there is one phase."""
        return

    def ind_comp(self, phase: RowBand) -> PublishedForests:
        """Compute the forest of the rows on each device, and publish it."""
        with self._stage("indComp"):
            return PublishedForests(self.run.comm.gather(self.peer.publish()))

    def merge_parts(self, remaining: PublishedForests) -> RankForest | Strategy:
        """Compute the forest of the forests on the first device."""
        with self._stage("devices") as entry:
            forest = self._merge(remaining.forests, entry)
        return self.choose_next() if forest is None else forest

    def _merge(
        self, forests: list[object | None] | None, entry: dict[str, object]
    ) -> RankForest | None:
        """Return this rank's part; None on all ranks if any device fails."""
        comm = self.run.comm
        merged: MergedForests | None = None
        # 1. The first device computes the forest of all forests
        if forests is not None:
            published = [forest for forest in forests if forest is not None]
            if len(published) == comm.size:
                merged = self.peer.merge(published, comm.rank)
        merged = comm.bcast(merged)
        if merged is None:
            return None
        # 2. Every rank receives the marks of its edges, and the labels of its rows
        received = self.peer.receive(merged, comm.rank)
        # All ranks wait here until each has received its part
        if not comm.min(int(received is not None)) or received is None:
            return None
        entry["edges_offered"] = merged.bounds[-1]
        return RankForest(*received)

    def post_process(self, merged: RankForest) -> None:
        """Record this rank's edges of the forest, and the components of its rows."""
        self.run.state.forest_edges.append(merged.edges)
        self.run.directory.parent[:] = merged.label
        self.run.report.level("devices", 0)
        self.run.safe_point()

    @contextmanager
    def _stage(self, name: str) -> Iterator[dict[str, object]]:
        run = self.run
        with run.report.stage(name) as entry, run.report.work(run.backend.name):
            yield entry
