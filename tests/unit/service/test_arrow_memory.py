"""The bound of Arrow's memory, in processes that have not loaded Arrow before."""

import os
import subprocess
import sys

import pytest

from mndmst.service.arrow_memory import WITHOUT_A_BOUND

arrow = pytest.importorskip("pyarrow", reason="the service needs pyarrow")

PROGRAM = """
import os, resource, sys
from mndmst.service import arrow_memory
limit, addresses, version, *sizes = sys.argv[1:]
limit, addresses, sizes = int(limit), int(addresses), map(int, sizes)
if version:
    arrow_memory.version = lambda name: version
if addresses:
    resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
bounded = arrow_memory.bound_arrow(limit)
import pyarrow
fits = []
for size in sizes:
    try:
        pyarrow.allocate_buffer(size)
        fits.append(True)
    except MemoryError:
        fits.append(False)
print(bounded, *fits, any(name.startswith("MIMALLOC") for name in os.environ))
"""
MIB, GIB = 1 << 20, 1 << 30


def bound(
    limit: int, *sizes: int, addresses: int = 0, version: str = "", **variables: str
) -> list[bool]:
    """Return whether there is a bound, which sizes fit, and whether settings stay.

    `version` stands for that of the installed PyArrow.
    """
    words = [sys.executable, "-c", PROGRAM, str(limit), str(addresses), version]
    done = subprocess.run(
        [*words, *map(str, sizes)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [word == "True" for word in done.stdout.split()]


needs_a_bound = pytest.mark.skipif(
    arrow.__version__.startswith(WITHOUT_A_BOUND),
    reason="the allocator of this PyArrow keeps no bound",
)


@needs_a_bound
def test_what_does_not_fit_the_bound_fails() -> None:
    sizes = (1, 200 * MIB, 350 * MIB, 400 * MIB, 4 * GIB, 1)
    assert bound(300 * MIB, *sizes) == [
        True,
        True,
        True,
        False,
        False,
        False,
        True,
        False,
    ]


@needs_a_bound
def test_one_allocation_may_take_nearly_all_of_it() -> None:
    """PyArrow 19 and 20 use some pages of the range for their own records."""
    sizes = (3 * GIB, 5 * GIB - 64 * MIB, 6 * GIB)
    assert bound(5 * GIB, *sizes) == [True, True, True, False, False]


@pytest.mark.parametrize("version", ["21.0.0", "22.0.0", "23.0.1"])
def test_versions_whose_allocator_keeps_no_bound_have_none(version: str) -> None:
    found = bound(300 * MIB, 200 * MIB, GIB, version=version)
    assert found == [False, True, True, False]


@needs_a_bound
def test_without_a_limit_the_host_has_one() -> None:
    assert bound(0, 10 * MIB, 1 << 50) == [True, True, False, False]


def test_a_host_without_the_addresses_has_no_bound() -> None:
    """Strict accounting of memory, or `ulimit -v`; Arrow works there as ever."""
    assert bound(8 * GIB, MIB, addresses=4 * GIB) == [False, True, False]


def test_the_allocator_of_the_user_is_kept() -> None:
    found = bound(300 * MIB, 400 * MIB, ARROW_DEFAULT_MEMORY_POOL="system")
    assert found == [False, True, False]
