"""How fast messages between hosts are: by that ranks choose how to merge.

Ranks that are far apart trade messages, all pairs at once, as they do in a global
round: so a link that several ranks share shows as slow as it will be. It takes tens
of milliseconds on a network of 1 Gbit/s.
"""

import time
from typing import NamedTuple

import numpy as np

from .communicator import Comm

SMALL_TRADES = 5
LARGE_BYTES = 1 << 17
LARGE_TRADES = 3


class Network(NamedTuple):
    """What the slowest pair of ranks has seen.

    Attributes
    ----------
    latency : float
        Seconds of a short message, half a trade: sizes go ahead of what is traded.
    bandwidth : float
        Bytes a second that a rank sends while it receives as many.
    ranks_per_host : int
        How many ranks of a host share its link, at the most.
    measured : bool
        Otherwise all ranks are on one host.
    """

    latency: float
    bandwidth: float
    ranks_per_host: int = 1
    measured: bool = True


# What messages take through the memory of a host. That is not measured, so that a run
# can be repeated there.
LOCAL = Network(latency=2e-5, bandwidth=1e9, measured=False)


def measure(comm: Comm) -> Network:
    """Measure the network between the ranks, if they are on several hosts. Collective.

    Returns
    -------
    Network
        The same on every rank.
    """
    node = comm.node()
    most = comm.max(node.size)
    node.free()
    if most == comm.size:
        return LOCAL._replace(ranks_per_host=most)
    short = _seconds(comm, 1, SMALL_TRADES)
    long = _seconds(comm, LARGE_BYTES, LARGE_TRADES)
    return Network(short / 2, LARGE_BYTES / long, most)


def _seconds(comm: Comm, nbytes: int, trades: int) -> float:
    """Return the best time of a trade on the slowest rank."""
    # Ranks of one host are mostly numbered in a row, so half the way round is far.
    away = comm.size // 2
    dest, source = (comm.rank + away) % comm.size, (comm.rank - away) % comm.size
    data = np.zeros(nbytes, np.uint8)
    times = []
    for _ in range(1 + trades):  # the first opens connections
        comm.barrier()
        begin = time.perf_counter()
        comm.trade([data], dest, source)
        times.append(time.perf_counter() - begin)
    return float(comm.max(min(times[1:])))
