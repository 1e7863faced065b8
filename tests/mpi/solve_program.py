"""Solve many graphs in one MPI job; rank 0 prints what was found, as JSON.

Arguments: a folder with `cases.json`, a list of graphs' paths, and `configs.json`, a
list of options, and a stride: the runs whose case, configuration and number of ranks
add up to a multiple of it are done. `two_workers` in a configuration puts two CPU
workers on every rank; with `no_room` no leader has memory for any merge, with
`much_left` no rank merges all that is left after all vertices have hooked, `few` is
how few edges end the rounds in shared memory and `batch` how many are proposed there
at once, with `rounds` global rounds go on while they shrink the edges, however few,
and with `no_peer` devices do not merge by themselves, with `host_peers` CPUs do. With
`near` ranks go through all edges by themselves, however many lead to others. With
`stored` the rows stay in their file and pass in pieces of so many; with `stopped` the
run goes on from the checkpoint that another has left at its first safe point.
"""

import json
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from host_peer import HostPeer

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import world
from mndmst.host.errors import StoppedError
from mndmst.host.memory import Budget
from mndmst.host.progress import Progress
from mndmst.io.forest import read_forest
from mndmst.merging import (
    leaders,
    messages,
    shared_contraction,
    shared_proposals,
    strategy,
)
from mndmst.merging import replicated as scattered
from mndmst.merging.devices import Devices
from mndmst.pipeline import Targets, solve
from mndmst.run.checkpoint import Checkpoint
from mndmst.run.config import Config
from mndmst.run.run import State
from mndmst.steps import part_graph, read


def pieces_of(rows: int) -> Callable[..., list[int]]:
    """Return what cuts the rows [begin, end) into pieces, even if there are none."""
    return lambda comm, graph, begin, end, budget: [
        begin, *range(begin + rows, end, rows), end
    ]  # fmt: skip


def stop(checkpoint: Checkpoint, state: State) -> None:
    """Save the state, and stop."""
    checkpoint._write(state)
    raise StoppedError("at the first safe point")


comm = world()
folder, stride = Path(sys.argv[1]), int(sys.argv[2])
cases = json.loads((folder / "cases.json").read_text())
configs = json.loads((folder / "configs.json").read_text())
make_backends, fits = part_graph.make_backends, Budget.fits
no_peers, refuses = CpuBackend.peer, Devices.refuses
cut_rows = read.cut_rows
edge_bytes, few = scattered.EDGE_BYTES, shared_contraction.FEW_EDGES
batch, many = shared_proposals.BATCH, leaders.FEW_EDGES
near, no_locality = messages.NEAR_SHARE, strategy.CUT_SHARE
target = folder / f"forest-{comm.size}.h5"
found = []
for j, config in enumerate(configs):
    two = config.pop("two_workers", False)
    no_room = config.pop("no_room", False)
    scattered.EDGE_BYTES = 1 << 40 if config.pop("much_left", False) else edge_bytes
    shared_contraction.FEW_EDGES = config.pop("few", few)
    shared_proposals.BATCH = config.pop("batch", batch)
    leaders.FEW_EDGES = 0 if config.pop("rounds", False) else many
    forced = config.pop("near", False)
    messages.NEAR_SHARE, strategy.CUT_SHARE = (1, 1) if forced else (near, no_locality)
    host_peers = config.pop("host_peers", False)
    CpuBackend.peer = (lambda *a: HostPeer(*a)) if host_peers else no_peers
    no_peer = config.pop("no_peer", False)
    Devices.refuses = staticmethod((lambda *_: "no") if no_peer else refuses)
    Budget.fits = (lambda _, nbytes: nbytes == 0) if no_room else fits
    stored = config.pop("stored", 0)
    config["memory"] = 1 << 40 if stored else 0
    read.cut_rows = pieces_of(stored) if stored else cut_rows
    part_graph.make_backends = (
        (lambda *_: [CpuBackend(1), CpuBackend(2)]) if two else make_backends
    )
    kept = folder / "kept" if config.pop("stopped", False) else None
    for i, graph in enumerate(cases):
        if (i + j + comm.size) % stride:
            continue
        how = comm, graph, Config(**{"backend": "cpu", **config})
        if kept:
            with patch.object(Checkpoint, "_safe_point", stop), suppress(StoppedError):
                solve(*how, Targets(checkpoint=kept), Progress(False))
        targets = Targets(target, None, True, kept, resume=kept is not None)
        summary = solve(*how, targets, Progress(False))
        if comm.rank == 0:
            labels = read_forest(target).read_labels(0, summary.num_vertices)
            run = {"case": i, "config": j, "digest": summary.digest}
            run |= {"weight": str(summary.weight), "edges": summary.forest_edges}
            run |= {"m": summary.num_edges, "labels": zlib.crc32(labels.tobytes())}
            found.append(run)
if comm.rank == 0:
    print(json.dumps(found))
