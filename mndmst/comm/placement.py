"""Placement of ranks: the host, cores and GPUs of each."""

import os
import platform
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ..host.cores import usable_cores
from ..host.formatting import counted
from .communicator import Comm


class RankPlacement(NamedTuple):
    """The host, cores and GPUs of a rank."""

    rank: int
    host: str
    # Its number among the ranks of its machine, and the number of these
    local_rank: int
    local_size: int
    cores: frozenset[int]  # The cores it may use; ranks may share cores
    share: int  # Number of cores for this rank if ranks divide shared ones
    threads: int = 0  # Threads of its CPU worker; 0 while they have not been chosen
    gpus: tuple[str, ...] = ()  # Identifiers of the visible GPUs
    device: int | None = None  # Index of this rank's GPU in `gpus`; None without one

    def equipped(
        self, gpus: Sequence[str], device: int | None, threads: int | None = None
    ) -> "RankPlacement":
        """Return the placement with a GPU or none, and threads of the CPU worker."""
        chosen = threads or max(1, self.share - (device is not None))
        return self._replace(gpus=tuple(gpus), device=device, threads=chosen)

    @property
    def gpu(self) -> str:
        """The GPU of this rank; empty without one."""
        return "" if self.device is None else self.gpus[self.device]

    def line(self) -> str:
        """Return the placement as a line of text."""
        return (
            f"rank {self.rank:<4} host {self.host:<12} local rank {self.local_rank} of "
            f"{self.local_size}  cores {ranges(self.cores)}  threads {self.threads}  "
            f"device {self.gpu or 'cpu'}"
        )


def locate(comm: Comm) -> RankPlacement:
    """Return the placement of this rank. Collective."""
    node = comm.node()
    cores = frozenset(usable_cores())
    masks = node.bcast(node.gather(cores))
    return RankPlacement(
        rank=comm.rank,
        host=platform.node(),
        local_rank=node.rank,
        local_size=node.size,
        cores=cores,
        share=share_of_cores(masks, node.rank),
    )


def share_of_cores(masks: Sequence[frozenset[int]], local_rank: int) -> int:
    """Return a rank's share of the cores, at least 1.

    `masks` has the cores that each rank of a machine may use. Launchers bind ranks to
    different cores, or several ranks to the same ones: a core that several ranks may
    use is divided between them.
    """
    users = Counter(core for mask in masks for core in mask)
    groups = Counter(users[core] for core in masks[local_rank])
    return max(1, sum(number // share for share, number in groups.items()))


def assigned_devices(visible: Sequence[Sequence[str]]) -> list[int | None]:
    """Return the device of each rank of a host, as an index of its visible ones.

    `visible` has the identifiers of each rank's visible devices. A device belongs to
    one rank, so that its context, kernels and pinned memory exist once. Ranks are
    assigned devices in their order; a rank whose visible devices are all assigned gets
    None.
    """
    taken: set[str] = set()
    assigned: list[int | None] = []
    for names in visible:
        index = next((i for i, name in enumerate(names) if name not in taken), None)
        assigned.append(index)
        if index is not None:
            taken.add(names[index])
    return assigned


@contextmanager
def cores_of_waiting_ranks(comm: Comm, works: bool) -> Iterator[None]:
    """Let working ranks use the cores of waiting ranks of their host. Collective.

    Launchers such as `srun` bind ranks to different cores, so the cores of waiting
    ranks would be idle. Existing threads keep their cores.
    """
    node = comm.node()
    cores_before = usable_cores()
    ranks = node.bcast(node.gather((cores_before, works)))
    workers = [cores for cores, at_work in ranks if at_work]
    waiting = [cores for cores, at_work in ranks if not at_work]
    free = sorted(set().union(*waiting) - set().union(*workers))
    if not (works and free):
        yield
        return
    number = sum(at_work for _, at_work in ranks[: node.rank])
    count = len(workers)
    share = free[number * len(free) // count : (number + 1) * len(free) // count]
    with suppress(OSError):  # if the system refuses, the rank keeps its cores
        os.sched_setaffinity(0, cores_before | set(share))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setaffinity(0, cores_before)


def warnings(placements: Sequence[RankPlacement]) -> list[str]:
    """Return warnings about the placements of all ranks, with threads and GPUs.

    Machines with the same fault share a line.
    """
    machines = defaultdict(list)
    for placement in placements:
        machines[placement.host].append(placement)
    faults = defaultdict(list)
    for host, ranks in machines.items():
        for fault in filter(None, (_crowded_cores(ranks), _idle_gpu(ranks))):
            faults[fault].append(host)
    return [
        f"{hosts[0]}{f' and {len(hosts) - 1} more' * (len(hosts) > 1)}: {fault}"
        for fault, hosts in faults.items()
    ]


def _crowded_cores(ranks: Sequence[RankPlacement]) -> str:
    threads = sum(rank.threads for rank in ranks)
    cores = len(frozenset().union(*(rank.cores for rank in ranks)))
    if threads <= cores:
        return ""
    return (
        f"{counted(cores, 'core')} for {counted(threads, 'thread')} of "
        f"{counted(len(ranks), 'rank')}; start fewer ranks, or with fewer --threads"
    )


def _idle_gpu(ranks: Sequence[RankPlacement]) -> str:
    idle = {gpu for rank in ranks for gpu in rank.gpus} - {rank.gpu for rank in ranks}
    without = [rank.rank for rank in ranks if rank.gpus and not rank.gpu]
    if not (without and idle):
        return ""
    have = "has" if len(without) == 1 else "have"
    return (
        f"{counted(len(without), 'rank')} {have} no GPU while one is idle "
        f"({', '.join(sorted(idle))}); show all GPUs to every rank, or one to each"
    )


def ranges(numbers: frozenset[int]) -> str:
    """Return numbers in a short form: 0-3,8."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)
