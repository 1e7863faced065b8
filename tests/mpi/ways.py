"""Ways through the program that a small graph would not take by itself.

A way is a dictionary of options of `Config` and of these words:

two_workers   two CPU workers on every rank
no_room       no leader has memory for any merge
much_left     no host takes all that is left after all vertices have hooked
hosts         so many ranks are on a host
alternate     ranks are dealt to so many hosts in turn
team          a team of so many members does rounds in place of Kruskal's algorithm,
              and all threads work on whatever there is
rounds        global rounds go on while they shrink the edges, however few
no_peer       devices do not merge by themselves
host_peers    CPUs merge as devices do
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

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import Comm
from mndmst.graph.tuning import Tuning
from mndmst.host import memory
from mndmst.host.errors import StoppedError
from mndmst.host.memory import Budget
from mndmst.host.progress import Progress
from mndmst.pipeline import Targets, solve
from mndmst.solver import part_graph, read
from mndmst.solver.checkpoint import Checkpoint
from mndmst.solver.config import Config
from mndmst.solver.merging.peer_devices import MergeOnDevices
from mndmst.solver.run import State

WAYS: dict[str, Callable[[Any], list[tuple[object, str, object]]]] = {
    "two_workers": lambda _: [
        (part_graph, "make_backends", lambda *_: ([CpuBackend(1), CpuBackend(2)], 1))
    ],
    "no_room": lambda _: [(Budget, "fits", lambda _, nbytes: nbytes == 0)],
    "hosts": lambda ranks: [
        (Comm, "node", lambda comm: comm.split(comm.rank // ranks))
    ],
    "alternate": lambda count: [
        (Comm, "node", lambda comm: comm.split(comm.rank % count))
    ],
    "no_peer": lambda _: [(MergeOnDevices, "refuses", staticmethod(lambda *_: "no"))],
    "host_peers": lambda _: [(CpuBackend, "peer", lambda *a: HostPeer(*a))],
    "stored": lambda rows: [(read, "cut_rows", pieces_of(rows))],
    "tight": lambda _: [
        (memory, "RANK_RESERVE", 0), (memory, "PEER_RANK_BYTES", 0),
        (Budget, "LEAST_PIECE", 1),
    ],
}  # fmt: skip
MOST_PIECES = 500
# Thresholds for ways that the program takes by itself on larger graphs.
THRESHOLDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "much_left": lambda _: {"merged_edge_bytes": 1 << 40},
    "team": lambda members: {"rounds_from": members, "grain": 1},
    "rounds": lambda _: {"few_edges": 0},
    "near": lambda _: {"near_share": 1, "locality_share": 1},
}


@contextmanager
def taking(way: dict[str, Any]) -> Iterator[Config]:
    """Make the program take a way, and yield the options for it."""
    changes = {**WAYS, **THRESHOLDS}
    options = {name: value for name, value in way.items() if name not in changes}
    tuning: dict[str, Any] = {}
    for name in THRESHOLDS.keys() & way.keys():
        tuning |= THRESHOLDS[name](way[name])
    if "stored" in way:
        options["memory"] = 1 << 40
    with ExitStack() as stack:
        for name in WAYS.keys() & way.keys():
            for changed in WAYS[name](way[name]):
                stack.enter_context(patch.object(*changed))
        yield Config(backend="cpu", tuning=Tuning(**tuning)).updated(options)


def pieces_of(rows: int) -> Callable[..., tuple[list[int], Budget]]:
    """Return what cuts the rows [begin, end) into pieces, even if there are none.

    Of many rows the pieces are longer: each one opens its files again.
    """

    def cut(
        comm: Comm, graph: Any, begin: int, end: int, budget: Budget
    ) -> tuple[list[int], Budget]:
        step = max(rows, (end - begin) // MOST_PIECES)
        return [begin, *range(begin + step, end, step), end], budget

    return cut


def stop_early(
    comm: Comm, graph: Path, config: Config, kept: Path, point: int = 1
) -> None:
    """Solve a graph up to a safe point, and leave a checkpoint there."""
    left = [point]

    def stop(checkpoint: Checkpoint, state: State) -> None:
        left[0] -= 1
        if left[0] == 0:
            checkpoint._write(state)
            raise StoppedError("at a safe point")

    with patch.object(Checkpoint, "_safe_point", stop), suppress(StoppedError):
        solve(comm, graph, config, Targets(checkpoint=kept), Progress(False))
