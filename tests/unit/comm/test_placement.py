"""Cores and GPUs dealt to the ranks of a machine, and what is said of bad deals."""

import ctypes
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from mndmst.comm import mpi_library
from mndmst.comm.mpi_library import check_launcher, choose_network
from mndmst.comm.placement import (
    RankPlacement,
    assigned_devices,
    ranges,
    share_of_cores,
    warnings,
)
from mndmst.host.errors import ConfigError
from mndmst.host.launcher import prepare_environment


def place(
    local_rank: int,
    local_size: int,
    gpus: Sequence[str] = (),
    cores: int = 8,
    host: str = "here",
    threads: int | None = None,
) -> RankPlacement:
    mask = frozenset(range(cores))
    share = cores // local_size
    bare = RankPlacement(local_rank, host, local_rank, local_size, mask, share)
    device = local_rank if local_rank < len(gpus) else None
    return bare.equipped(gpus, device, threads)


@pytest.mark.parametrize(
    ("masks", "shares"),
    [
        (["0-7"], [8]),
        (["0-7"] * 2, [4, 4]),
        (["0-7"] * 3, [2, 2, 2]),
        (["0-3", "4-7"], [4, 4]),
        (["0-3", "0-3", "4-7"], [2, 2, 4]),
        (["0-7", "0-3"], [6, 2]),
        (["0-1"] * 5, [1] * 5),
    ],
)
def test_cores_are_divided_among_those_who_may_use_them(
    masks: list[str], shares: list[int]
) -> None:
    bounds = [map(int, mask.split("-")) for mask in masks]
    sets = [frozenset(range(low, high + 1)) for low, high in bounds]
    assert [share_of_cores(sets, rank) for rank in range(len(sets))] == shares


@pytest.mark.parametrize(
    ("visible", "devices"),
    [
        (["ab"] * 5, [0, 1, None, None, None]),
        (["ab"] * 2, [0, 1]),
        (["ab"], [0]),
        (["a", "b", "c"], [0, 0, 0]),  # each rank sees one
        (["ab", "ba"], [0, 0]),
        (["a", "a", "b", "b"], [0, None, 0, None]),
        (["", "a"], [None, 0]),
        ([""] * 3, [None] * 3),
    ],
)
def test_a_gpu_has_one_rank(visible: list[str], devices: list[int | None]) -> None:
    assert assigned_devices(visible) == devices


def test_a_placement_names_its_gpu() -> None:
    assert [place(rank, 3, ["a", "b"]).gpu for rank in range(3)] == ["a", "b", ""]
    assert place(0, 1).gpu == ""


def test_a_rank_that_drives_a_gpu_has_a_thread_fewer() -> None:
    assert place(0, 2).threads == 4
    assert place(0, 2, ["a"]).threads == 3
    assert place(0, 8, ["a"]).threads == 1
    assert place(1, 2, ["a"]).threads == 4
    assert place(0, 2, ["a"], threads=7).threads == 7


def test_nothing_is_said_of_a_good_deal() -> None:
    assert warnings([place(rank, 4, ["a", "b"]) for rank in range(4)]) == []
    assert warnings([place(0, 2, ["a"]), place(0, 2, ["b"])]) == []
    assert warnings([place(0, 1, ["a", "b"])]) == []  # idle, but nobody shares
    assert warnings([place(0, 1, cores=1, host=host) for host in "xy"]) == []


def test_more_threads_than_cores() -> None:
    (text,) = warnings([place(rank, 2, threads=5) for rank in range(2)])
    assert text.startswith("here: 8 cores for 10 threads of 2 ranks")


def test_machines_with_the_same_fault_share_a_line() -> None:
    crowd = [place(rank, 3, cores=2, host=host) for host in "xyz" for rank in range(3)]
    (text,) = warnings(crowd)
    assert text.startswith("x and 2 more: 2 cores for 3 threads")


def test_a_rank_without_a_gpu_beside_an_idle_one() -> None:
    (text,) = warnings([place(0, 2, ["a", "b"]), place(1, 2, ["a"])])
    assert text.startswith("here: 1 rank has no GPU while one is idle (b)")


def test_ranges() -> None:
    assert ranges(frozenset()) == ""
    assert ranges(frozenset({5})) == "5"
    assert ranges(frozenset({0, 1, 2, 3, 8, 10, 11})) == "0-3,8,10-11"


