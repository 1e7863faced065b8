"""What all unit tests share."""

import os
from collections.abc import Iterator
from typing import NoReturn

import pytest

from mndmst.comm.communicator import Comm
from mndmst.graph.tuning import Tuning
from mndmst.host.signals import stop_signals
from mndmst.native import loader


@pytest.fixture(autouse=True, scope="session")
def no_waits_for_disks() -> Iterator[None]:
    """Replace the 17,000 calls of fsync, which show only when a machine fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # also refuses a closed file
        yield


@pytest.fixture(autouse=True, scope="module")
def small_shares() -> Iterator[None]:
    """Let threads share what is in tests, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tuning, "default", Tuning(grain=16))
        yield


@pytest.fixture(autouse=True, scope="session")
def silent_compilation() -> Iterator[None]:
    """Keep the line on a long compilation out of the output that tests read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loader, "PATIENCE", 3600.0)
        yield


@pytest.fixture
def no_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a picture has a formula, whose fonts a machine may lack."""

    def parse(*arguments: object, **options: object) -> NoReturn:
        pytest.fail(f"a formula: {arguments[1]}")

    monkeypatch.setattr("matplotlib.mathtext.MathTextParser.parse", parse)


@pytest.fixture(autouse=True)
def no_signals_held() -> Iterator[None]:
    """Let signals through again that a command, called here and cut short, has held."""
    yield
    stop_signals.release()


@pytest.fixture(autouse=True)
def no_communicators_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Free those of commands called here: MPICH has 2,048 of them for a process."""
    made: list[Comm] = []

    def dup(mpi: object, polite: bool = False) -> Comm:
        made.append(original(mpi, polite))
        return made[-1]

    original = Comm.dup
    monkeypatch.setattr(Comm, "dup", dup)
    yield
    for comm in made:
        if comm.mpi:  # false for one that is freed
            comm.free()
