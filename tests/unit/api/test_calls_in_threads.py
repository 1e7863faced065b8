"""Calls in threads at once: each has the options and the limit that it was given."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import mndmst
from mndmst.host.errors import ConfigError
from mndmst.host.memory import Budget, held_bytes
from mndmst.io import memory_limit

CALLS = 8
VERTICES = 100_000


@pytest.fixture(scope="module")
def path_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path as METIS text, a format that is read whole."""
    file = tmp_path_factory.mktemp("path") / "path.metis"
    inner = "\n".join(f"{v - 1} {v + 1}" for v in range(2, VERTICES))
    file.write_text(f"{VERTICES} {VERTICES - 1}\n2\n{inner}\n{VERTICES - 1}\n")
    return file


def at_once(call: Callable[[int], Any]) -> list[Any]:
    """Return what each of several calls returns or refuses."""
    barrier = Barrier(CALLS)

    def one(number: int) -> Any:
        barrier.wait()
        try:
            return call(number)
        except ConfigError as error:
            return error

    with ThreadPoolExecutor(CALLS) as pool:
        return list(pool.map(one, range(CALLS)))


def test_each_call_keeps_to_its_own_limit_and_options(
    path_graph: Path, tmp_path: Path
) -> None:
    too_little = held_bytes() + memory_limit.READER_RESERVE

    def partition(number: int) -> Path:
        return mndmst.partition(
            path_graph,
            tmp_path / str(number),
            parts=1 + number,
            weights=f"constant:{number}",
            memory=too_little + number if number % 2 else "8GiB",
        )

    for number, found in enumerate(at_once(partition)):
        if number % 2:
            assert "is too little: its content takes" in str(found)
        else:
            assert len(list(found.glob("part-*.h5"))) == 1 + number
            summary = mndmst.solve(found)
            assert summary.weight == number * (VERTICES - 1)


def test_each_fit_keeps_to_its_own_parameters() -> None:
    draw = np.random.default_rng(3)
    points = draw.normal(size=(400, 2)) + 9 * draw.integers(0, 3, (400, 1))
    sizes = [3 + 4 * number for number in range(CALLS)]
    alone = [mndmst.HDBSCAN(min_cluster_size=size).fit(points) for size in sizes]
    found = at_once(lambda n: mndmst.HDBSCAN(min_cluster_size=sizes[n]).fit(points))
    for one, other in zip(alone, found, strict=True):
        assert (one.labels_ == other.labels_).all()


def test_the_limit_of_the_system_is_restored_after_blocks_that_overlap() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    first = memory_limit.capped(Budget(1 << 40))
    second = memory_limit.capped(Budget(1 << 41))
    first.__enter__()
    second.__enter__()
    assert resource.getrlimit(resource.RLIMIT_DATA) != before
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_a_call_beside_others_does_not_cap_the_process_at_its_limit() -> None:
    resource = pytest.importorskip("resource")
    limits = []
    for alone in (True, False):
        budget = Budget(held_bytes() + (1 << 20), whole_process=alone)
        with memory_limit.capped(budget):
            limits.append(resource.getrlimit(resource.RLIMIT_DATA)[0])
    command, program = limits
    assert command < program
