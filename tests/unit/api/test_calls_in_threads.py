"""Calls in threads at once: each has the options and the limit that it was given."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import mndmst
from mndmst.__main__ import main
from mndmst.host.errors import ConfigError
from mndmst.host.memory import Budget, held_bytes
from mndmst.io import memory_limit
from mndmst.kernels.nogil_pool import POOL
from mndmst.points.clusters import density_clusters
from mndmst.points.point_files import example_points

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


def test_fits_with_different_numbers_of_threads_share_one_pool() -> None:
    points = np.random.default_rng(4).normal(size=(3000, 3)).round(1)
    alone, before = mndmst.HDBSCAN(n_jobs=1).fit(points), set(threading.enumerate())
    for fit in at_once(lambda n: mndmst.HDBSCAN(n_jobs=n + 1).fit(points)):
        assert (fit.labels_ == alone.labels_).all()
        assert (fit.probabilities_ == alone.probabilities_).all()
    names = [thread.name for thread in set(threading.enumerate()) - before]
    workers = [name for name in names if name.startswith("mndmst-worker-")]
    assert len(workers) == len(set(workers)) < CALLS  # a second pool repeats numbers


def test_a_fit_on_one_thread_starts_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(5).normal(size=(70_000, 2))
    asked, make_calls = set(), POOL.make_calls

    def noted(threads: int, rows: np.ndarray) -> None:
        asked.add(threads)
        make_calls(threads, rows)

    monkeypatch.setattr(POOL, "make_calls", noted)
    mndmst.HDBSCAN(n_jobs=1).fit(points)
    assert asked <= {1}


def test_the_command_finds_clusters_on_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "points.npy", example_points("blobs", 30))
    asked, find = [], density_clusters.clusters_of

    def noted(*given: Any) -> Any:
        asked.append(given[2:])
        return find(*given)

    monkeypatch.setattr(density_clusters, "clusters_of", noted)
    command = ["hdbscan", f"{tmp_path}/points.npy", "-q", "-o", f"{tmp_path}/out.h5"]
    assert main([*command, "--threads", "1"]) == 0
    assert asked == [(1,)]


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
