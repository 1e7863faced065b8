"""Options of a session in Python as words of the command `serve`."""

import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.service.session import words_of


def test_options_with_and_without_values() -> None:
    given = {"memory": "8GiB", "slow_request": 2.5, "insecure": True, "quiet": False}
    assert words_of(given) == [
        "--memory",
        "8GiB",
        "--slow-request",
        "2.5",
        "--insecure",
    ]
