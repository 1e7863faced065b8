"""What all unit tests share."""

import os
from collections.abc import Iterator

import pytest

from mndmst.graph.tuning import Tuning
from mndmst.host.signals import stop_signals


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


@pytest.fixture(autouse=True)
def no_signals_held() -> Iterator[None]:
    """Let signals through again that a command, called here and cut short, has held."""
    yield
    stop_signals.release()