@pytest.fixture
def environment_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that replaces the environment of this process."""
    return lambda given: monkeypatch.setattr(os, "environ", dict(given))


def test_no_control_codes_where_ranks_have_a_terminal(
    environment_of: Callable[..., None],
) -> None:
    name = "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"
    environment_of({})
    prepare_environment()
    assert os.environ[name] == "1"
    os.environ[name] = ""
    prepare_environment()
    assert os.environ[name] == ""


@pytest.mark.parametrize(
    ("sharers", "share", "cells"),
    [(1, None, None), (2, "4", None), (16, "1", "32"), (500, "1", "4")],
)
def test_ranks_share_cores_and_buffers(
    environment_of: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    sharers: int,
    share: str | None,
    cells: str | None,
) -> None:
    environment_of({"MPI_LOCALNRANKS": str(sharers)})
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr("mndmst.host.launcher.core_count", lambda: 8)
    prepare_environment()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == share
    assert os.environ.get("MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS") == cells


def test_a_run_without_matrices_has_one_blas_thread(
    environment_of: Callable[..., None],
) -> None:
    environment_of({})
    prepare_environment(matrices=False)
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


BOTH = "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi\n"
BY_SLURM = {"PMI_FD": "11", "SLURM_STEP_NUM_NODES": "2"}


@pytest.mark.parametrize(
    ("environment", "library", "network"),
    [
        (BY_SLURM, BOTH, "ofi"),
        (BY_SLURM, BOTH.replace("ucx ofi", "ofi ucx"), "ofi"),
        (BY_SLURM, BOTH.replace("ucx ofi", "ucx"), None),
        (BY_SLURM, "Open MPI v5.0.6", None),
        (BY_SLURM | {"SLURM_STEP_NUM_NODES": "1"}, BOTH, None),
        (BY_SLURM | {"MPI_LOCALNRANKS": "1"}, BOTH, None),  # mpirun, in a job
        (BY_SLURM | {"MPIR_CVAR_CH4_NETMOD": "ucx"}, BOTH, "ucx"),
        ({}, BOTH, None),
    ],
)
def test_slurm_is_not_sent_what_it_does_not_read(
    environment_of: Callable[..., None],
    environment: dict[str, str],
    library: str,
    network: str | None,
) -> None:
    environment_of(environment)
    choose_network(library)
    assert os.environ.get("MPIR_CVAR_CH4_NETMOD") == network


MPICH = "MPICH Version:      5.0.1\nMPICH Release date: x"


@pytest.mark.parametrize(
    ("environment", "library", "refused"),
    [
        ({"OMPI_COMM_WORLD_SIZE": "2"}, MPICH, True),
        ({"OMPI_COMM_WORLD_SIZE": "2"}, "Open MPI v4.1.4, package: x", False),
        ({"PMI_SIZE": "2"}, MPICH, False),
        ({}, MPICH, False),
    ],
)
def test_the_launcher_of_open_mpi_starts_no_mpich(
    environment_of: Callable[..., None],
    environment: dict[str, str],
    library: str,
    refused: bool,
) -> None:
    environment_of(environment)
    expected = r"2 processes.*MPICH Version: 5.*mpirun"
    with pytest.raises(ConfigError, match=expected) if refused else nullcontext():
        check_launcher(library)


def test_memory_of_other_ranks_is_read_unless_that_is_forbidden(
    environment_of: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By seccomp (-1), by an emulator that copies nothing, or by another system."""
    name = "MPIR_CVAR_CH4_CMA_ENABLE"

    def allowed(process: int, here: Any, one: int, there: Any, *_: object) -> int:
        ctypes.memmove(here._obj.base, there._obj.base, there._obj.length)
        return 1

    library = SimpleNamespace(process_vm_readv=allowed)
    environment_of({})
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    mpi_library.forgo_memory_of_others()
    assert name not in os.environ
    for other in (
        SimpleNamespace(process_vm_readv=lambda *_: -1),
        SimpleNamespace(process_vm_readv=lambda *_: 0),
        SimpleNamespace(),
    ):
        library = other
        os.environ.clear()
        mpi_library.forgo_memory_of_others()
        assert os.environ[name] == "0"
        os.environ[name] = "1"  # of the user
        mpi_library.forgo_memory_of_others()
        assert os.environ[name] == "1"
