"""Filters of warnings that threads set at once come back as they were."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from mndmst.host.warning_filters import filtered_warnings


def test_blocks_of_two_threads_do_not_overlap() -> None:
    before, entered, left = list(warnings.filters), Event(), Event()

    def first() -> None:
        with filtered_warnings("error", "one"):
            entered.set()
            left.wait(60)

    def second() -> list[object]:
        entered.wait(60)
        with filtered_warnings("error", "other"):
            return [text.pattern for _, text, *_ in warnings.filters if text]

    with ThreadPoolExecutor(2) as pool:
        held, waits = pool.submit(first), pool.submit(second)
        assert entered.wait(60) and not waits.done()
        left.set()
        held.result(60)
        assert "one" not in waits.result(60)
    assert list(warnings.filters) == before


def test_other_warnings_pass() -> None:
    others = pytest.warns(UserWarning, match="of a user")
    with others, filtered_warnings("error", "loadtxt"):
        warnings.warn("of a user", stacklevel=1)
    with pytest.raises(UserWarning), filtered_warnings("error", "loadtxt"):
        warnings.warn("loadtxt: no data", stacklevel=1)
