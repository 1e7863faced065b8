"""Random cases of all kinds, for a minute."""

import pytest
from processes import finish, python, start

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(600)]


def test_a_minute_of_random_cases() -> None:
    command = python("-m", "tests.campaign", "--minutes", 1, "--seed", 1)
    run = finish(start(command), 570)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
