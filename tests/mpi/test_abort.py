"""The abort hook: one rank that fails ends the job, and one message says why."""

from collections.abc import Callable
from pathlib import Path

import pytest
from processes import finish, python, start

PROGRAM = Path(__file__).with_name("hook_program.py")
LIMIT = 30

pytestmark = [pytest.mark.mpi, pytest.mark.slow]


def errors(text: str) -> list[str]:
    """Return the messages meant for the user.

    A launcher that aborts may put words of its own before one, on the same line.
    """
    lines = [line.partition("mndmst: error:") for line in text.splitlines()]
    return [mark + message for _, mark, message in lines if mark]


def test_all_is_well(mpirun: Callable) -> None:
    run = mpirun(3, PROGRAM, "nothing", timeout=LIMIT)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.split() == ["working"] * 3


@pytest.mark.parametrize("culprit", ["0", "2"])
@pytest.mark.parametrize("kind", ["together", "alone"])
def test_an_error_of_one_rank_is_printed_once(
    mpirun: Callable, kind: str, culprit: str
) -> None:
    run = mpirun(3, PROGRAM, kind, culprit, timeout=LIMIT)
    assert run.returncode == 1
    assert errors(run.stderr) == ["mndmst: error: part 2: damaged"]
    assert "Traceback" not in run.stderr


def test_an_error_of_all_ranks_is_printed_once(mpirun: Callable) -> None:
    run = mpirun(3, PROGRAM, "together", timeout=LIMIT)
    assert run.returncode == 1
    assert errors(run.stderr) == ["mndmst: error: part 2: damaged"]


@pytest.mark.parametrize("culprit", ["0", "2"])
def test_a_bug_on_one_rank_ends_all(mpirun: Callable, culprit: str) -> None:
    run = mpirun(3, PROGRAM, "bug", culprit, timeout=LIMIT)
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    (message,) = errors(run.stderr)
    assert f"rank {culprit} of 3 failed (ValueError: unforeseen" in message


def test_the_place_of_a_bug_is_told_to_whoever_asks(mpirun: Callable) -> None:
    run = mpirun(3, PROGRAM, "bug", 2, timeout=LIMIT, MNDMST_DEBUG="1")
    assert run.returncode == 1
    assert run.stderr.count("Traceback") == 1
    assert "mndmst: rank 2 of 3 failed" in run.stderr
    assert "ValueError: unforeseen" in run.stderr


def test_an_interrupt_on_one_rank_ends_all(mpirun: Callable) -> None:
    run = mpirun(3, PROGRAM, "interrupt", 1, timeout=LIMIT)
    assert run.returncode == 130
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("kind", ["early-interrupt", "interrupt-twice"])
def test_an_interrupt_ends_ranks_that_wait_for_mpi_to_start_or_end(
    mpirun: Callable, kind: str
) -> None:
    run = mpirun(3, PROGRAM, kind, 1, timeout=LIMIT)
    assert run.returncode != 0
    assert "Traceback" not in run.stderr


def test_a_killed_rank_ends_all(mpirun: Callable) -> None:
    assert mpirun(3, PROGRAM, "kill", 1, timeout=LIMIT).returncode != 0


def test_an_error_before_mpi_does_not_start_it(mpirun: Callable) -> None:
    run = mpirun(2, PROGRAM, "early", timeout=LIMIT)
    assert run.returncode == 1
    assert set(errors(run.stderr)) == {"mndmst: error: graph: missing"}


@pytest.mark.parametrize("kind", ["alone", "together", "early"])
def test_one_process_without_mpirun(kind: str) -> None:
    run = finish(start(python(PROGRAM, kind)), LIMIT)
    assert run.returncode == 1
    assert len(errors(run.stderr)) == 1


def test_nobody_reads_the_output() -> None:
    process = start(python(PROGRAM, "nothing"))
    assert process.stdout is not None
    process.stdout.close()
    run = finish(process, LIMIT)
    assert (run.returncode, run.stderr) == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("redirection", "status", "said"),
    [
        (">/dev/full", 1, "cannot be written (No space left on device)\n"),
        (">&-", 0, ""),
    ],
)
def test_the_output_is_full_or_closed(
    unbuffered: str, redirection: str, status: int, said: str
) -> None:
    command = ["sh", "-c", f'"$@" {redirection}', "sh", *python("-m", "mndmst", "info")]
    run = finish(start(command, PYTHONUNBUFFERED=unbuffered), LIMIT)
    assert run.returncode == status
    assert run.stderr == (said and f"mndmst: error: the output {said}")
