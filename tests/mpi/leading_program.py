"""What the ranks run in test_leading.py, each bound to one core."""

import os
from types import SimpleNamespace
from unittest.mock import patch

from mndmst.merging.leading import MANY_EDGES, whole_host

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.communicator import world
from mndmst.comm.launcher import launched_rank
from mndmst.kernels.threads import ALONE
from mndmst.run.run import Worker

every = sorted(os.sched_getaffinity(0))
own = {every[launched_rank() % len(every)]}
os.sched_setaffinity(0, own)
comm = world()
workers = [Worker(CpuBackend(1), None)]
run = SimpleNamespace(comm=comm, threads=ALONE, workers=workers)
cores = comm.cores()
assert cores == set(every[: comm.size])
leads = comm.rank == 0 and comm.size > 1
with whole_host(run, MANY_EDGES):
    assert os.sched_getaffinity(0) == (cores if leads else own)
    assert run.threads.count == (len(cores) if leads else 1)
    assert run.workers[0].backend.threads.count == run.threads.count
with (
    patch("os.sched_setaffinity", side_effect=PermissionError),
    whole_host(run, MANY_EDGES),
):
    assert run.threads.count == 1
for edges in (MANY_EDGES - 1, 0):
    assert os.sched_getaffinity(0) == own
    assert run.threads is ALONE and run.workers is workers
    with whole_host(run, edges):
        assert run.threads is ALONE
