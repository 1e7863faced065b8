"""Ways through the program that a small graph would not take by itself.

A way is a dictionary of options of `Config` and of these words:

two_workers   two CPU workers on every rank
no_room       no leader has memory for any merge
much_left     no rank merges all that is left after all vertices have hooked
few           so few edges end the rounds in shared memory
batch         so many edges are proposed there at once
grid          messages go by way of other ranks
link          how the network between ranks is found to be
no_peer       devices do not merge by themselves
host_peers    CPUs merge as devices do
lent          the last leader has all cores of its host, however little is left
near          ranks go through all edges by themselves, however many lead to others
stored        the rows stay in their file and pass in pieces of so many
tight         nothing is kept in reserve: a limit may be just above what is needed
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from host_peer import HostPeer
from mndmst.comm.communicator.communicator import Comm
from mndmst.comm.communicator.network import Network
from mndmst.run.run.checkpoint import Checkpoint
from mndmst.run.run.config import Config
from mndmst.run.run.run import Run

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import exchange
from mndmst.host.errors import StoppedError
from mndmst.host.memory import Budget
from mndmst.host.progress import Progress
from mndmst.merging import (
    hypar,
    leading,
    portions,
    shared_contraction,
    shared_proposals,
)
from mndmst.merging import replicated as scattered
from mndmst.pipeline import Targets, solve
from mndmst.steps import read

# On a slow network rounds go on to the end; else tiny graphs go to one leader at once.
SLOW = Network(0.0, 1.0)

WAYS: dict[str, Callable[[Any], list[tuple[object, str, object]]]] = {
    "two_workers": lambda _: [
        (hypar, "make_backends", lambda *_: [CpuBackend(1), CpuBackend(2)])
    ],
    "no_room": lambda _: [(Budget, "fits", lambda _, nbytes: nbytes == 0)],
    "much_left": lambda _: [(scattered, "EDGE_BYTES", 1 << 40)],
    "few": lambda edges: [
        (shared_contraction, "FEW_WORKERS", 0),
        (shared_contraction, "FEW_EDGES", edges),
    ],
    "batch": lambda edges: [(shared_proposals, "BATCH", edges)],
    "grid": lambda _: [(exchange, "GRID_RANKS", 1), (exchange, "GRID_WIDTH", 1)],
    "link": lambda _: [(hypar, "measure", lambda _: SLOW)],
    "no_peer": lambda _: [(portions, "join_on_devices", lambda _: False)],
    "host_peers": lambda _: [(CpuBackend, "peer", lambda *a: HostPeer(*a))],
    "lent": lambda _: [(leading, "MANY_EDGES", 0)],
    "near": lambda _: [(portions, "NEAR_SHARE", 1), (portions, "CUT_SHARE", 1)],
    "stored": lambda rows: [(read, "cut_rows", pieces_of(rows))],
    "tight": lambda _: [
        (Budget, "RESERVE", 0), (Budget, "RANK_BYTES", 0), (Budget, "LEAST_PIECE", 1)
    ],
}  # fmt: skip


@contextmanager
def taking(way: dict[str, Any]) -> Iterator[Config]:
    """Make the program take a way, and yield the options for it."""
    options = {name: value for name, value in way.items() if name not in WAYS}
    if "stored" in way:
        options["memory"] = 1 << 40
    with ExitStack() as stack:
        for name in WAYS.keys() & way.keys():
            for changed in WAYS[name](way[name]):
                stack.enter_context(patch.object(*changed))
        yield Config(**{"backend": "cpu", **options})


def pieces_of(rows: int) -> Callable[..., list[int]]:
    """Return what cuts the rows [begin, end) into pieces, even if there are none."""
    return lambda comm, graph, begin, end, budget: [
        begin, *range(begin + rows, end, rows), end
    ]  # fmt: skip


def stop_early(
    comm: Comm, graph: Path, config: Config, kept: Path, point: int = 1
) -> None:
    """Solve a graph up to a safe point, and leave a checkpoint there."""
    left = [point]

    def stop(checkpoint: Checkpoint, run: Run) -> None:
        left[0] -= 1
        if left[0] == 0:
            checkpoint._save(run)
            raise StoppedError("at a safe point")

    with patch.object(Checkpoint, "safe_point", stop), suppress(StoppedError):
        solve(comm, graph, config, Targets(checkpoint=kept), Progress(False))
