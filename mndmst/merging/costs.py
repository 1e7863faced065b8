"""What merging will take by each path, predicted from the network and what is left.

With merge="auto" ranks take the cheapest. Edges may go straight to the last leader,
or there by levels of groups, which filter cycles on the way; or a global round may
shrink them first, all ranks at once. A leader takes time in proportion to the edges,
a round also for its many short messages: so slow links and many edges speak for
rounds, long latencies and few edges for leaders.
"""

from math import ceil, log2
from typing import NamedTuple

import numpy as np

from ..comm.communicator import Comm
from ..comm.network import LOCAL, Network
from ..graph.model import ReducedGraph

# A round at least halves the components that have edges, and leaves such a share of
# the edges: the first also drops one of the two copies of a cut edge.
HALF, FIRST, LATER = 0.5, 0.2, 0.6
# A round must be predicted to be so many times faster: what it leaves is a guess, and
# what all ranks send in it is no less than what they would send to a leader.
CAUTION = 1.5
# Messages of a round, each after the other, most of them all to all; of a level; and
# of a member's graph.
ROUND_EXCHANGES, LEVEL_EXCHANGES, GRAPH_MESSAGES = 16, 4, 2
# A rank sends so much of the bytes of its graph in a round, a proposal for each
# component and names; and if it gives the graph away, ids as differences.
ROUND_BYTES, PARCEL_BYTES = 0.6, 0.6
# Seconds of computing: in all cases; for each message; and for each edge that a rank
# has in a round, and that a leader merges and filters.
ROUND_SECONDS, LEVEL_SECONDS = 8e-3, 1e-3
MESSAGE_SECONDS = 1e-5
ROUND_EDGE_SECONDS, LEVEL_EDGE_SECONDS = 400e-9, 300e-9


class Left(NamedTuple):
    """What is left on all ranks together.

    Attributes
    ----------
    edges, nbytes : float
        Counted on every rank that holds them.
    components : float
        Those with edges, at the most.
    """

    edges: float
    nbytes: float
    components: float

    @classmethod
    def of(cls, comm: Comm, graph: ReducedGraph) -> "Left":
        """Add up the graphs of all ranks. Collective."""
        mine = [len(graph), graph.nbytes, len(graph.labels)]
        return cls(*comm.sum(np.array(mine)).tolist())

    def after_round(self, share: float) -> "Left":
        """Return what will be left after a round that leaves a share of the edges."""
        return Left(share * self.edges, share * self.nbytes, HALF * self.components)


class Costs(NamedTuple):
    """Predicts what paths take.

    Attributes
    ----------
    network : Network
        The same on every rank, as all that is predicted must be.
    ranks, group_size : int
    """

    network: Network
    ranks: int
    group_size: int

    def predict(self, left: Left, holders: int, share: float) -> dict[str, float]:
        """Return the seconds until one rank has all, by the path that is taken first.

        Parameters
        ----------
        holders : int
            Ranks that hold edges.
        share : float
            Of the edges a round will leave.
        """
        sizes = {"leader": holders}
        if self.group_size < holders:
            sizes["levels"] = self.group_size
        after = left.after_round(share)
        rest = min(self._merging(after, holders, size) for size in sizes.values())
        merging = {p: self._merging(left, holders, size) for p, size in sizes.items()}
        return merging | {"round": self._round(left, holders) + rest}

    @staticmethod
    def cheapest(seconds: dict[str, float]) -> str:
        """Return the path to take, given what some paths are predicted to take."""
        weights = {"round": CAUTION}
        return min(seconds, key=lambda path: seconds[path] * weights.get(path, 1.0))

    def _round(self, left: Left, holders: int) -> float:
        """Return the seconds of a global round."""
        waited = ROUND_EXCHANGES * (self._exchange + MESSAGE_SECONDS * self.ranks)
        sent = ROUND_BYTES * left.nbytes / holders
        computed = ROUND_SECONDS + ROUND_EDGE_SECONDS * left.edges / holders
        return waited + sent / self.network.bandwidth + computed

    def _merging(self, left: Left, holders: int, group_size: int) -> float:
        """Return the seconds of merging by groups until one rank has all."""
        edges, seconds = left.edges, 0.0
        edge_bytes = PARCEL_BYTES * left.nbytes / max(1, left.edges)
        while holders > 1:
            members = min(group_size, holders)
            held, stride = edges / holders, self.ranks // holders
            network = self._link(stride * members, holders / members)
            seconds += GRAPH_MESSAGES * (members - 1) * network.latency
            seconds += (members - 1) * held * edge_bytes / network.bandwidth
            seconds += LEVEL_SECONDS + LEVEL_EDGE_SECONDS * members * held
            seconds += LEVEL_EXCHANGES * self._exchange
            holders = ceil(holders / members)
            # A leader keeps a forest.
            edges = min(edges, holders * left.components)
        return seconds

    @property
    def _exchange(self) -> float:
        """Return the seconds in which all ranks exchange something short."""
        return (1 + log2(self.ranks)) * self.network.latency

    def _link(self, span: int, leaders: float) -> Network:
        """Return how fast a leader receives from a group that spans so many ranks."""
        per_host = self.network.ranks_per_host
        if span <= per_host:
            return LOCAL
        # Measured with all ranks of a host at once; now only leaders receive.
        receiving = max(1.0, leaders * per_host / self.ranks)
        bandwidth = self.network.bandwidth * per_host / receiving
        return self.network._replace(bandwidth=bandwidth)
