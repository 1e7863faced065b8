"""What tests on ranks share: many commands in one start of the ranks."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from processes import Run

PROGRAM = Path(__file__).with_name("exchange_program.py")


@pytest.fixture(scope="session")
def commands_on_ranks(mpirun: Callable[..., Run]) -> Callable[..., Run]:
    """Run commands one after the other: `commands_on_ranks(3, [["info", path], ...])`.

    The status is that of the last command that failed.
    """

    def run(ranks: int, commands: Iterable[Sequence[object]]) -> Run:
        words = json.dumps([[str(word) for word in command] for command in commands])
        return mpirun(ranks, "-m", "mpi4py", PROGRAM, words, timeout=280)

    return run
