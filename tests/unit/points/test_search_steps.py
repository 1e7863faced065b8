"""Long searches run in steps, and short ones without a thread of their own."""

from types import SimpleNamespace

import pytest

from mndmst.kernels.threads import ALONE
from mndmst.points.search import search_steps


@pytest.mark.parametrize(
    ("length", "first_step", "threads"),
    [(10, 1000, 0), (1000, 1000, 1), (5000, 1000, 1), (10, 1, 1), (10, 0, 1)],
    ids=["short", "a step", "more", "more threads than a step", "unknown"],
)
def test_a_first_step_that_is_certainly_short_starts_no_thread(
    length, first_step, threads, monkeypatch
):
    started, called = [], []
    monkeypatch.setattr(
        search_steps, "run_interruptibly", lambda work: started.append(work())
    )

    def run(function, begin, end):
        called.extend(zip(begin.values, end.values, strict=True))

    team = SimpleNamespace(count=1, bounds=ALONE.bounds, run=run)
    search_steps.run_in_steps(
        team, None, (), length, 1, search_steps.no_report, first_step
    )
    assert len(started) == threads
    assert [begin for begin, _ in called] == [0, *(end for _, end in called[:-1])]
    assert called[-1][1] == length
