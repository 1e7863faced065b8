"""Random cases of all kinds, for two minutes."""

import pytest
from processes import finish, python, start

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(600)]


def test_two_minutes_of_random_cases() -> None:
    command = python("-m", "tests.campaign", "--minutes", 2, "--seed", 1)
    run = finish(start(command), 570)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
