"""GPUs of one host merge directly: only the forest of the graph leaves them.

Every device computes the forest of its rank's rows, and the device of the first rank
the forest of these forests. Each edge is offered once, by the owner of its smaller end,
so what is left of an offer are the edges that its rank writes, in order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..backends.base import Band, Peer
from ..graph.model import EdgeList
from .strategy import Facts, NotSuitableError, Setting, Strategy

Offers = list[Any] | None


class Devices(Strategy):
    """GPUs of a host merge directly.

    If a device runs out of memory, nothing has changed, and the hosts merge.
    """

    name = "devices"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        run = self.run
        (worker,) = run.workers
        peer = worker.backend.peer(worker.placed, run.num_vertices)
        if run.comm.min(int(peer is not None)) == 0 or peer is None:
            raise NotSuitableError("not every rank has all its rows on a GPU")
        self.peer: Peer = peer
        self._others = setting.others
        self._instead: Strategy | None = None

    @staticmethod
    def refuses(merge: str, facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        if merge not in ("auto", "devices"):
            return f"--merge {merge} was asked for"
        if facts.ranks == 1:
            return "there is one rank"
        if not facts.one_host:
            return "the ranks are on several hosts"
        if facts.workers > 1 or facts.stored:
            return "not every rank has all its rows on one device"
        if facts.resumed or facts.own_exception:
            return "the run resumes, or has an exception condition of its own"
        return None

    def portions(self) -> Iterator[Any]:
        """Yield all edges at once."""
        yield Band()
        if self._instead is not None:
            yield from self._instead.portions()

    def ind_comp(self, edges: Any) -> Any:
        """Compute the forest of the rows on each device; rank 0 gets all offers."""
        if self._instead is not None:
            return self._instead.ind_comp(edges)
        with self._stage("indComp"):
            return self.run.comm.gather(self.peer.offer())

    def merge_parts(self, left: Any) -> Any:
        """Compute the forest of the forests on the first device.

        Returns
        -------
        (EdgeList, ndarray) or None
            What `Peer.accept` does; None on all ranks, if it does on any.
        """
        if self._instead is not None:
            return self._instead.merge_parts(left)
        with self._stage("devices") as entry:
            return self._join(left, entry)

    @contextmanager
    def _stage(self, name: str) -> Iterator[dict[str, Any]]:
        run = self.run
        with run.report.stage(name) as entry, run.report.work(run.backend.name):
            yield entry

    def _join(
        self, offers: Offers, entry: dict[str, Any]
    ) -> tuple[EdgeList, np.ndarray] | None:
        comm, answer = self.run.comm, None
        # 1. The first device computes the forest of all forests
        if offers is not None and None not in offers:
            answer = self.peer.join(offers, comm.rank)
        answer = comm.bcast(answer)
        if answer is None:
            return None
        # 2. Every rank takes the marks of its edges, and the labels of its rows
        found = self.peer.accept(answer, comm.rank)
        entry["edges_offered"] = answer.bounds[-1]
        return found if comm.min(int(found is not None)) else None  # and waits for all

    def post_process(self, left: Any) -> None:
        """Keep the forest; if there is none, let the hosts compute it."""
        if self._instead is not None:
            self._instead.post_process(left)
            return
        if left is None:
            self._instead = self._others()
            return
        edges, label = left
        self.run.state.forest_edges.append(edges)
        self.run.directory.parent[:] = label
        self.run.report.level("devices", 0)
        self.run.safe_point()

    def give_up(self) -> None:
        """Let those that merge instead give up."""
        if self._instead is not None:
            self._instead.give_up()
