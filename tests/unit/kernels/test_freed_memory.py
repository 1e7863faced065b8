"""Memory that a worker has freed stays with it, and is given back before it counts."""

import platform
import resource
import sys

import numpy as np
import pytest

from mndmst.host.memory import Budget, give_back_freed, resident_bytes
from mndmst.kernels.freed_memory import keep_freed


def faults_of_large_arrays() -> int:
    """Return how many pages are handed out for 32 MiB that are filled, then freed."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [np.ones(1 << 17) for _ in range(32)]
    del held
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be told")
def test_what_is_freed_stays_with_the_worker_until_memory_is_counted() -> None:
    keep_freed()
    faults_of_large_arrays()
    held = resident_bytes()
    assert faults_of_large_arrays() < 1000
    assert Budget(1 << 40).room() > (1 << 40) - held
    # Faults do not tell: huge pages may take the place of those given back.
    assert resident_bytes() < held - (24 << 20)


@pytest.mark.skipif(
    platform.libc_ver() < ("glibc", "2.35"), reason="maps arrays of 32 MiB each anew"
)
def test_large_arrays_stay_too() -> None:
    try:
        keep_freed(1 << 30)
        array = np.ones(12 << 20)  # 96 MiB
        held = resident_bytes()
        del array
        assert resident_bytes() > held - (16 << 20)
    finally:
        keep_freed()
        give_back_freed()
