"""The settings with which MPI libraries start, by launcher."""

import os

import pytest

from mndmst.host.launcher import without_networks

ALL = {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_ess_singleton_isolated", "UCX_TLS"}
LAUNCHED = (
    "PMI_SIZE", "PMI_FD", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS",
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
)  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_launched_us(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*LAUNCHED, *ALL):
        monkeypatch.delenv(name, raising=False)


def added() -> set[str]:
    before = dict(os.environ)
    with without_networks():
        found = {name for name in os.environ if os.environ[name] != before.get(name)}
    assert dict(os.environ) == before
    return found


def test_one_process_sends_to_itself() -> None:
    assert added() == ALL


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_MCA_pml", "ucx")
    assert added() == ALL - {"OMPI_MCA_pml"}


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
    assert added() == ({"OMPI_MCA_pml", "UCX_TLS"} if here == "4" else set())


@pytest.mark.parametrize("name", ["PMI_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"])
def test_other_launchers_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert not added()
