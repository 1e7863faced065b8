"""Random cases that nobody has thought of, for a minute."""

import pytest
from processes import finish, python, start

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(480)]


def test_a_minute_of_random_cases() -> None:
    command = python("-m", "tests.campaign", "--minutes", 1, "--seed", 1)
    run = finish(start(command), 450)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
