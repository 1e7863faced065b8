"""Who has been stopped is told of, once, and nobody else is."""

import socket
from collections.abc import Iterator

import pytest

from mndmst.comm.authenticated_links import RankAddress
from mndmst.comm.watchdog import PACE, RUNNING, Heartbeat


class Pair:
    """A heartbeat with the two ends it speaks to, on a clock of our own."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.said: list[str] = []
        self.ends = [socket.socketpair() for _ in range(2)]
        peers = RankAddress("there", 2, "", 77), RankAddress("yonder", 0, "", 78)
        self.pulse = Heartbeat(
            [(e[0], p) for e, p in zip(self.ends, peers, strict=True)],
            PACE, self.said.append, lambda: self.now,
        )  # fmt: skip

    def pass_time(self, seconds: float, *running: int) -> None:
        """Let time pass, in which some neighbours say that they run."""
        for _ in range(int(seconds // PACE.beat)):
            self.now += PACE.beat
            for number in running:
                self.pulse.hear(number)
            self.pulse.beat()

    def heard(self, number: int) -> int:
        """Return how often a neighbour was told that this process runs."""
        self.ends[number][1].setblocking(False)
        try:
            told = self.ends[number][1].recv(1000)
        except BlockingIOError:
            return 0
        assert set(told) == set(RUNNING)
        return len(told)


@pytest.fixture
def pair() -> Iterator[Pair]:
    pair = Pair()
    yield pair
    for ends in pair.ends:
        for end in ends:
            end.close()


def test_those_who_run_are_not_told_of(pair: Pair) -> None:
    pair.pass_time(10 * PACE.quiet, 0, 1)
    assert pair.said == []
    assert pair.heard(0) == pair.heard(1) == 10 * PACE.quiet // PACE.beat


def test_who_does_not_run_is_told_of_by_the_rank_before(pair: Pair) -> None:
    pair.pass_time(10 * PACE.quiet, 1)
    assert len(pair.said) == 1
    assert "rank 2 on there has not run for 60 s" in pair.said[0]
    assert "kill -CONT 77" in pair.said[0]
    assert pair.heard(0) <= 1 + PACE.quiet // PACE.beat  # it would not read more
    pair.pass_time(PACE.quiet, 0, 1)
    assert pair.said[1:] == ["rank 2 runs again"]
    assert pair.heard(0) > 0


def test_the_rank_after_tells_nothing(pair: Pair) -> None:
    pair.pass_time(10 * PACE.quiet, 0)
    assert pair.said == []


def test_who_was_stopped_itself_tells_nothing(pair: Pair) -> None:
    pair.now += 100 * PACE.quiet
    pair.pulse.beat()
    assert pair.said == []
    assert pair.heard(0) == pair.heard(1) == 1
