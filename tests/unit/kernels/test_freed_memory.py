"""Memory that a worker has freed stays with it, and is given back before it counts.

Each test is a process of its own: what others have freed in this one would count, too.
"""

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

START = """
import resource
import numpy as np
from mndmst.host.memory import Budget, resident_bytes
from mndmst.kernels.freed_memory import keep_freed

def faults_of_large_arrays():
    # How many pages are handed out for 32 MiB that are filled, then freed
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [np.ones(1 << 17) for _ in range(32)]
    del held
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

"""

UNTIL_COUNTED = """
keep_freed()
faults_of_large_arrays()
held = resident_bytes()
assert faults_of_large_arrays() < 1000
assert Budget(1 << 40).room() > (1 << 40) - held
# Faults do not tell: huge pages may take the place of those given back.
assert resident_bytes() < held - (24 << 20)
"""

LARGE = """
keep_freed(1 << 30)
array = np.ones(12 << 20)  # 96 MiB
held = resident_bytes()
del array
assert resident_bytes() > held - (16 << 20)
"""


def run(program: str) -> None:
    """Run a program in a process of its own; it has to end without an error."""
    command = [sys.executable, "-c", START + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be told")
def test_what_is_freed_stays_with_the_worker_until_memory_is_counted() -> None:
    run(UNTIL_COUNTED)


@pytest.mark.skipif(
    platform.libc_ver() < ("glibc", "2.35"), reason="maps arrays of 32 MiB each anew"
)
def test_large_arrays_stay_too() -> None:
    run(LARGE)
