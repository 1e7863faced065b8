"""The choice of each rank's devices; other modules do not tell CPUs from GPUs.

A host may have more ranks than devices. Then as many ranks as it has devices drive one
each, with the cores of all, and do the whole work of the host. The other ranks wait and
touch no driver (`on_working_ranks`): contexts, kernels and pinned memory of several
ranks on one device cost seconds and gain nothing. MND-MST (4.3.1) deals rows to a
rank's two devices by their speeds; here ranks with devices and ranks of hosts without
one get rows in the same way (`DeviceAssignment.weight`). Devices get rows by their
memory, if all rows fit them in this way and not in equal shares.

A single rank solves a graph of few arcs, without kernels: on a machine that has not
compiled them yet, compiling takes a thousand times as long as solving the graph.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..backends import (
    accelerator,
    accelerators,
    cpu_device,
    few_arcs_device,
    find_accelerator,
)
from ..backends.base import Device, as_device
from ..backends.costs import COSTS
from ..backends.fallback import Fallback
from ..comm.communicator import Comm
from ..comm.placement import (
    assigned_devices,
    cores_of_waiting_ranks,
    locate,
    ranges,
    warnings,
)
from ..host.errors import MissingExtraError, MndmstError
from ..host.memory import Budget
from ..host.progress import Progress
from ..io.shards.sharded_graph import ShardedGraph, open_graph
from ..kernels.freed_memory import keep_freed
from .config import Config
from .run_report import Report

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# Rows beyond this share of a device's memory leave too little for its work.
DEVICE_SHARE = 0.9


class VisibleDevices(NamedTuple):
    """The visible devices of a rank, and the one that it uses."""

    kind: str | None  # in `ACCELERATORS`; None without a visible device
    ids: tuple[str, ...]  # unique on the host
    device: int | None  # Index of the rank's device in `ids`
    on_host: bool  # Whether any rank of the host uses a device
    reason: str | None  # Why the rank has no visible device


@dataclass(frozen=True)
class DeviceAssignment:
    """The device of this rank, and whether the rank works."""

    kind: str | None  # in `ACCELERATORS`; None if the rank computes on its CPU alone
    ids: tuple[str, ...]
    device: int | None
    works: bool
    # Predicted seconds of CPU and GPU; None without a GPU, or if the user has chosen
    seconds: tuple[float, float] | None
    # Whether the graph has so few arcs that one rank solves it without kernels.
    few_arcs: bool = False
    # Bytes of arcs that fit this rank's device; None if rows are not divided by them.
    capacity: float | None = None

    def weight(self, threads: int, ranks: int) -> float:
        """Return the share of the rows for this rank, in proportion to other ranks'.

        It is the capacity of its device, or the predicted arcs per second of this rank,
        one of `ranks` ranks of its host.
        """
        if self.capacity is not None:
            return self.capacity
        if self.kind is not None:
            return 1 / COSTS.gpu_arc
        return 1 / COSTS.cpu_seconds(1.0, threads, ranks)


def visible_devices(comm: Comm, backend: str) -> VisibleDevices:
    """Return the devices that a choice of `--backend` finds for this rank. Collective.

    Of the ranks of a host that see the same devices only the first asks the driver.
    """
    node = comm.node()
    shown = tuple(kind.visibility() for kind in accelerators())
    groups = node.bcast(node.gather(shown))
    first = groups.index(shown)
    answer: tuple[str | None, tuple[str, ...], str | None] = None, (), None
    if first == node.rank:
        kind, reason = find_accelerator(backend)
        answer = (None, (), reason)
        if kind is not None:
            answer = (kind.NAME, tuple(kind.device_ids()), None)
    answers = node.bcast(node.gather(answer))
    seen = [answers[groups.index(group)] for group in groups]
    devices = assigned_devices([ids for _, ids, _ in seen])
    kind_name, ids, reason = seen[node.rank]
    on_host = any(device is not None for device in devices)
    return VisibleDevices(kind_name, ids, devices[node.rank], on_host, reason)


def assign_devices(
    comm: Comm,
    config: Config,
    graph: ShardedGraph,
    progress: Progress,
    solves: int = 1,
) -> DeviceAssignment:
    """Return the device of this rank, and whether it works. Collective.

    With `auto` ranks get the devices that `COSTS` predicts to be faster in each of
    `solves` solves, and the first rank gets all of a graph of few arcs
    (`Tuning.few_arcs`). Raises MissingExtraError on every rank if the user chose a GPU
    and a host has none.
    """
    free = config.backend == "auto" and config.ratio is None
    if free and _has_few_arcs(config, graph):
        if comm.size > 1:
            progress.say("one rank solves the graph: it has few arcs; the others wait")
        return DeviceAssignment(None, (), None, comm.rank == 0, None, few_arcs=True)
    placement = locate(comm)
    cores = comm.min(config.threads or placement.share)
    arcs = graph.num_arcs / comm.size
    cpu = COSTS.cpu_seconds(arcs, cores, comm.max(placement.local_size))
    gpu = COSTS.gpu_seconds(arcs, solves=solves)
    chosen = "cpu" if free and cpu <= gpu else config.backend
    visible = visible_devices(comm, chosen)
    with comm.raise_on_all():
        if config.backend != "auto" and visible.reason and not visible.on_host:
            raise MissingExtraError(f"--backend {config.backend}: {visible.reason}")
    if visible.reason is not None:
        progress.say(f"computing on the CPU ({visible.reason})")
    drivers = comm.sum(int(visible.device is not None))
    works = visible.device is not None or not visible.on_host
    workers = comm.sum(int(works))
    # 1. Do the rows fit the devices, in equal shares or else by memory?
    capacity = _device_capacity(config, visible)
    nbytes = graph.num_arcs * (4 + graph.weight_dtype.itemsize)
    arcs = graph.num_arcs / max(drivers, 1)
    lacks = visible.device is not None and capacity * drivers < nbytes
    streamed = bool(comm.max(int(lacks)))
    by_memory = streamed and workers == drivers and comm.sum(capacity) >= nbytes
    # 2. Are devices or cores faster?
    if drivers < comm.size:  # ranks without a device wait in a single solve only
        solves = 1
    gpu = COSTS.gpu_seconds(arcs, streamed and not by_memory, solves)
    if drivers == 0:
        return DeviceAssignment(None, (), None, True, None)
    seconds = (cpu, gpu) if free else None
    if free and cpu <= gpu:
        return DeviceAssignment(None, (), None, True, seconds)
    # 3. Which ranks work?
    if workers < comm.size and not _fits(config, graph, workers):
        works, by_memory = True, False
    elif workers < comm.size:
        progress.detail(
            f"{workers} of {comm.size} ranks work: {drivers} with a device; the "
            "others wait, and leave them their cores"
        )
    if free and solves > 1:
        progress.say(
            f"the GPU solves this graph: predicted {gpu:.2f} s for each of {solves} "
            f"solves, its start included; CPU {cpu:.2f} s"
        )
    if by_memory:
        progress.detail("devices get rows by their memory: equal shares do not fit all")
    kind = None if visible.device is None else visible.kind
    return DeviceAssignment(
        kind, visible.ids, visible.device, works, seconds,
        capacity=capacity if by_memory else None,
    )  # fmt: skip


def _has_few_arcs(config: Config, graph: ShardedGraph) -> bool:
    """Return whether one rank solves the graph, as the user has named no strategy."""
    few = config.merge == "auto" and graph.has_few_arcs(config.tuning)
    return few and _fits(config, graph, 1)


def _device_capacity(config: Config, visible: VisibleDevices) -> float:
    """Return the bytes of arcs that this rank's device holds; 0 without a device."""
    if visible.kind is None or visible.device is None:
        return 0.0
    total = accelerator(visible.kind).device_bytes(visible.device)
    return DEVICE_SHARE * min(total, config.gpu_memory or total)


