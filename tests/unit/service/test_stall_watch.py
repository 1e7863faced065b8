"""All ranks wait for each other: known from their reports, and from nothing less."""

import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.service.stall_watch import (
    COMPUTES,
    IDLE,
    WAITS,
    Activity,
    StallWatch,
    pause_of,
)

SECONDS = 60.0


class Ranks:
    """Three ranks that report whenever time passes."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.ended: list[str] = []
        self.watch = StallWatch(3, seconds, self.ended.append)
        self.now = 1000.0

    def pass_time(
        self, seconds: float, *doing: Activity, silent: tuple[int, ...] = ()
    ) -> bool:
        """Let time pass while the ranks do something; return whether all ended."""
        end = self.now + seconds
        while self.now < end:
            self.now += pause_of(SECONDS)
            for rank, activity in enumerate(doing):
                if rank not in silent:
                    self.watch.report(rank, activity, self.now)
            self.watch.check(self.now)
        return bool(self.ended)


def test_ranks_that_all_wait_end_after_the_bound() -> None:
    ranks = Ranks()
    waiting = [Activity(WAITS, 5), Activity(WAITS, 7), Activity(WAITS, 9)]
    assert not ranks.pass_time(SECONDS - 5, *waiting)
    assert ranks.pass_time(10, *waiting)
    assert "rank 0, 1, 2 of 3" in ranks.ended[0]


def test_a_rank_that_is_idle_sends_nothing_either() -> None:
    ranks = Ranks()
    idle = Activity(IDLE, 7)
    assert ranks.pass_time(2 * SECONDS, Activity(WAITS, 5), idle, idle)
    assert "rank 0 of 3" in ranks.ended[0]


@pytest.mark.parametrize("state", (IDLE, COMPUTES))
def test_idle_and_computing_ranks_may_take_any_time(state: int) -> None:
    ranks = Ranks()
    assert not ranks.pass_time(100 * SECONDS, *[Activity(state, 3)] * 3)
    late = Activity(COMPUTES, 1)
    assert not ranks.pass_time(100 * SECONDS, Activity(WAITS, 5), late, late)


def test_a_message_begins_the_bound_anew() -> None:
    ranks = Ranks()
    for step in range(50):
        moving = Activity(WAITS, 5 + step)
        waiting = Activity(WAITS, 1)
        assert not ranks.pass_time(SECONDS / 2, waiting, moving, waiting)


def test_nothing_is_concluded_while_a_rank_is_silent() -> None:
    """A rank that was stopped goes on, and the bound begins when it does."""
    ranks = Ranks()
    waiting = [Activity(WAITS, 5)] * 3
    assert not ranks.pass_time(SECONDS / 2, *waiting)
    assert not ranks.pass_time(50 * SECONDS, *waiting, silent=(1,))
    assert not ranks.pass_time(SECONDS - 10, *waiting)
    assert ranks.pass_time(20, *waiting)


def test_a_bound_of_zero_waits_for_ever_and_an_end_is_in_a_hurry() -> None:
    ranks = Ranks(0)
    ranks.watch.hurry()
    waiting = [Activity(WAITS, 5)] * 3
    assert not ranks.pass_time(100 * SECONDS, *waiting)
    ranks = Ranks()
    ranks.watch.hurry()
    assert ranks.pass_time(25, *waiting)
