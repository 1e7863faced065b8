"""The members of a team meet, count, and begin together or not at all."""

from threading import Thread

import numpy as np
import pytest

from mndmst.graph.tuning import Tuning
from mndmst.kernels import threads as threads_module
from mndmst.kernels.nogil_pool import NogilPool
from mndmst.kernels.team import (
    Member,
    Team,
    barrier,
    member_range,
    post_count,
    prefix_and_total,
)
from mndmst.kernels.threads import Threads
from mndmst.native.kernel import kernel


@kernel
def add_up(member, columns):
    """Fill a column each, meet, and return the sum of all and what came before."""
    number, _, _ = member
    total = before = 0
    for turn in range(len(columns)):
        columns[turn, number] = number + turn
        post_count(member, number + turn)
        barrier(member)
        for other in columns[turn]:
            total += other
        before += prefix_and_total(member, member.size)[0]
        barrier(member)
    return total, before


@kernel
def note(member, begun):
    """Note that a member has begun."""
    begun[member.number] += 1


def team_of(members: int) -> Team:
    """Return a team whose members all wake for little work."""
    return Team(Threads(members, Tuning(grain=1)))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_members_see_what_others_wrote_before_they_met(size: int) -> None:
    team, turns = team_of(size), 300
    columns = np.zeros((turns, size), np.int64)
    totals, befores = team.run(add_up, 1000, columns)
    everything = sum(number + turn for turn in range(turns) for number in range(size))
    assert totals.tolist() == [everything] * size
    assert befores.tolist() == [
        sum(other + turn for turn in range(turns) for other in range(number))
        for number in range(size)
    ]


def test_shares_are_equal_and_follow_each_other() -> None:
    words = np.zeros(1, np.int64)
    shares = [member_range(Member(i, 3, words), 11) for i in range(3)]
    assert shares == [(0, 3), (3, 7), (7, 11)]


def test_few_elements_wake_few_members() -> None:
    team = team_of(4)
    assert [team.size_for(work) for work in (0, 2, 3, 100)] == [1, 2, 3, 4]


def test_none_begins_if_a_thread_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads_module, "POOL", NogilPool())
    team, begun = team_of(3), np.zeros(3, np.int64)
    start, calls = Thread.start, []

    def fail_later(thread):
        if thread.name.startswith("mndmst-worker"):
            calls.append(thread)
            if len(calls) == 2:
                raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(Thread, "start", fail_later)
    with pytest.raises(MemoryError, match="new thread"):
        team.run(note, 1000, begun)
    assert begun.tolist() == [0, 0, 0]
    team.run(note, 1000, begun)  # the next time there is room again
    assert begun.tolist() == [1, 1, 1]