def _fits(config: Config, graph: ShardedGraph, workers: int) -> bool:
    """Return whether the rows of a rank fit `--memory` if `workers` ranks have all."""
    rows, arcs = -(-graph.num_vertices // workers), -(-graph.num_arcs // workers)
    row_bytes = 8 * rows + (8 + graph.weight_dtype.itemsize) * arcs
    budget = Budget(config.memory, one_band=not config.light_edges)
    return not budget.given or budget.limit >= budget.for_rows(
        rows, arcs, row_bytes, workers
    )


ResultT = TypeVar("ResultT", bound="DataclassInstance")


def on_working_ranks(
    comm: Comm,
    path: str | Path,
    config: Config,
    report: Report,
    program: Callable[[Comm, DeviceAssignment | None], ResultT],
) -> ResultT:
    """Run a program on the working ranks, while the others wait. Collective.

    The program gets the communicator of the working ranks and the device of its rank
    (None if it has not been chosen). It returns the same on every rank, except the
    field `report`, which only the first rank has. Every rank returns it, or raises its
    error.
    """
    if comm.size == 1 or config.backend == "cpu":
        return program(comm, None)
    with report.stage("start"):
        with comm.raise_on_all():
            graph = open_graph(path, check=False)
        assigned = assign_devices(comm, config, graph, report.progress)
        first = comm.min(comm.rank if assigned.works else comm.size)
        workers = comm.split(0 if assigned.works else None)
    result: ResultT | None = None
    error: MndmstError | None = None
    with cores_of_waiting_ranks(comm, assigned.works):
        if workers is not None:
            report.comm = workers
            try:
                result = program(workers, assigned)
            except MndmstError as raised:
                if raised.ranks < workers.size:
                    raise  # a single rank fails, which ends the other ranks
                error = raised
        comm.barrier(politely=True)
    if workers is not None:
        report.comm = comm
        workers.free()
    shared = None if result is None else replace(result, report=None)
    shared, error = comm.bcast((shared, error), root=first)
    if error is not None:
        error.ranks = comm.size
        raise error
    assert shared is not None
    return shared if result is None else result


def make_backends(
    comm: Comm, config: Config, assigned: DeviceAssignment, report: Report
) -> tuple[list[Device], int]:
    """Return this rank's devices, the GPU first, and its threads on the host.

    Collective over the working ranks. A rank has both devices if the ratio is given, or
    if the predicted time of the faster one makes a measurement of both speeds
    worthwhile (`Tuning.measured_seconds`).

    Each rank gets an equal share of the cores, and one core fewer for its CPU worker if
    it uses a GPU. Warns of poor placement (see `placement`).
    """
    if assigned.seconds is not None:
        cpu, gpu = assigned.seconds
        report.facts["device_seconds"] = {"cpu": cpu, "gpu": gpu}
        report.progress.detail(f"predicted: CPU {cpu:.2f} s, GPU {gpu:.2f} s")
    placement = locate(comm).equipped(assigned.ids, assigned.device, config.threads)
    for warning in warnings(comm.gather(placement) or []):
        report.progress.say(warning)
    keep_freed()
    make_host = few_arcs_device if assigned.few_arcs else cpu_device
    host_backend = make_host(placement.threads, config.tuning)
    host = as_device(host_backend)
    backends = [host]
    if assigned.kind is not None and assigned.device is not None:
        device = accelerator(assigned.kind).make_device(
            assigned.device, host_backend, config.gpu_memory, config.tuning
        )
        if config.backend != "auto":
            backends = [device]
        elif (
            assigned.seconds is not None
            and min(assigned.seconds) < config.tuning.measured_seconds
        ):
            backends = [as_device(Fallback(device, host))]
        else:
            backends = [as_device(Fallback(device, host)), host]
    report.facts |= {
        "devices": [backend.describe() for backend in backends],
        "threads": placement.threads,
        "cores": ranges(placement.cores),
    }
    return backends, placement.threads
