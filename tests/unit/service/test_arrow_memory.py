"""The bound of Arrow's memory, in processes that have not loaded Arrow before."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

PROGRAM = """
import os, resource, sys
from mndmst.service.arrow_memory import bound_arrow
limit, addresses, *sizes = map(int, sys.argv[1:])
if addresses:
    resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
bounded = bound_arrow(limit)
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


def bound(limit: int, *sizes: int, addresses: int = 0, **variables: str) -> list[bool]:
    """Return whether there is a bound, which sizes fit, and whether settings stay."""
    words = [sys.executable, "-c", PROGRAM, str(limit), str(addresses)]
    done = subprocess.run(
        [*words, *map(str, sizes)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [word == "True" for word in done.stdout.split()]


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


def test_one_allocation_may_take_nearly_all_of_it() -> None:
    assert bound(5 * GIB, 3 * GIB, 5 * GIB, 6 * GIB) == [True, True, True, False, False]


def test_without_a_limit_the_host_has_one() -> None:
    assert bound(0, 10 * MIB, 1 << 50) == [True, True, False, False]


def test_a_host_without_the_addresses_has_no_bound() -> None:
    """Strict accounting of memory, or `ulimit -v`; Arrow works there as ever."""
    assert bound(8 * GIB, MIB, addresses=4 * GIB) == [False, True, False]


def test_the_allocator_of_the_user_is_kept() -> None:
    found = bound(300 * MIB, 400 * MIB, ARROW_DEFAULT_MEMORY_POOL="system")
    assert found == [False, True, False]
