"""How launchers are recognized, and the settings with which MPI libraries start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import finish, python, start

from mndmst.comm.mpi_library import version
from mndmst.host.cores import core_count
from mndmst.host.launcher import (
    crowded,
    launched_local_size,
    started_alone,
    without_networks,
)

SET = {"OMPI_MCA_pml", "UCX_TLS"}
LAUNCHED = (
    "PMI_SIZE", "PMI_FD", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS",
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
)  # fmt: skip
BY_SLURM = ("SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "SLURM_CPUS_ON_NODE")


@pytest.fixture(autouse=True)
def nobody_launched_us(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*LAUNCHED, *BY_SLURM, *SET):
        monkeypatch.delenv(name, raising=False)


def added() -> set[str]:
    before = dict(os.environ)
    with without_networks():
        found = {name for name in os.environ if os.environ[name] != before.get(name)}
    assert dict(os.environ) == before
    return found


def test_a_process_without_a_launcher_is_alone() -> None:
    assert started_alone()


@pytest.mark.parametrize(
    "name",
    [
        *LAUNCHED, "PMI_RANK", "HYDI_CONTROL_FD", "MV2_COMM_WORLD_SIZE", "PALS_RANKID",
        "ALPS_APP_PE", "JSM_NAMESPACE_RANK", "FLUX_TASK_RANK", "SLURM_STEP_ID",
    ],
)  # fmt: skip
def test_one_process_of_a_launcher_asks_mpi(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert not started_alone()


@pytest.mark.parametrize(
    "name", ["PMIX_MCA_gds", "PMI_MMAP_SYNC_WAIT_TIME", "FLUX_URI"]
)
def test_settings_of_launchers_start_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert started_alone()


def test_a_launcher_that_sets_no_variable_is_seen_among_the_processes_above(
    tmp_path: Path,
) -> None:
    launcher = tmp_path / "mpiexec.unknown"
    launcher.symlink_to("/bin/bash")
    asks = "from mndmst.host.launcher import started_alone; print(started_alone())"
    script = '"$0" -c "$1"; exit'  # two commands: the shell stays above the process
    run = subprocess.run(
        [launcher, "-c", script, sys.executable, asks],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == "False\n"


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("MPI_LOCALNRANKS", "2")
    monkeypatch.setenv("OMPI_MCA_pml", "ucx")
    assert added() == SET - {"OMPI_MCA_pml"}


@pytest.mark.parametrize("here", ["4", "2"])
@pytest.mark.parametrize(
    ("size", "local"),
    [
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        ("PMI_SIZE", "MPI_LOCALNRANKS"),
    ],
)
def test_ranks_of_one_host_need_no_network(
    monkeypatch: pytest.MonkeyPatch, here: str, size: str, local: str
) -> None:
    monkeypatch.setenv(size, "4")
    monkeypatch.setenv(local, here)
    assert added() == (SET if here == "4" else set())


@pytest.mark.parametrize(
    ("tasks", "node", "here"),
    [
        ("4", "0", 4),
        ("2,1", "1", 1),
        ("16(x2)", "1", 16),
        ("2(x3),1", "2", 2),
        ("2(x3),1", "3", 1),
        ("8,2(x2),8", "3", 8),
        ("4", "1", 1),  # the node is not in the list: unknown
        ("", "0", 1),
        ("many", "0", 1),
        ("2(xx)", "0", 1),
    ],
)
def test_slurm_lists_the_processes_of_all_nodes(
    monkeypatch: pytest.MonkeyPatch, tasks: str, node: str, here: int
) -> None:
    monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", tasks)
    monkeypatch.setenv("SLURM_NODEID", node)
    assert launched_local_size() == here


@pytest.mark.parametrize("name", ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"])
def test_a_launcher_inside_a_step_of_slurm_has_precedence(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # mpirun starts one proxy on each node by srun, and the proxy starts the ranks
    monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", "1(x2)")
    monkeypatch.setenv(name, "4")
    assert launched_local_size() == 4


@pytest.mark.parametrize(("tasks", "one_host"), [("4", True), ("2(x2)", False)])
def test_ranks_that_srun_started_on_one_node_need_no_network(
    monkeypatch: pytest.MonkeyPatch, tasks: str, one_host: bool
) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", tasks)
    assert added() == (SET if one_host else set())


def test_ranks_of_slurm_are_crowded_if_the_node_gives_them_too_few_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranks = core_count() + 1
    monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", str(ranks))
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", str(core_count()))
    assert crowded()
    # srun binds each of them to some of the node's cores
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", str(ranks))
    assert not crowded()


@pytest.mark.parametrize("name", ["PMI_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"])
def test_other_launchers_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert not added()


@pytest.mark.slow
def test_a_launcher_of_another_mpi_is_refused_once_by_all(tmp_path: Path) -> None:
    # Asked at collection, it would load MPI without starting it for all other files.
    if not version().startswith("MPICH"):
        pytest.skip("not MPICH")
    jobs = []
    for rank in range(3):
        facts = {"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": str(rank)}
        jobs.append(start(python("-m", "mndmst", "solve", tmp_path), **facts))
    ended = [finish(job, 60) for job in jobs]
    assert [end.returncode for end in ended] == [1, 1, 1]
    assert ended[0].stderr.count("the launcher started 3 processes") == 1
    assert [end.stdout + end.stderr for end in ended[1:]] == ["", ""]
