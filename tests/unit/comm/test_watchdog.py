"""The watchdog: what it says of neighbours that leave, die, or cannot be reached."""

import contextlib
import json
import queue
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mndmst.comm import authenticated_links, watchdog
from mndmst.comm.authenticated_links import TOKEN_BYTES, RankAddress, accept
from mndmst.comm.watchdog import Pace, Watchdog
from mndmst.host.progress import use_json_lines

OWN = RankAddress("here", 1, "", 0)
PACE = Pace(grace=0.1)
AFTER, BEFORE = RankAddress("there", 2, "", 0), RankAddress("yonder", 0, "", 0)


class Trio:
    """A watchdog with its two neighbours, whose ends of the connections we hold."""

    def __init__(self, pace: Pace = PACE) -> None:
        ends = [_pair(), _pair()]
        self.after, self.before = ends[0][1], ends[1][1]
        self.messages: queue.Queue[str] = queue.Queue()
        links = [(ends[0][0], AFTER), (ends[1][0], BEFORE)]
        self.said: queue.Queue[str] = queue.Queue()
        self.dog = Watchdog(OWN, links, 3, self.messages.put, self.said.put, pace)


def _pair() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    return one, other


@pytest.fixture
def trio(request: pytest.FixtureRequest) -> Iterator[Trio]:
    trio = Trio(getattr(request, "param", PACE))
    yield trio
    trio.dog.dismiss()
    for link in (trio.after, trio.before, *(link for link, _ in trio.dog.links)):
        link.close()


@pytest.mark.parametrize("seconds", [1, 100_000, 1_000_000])
def test_a_connection_may_be_given_any_time(seconds: int) -> None:
    one, other = _pair()
    with one, other:
        watchdog.keep_alive(one, seconds)
        waited = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert waited == 1000 * seconds


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_neighbour_that_was_killed(trio: Trio, name: str) -> None:
    other = trio.before if name == "after" else trio.after
    getattr(trio, name).close()
    message = trio.messages.get(timeout=5)
    peer = AFTER if name == "after" else BEFORE
    assert f"rank {peer.rank} on {peer.host} was killed" in message
    assert "--resume" in message
    assert other.recv(1) == watchdog.LOST


def test_bad_news_is_passed_on_without_a_word(trio: Trio) -> None:
    trio.before.send(watchdog.LOST)
    assert trio.messages.get(timeout=5) == ""
    assert trio.after.recv(1) == watchdog.LOST


def test_those_who_leave_in_peace_are_not_missed(trio: Trio) -> None:
    for link in (trio.after, trio.before):
        link.send(watchdog.LEAVING)
        link.close()
    with pytest.raises(queue.Empty):
        trio.messages.get(timeout=0.5)


def test_who_is_dismissed_says_so(trio: Trio) -> None:
    trio.dog.dismiss()
    assert trio.after.recv(1) == trio.before.recv(1) == watchdog.LEAVING
    with pytest.raises(queue.Empty):
        trio.messages.get(timeout=0.5)


@pytest.mark.parametrize("trio", [PACE._replace(beat=0.05, quiet=0.4)], indirect=True)
def test_who_says_nothing_is_told_of_once(trio: Trio) -> None:
    assert "rank 2 on there has not run" in trio.said.get(timeout=5)
    assert trio.messages.empty()  # which ends nothing
    trio.after.send(watchdog.RUNNING)
    assert trio.said.get(timeout=5) == "rank 2 runs again"
    assert set(trio.before.recv(1000)) == set(watchdog.RUNNING)


TOKEN = b"a word of ours..."[:TOKEN_BYTES]


@pytest.fixture
def listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_mpi_goes_on_while_a_neighbour_is_awaited(listener: socket.socket) -> None:
    links = []

    def connect() -> None:
        """Stand for a neighbour that first needs a message of this rank."""
        if not links:
            links.append(authenticated_links.connect(listener.getsockname(), TOKEN))

    with accept(listener, TOKEN, connect), links[0]:
        pass


def test_strangers_delay_nobody(listener: socket.socket) -> None:
    place = listener.getsockname()
    with contextlib.ExitStack() as stack:
        strangers = [
            stack.enter_context(socket.create_connection(place))
            for _ in range(2 * authenticated_links.MOST_UNAUTHENTICATED)
        ]
        for stranger in strangers[::3]:
            stranger.send(b"x")
        for stranger in strangers[::5]:
            stranger.sendall(b"another word than that one" * 10)
        looks = 0

        def come_last() -> None:
            """Connect when all strangers have been looked at."""
            nonlocal looks
            looks += 1
            with contextlib.suppress(OSError):
                strangers[0].send(b"x")  # says a byte now and then
            if looks == 3 * len(strangers):
                ours = authenticated_links.connect(place, TOKEN)
                stack.enter_context(ours)
                strangers.append(ours)

        with accept(listener, TOKEN, come_last, poll_seconds=0.001) as link:
            assert link.getpeername() == strangers[-1].getsockname()
            assert looks < 6 * len(strangers)


def test_a_token_may_come_in_pieces(listener: socket.socket) -> None:
    pieces = [TOKEN[:1], TOKEN[1:9], TOKEN[9:]]
    with socket.create_connection(listener.getsockname()) as ours:

        def go_on() -> None:
            if pieces:
                ours.send(pieces.pop(0))

        with accept(listener, TOKEN, go_on) as link:
            assert link.getpeername() == ours.getsockname()


def test_strangers_are_not_kept(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()) as stranger:
        with pytest.raises(TimeoutError):
            accept(listener, TOKEN, lambda: None, seconds=0.6, token_seconds=0.1)
        assert stranger.recv(1) == b""


def test_a_rank_of_the_same_host_is_awaited_on_the_loopback_interface() -> None:
    with authenticated_links.listen(OWN, OWN._replace(rank=0)) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_a_rank_of_another_host_is_awaited_on_the_way_there() -> None:
    address = authenticated_links.local_address()
    if not address:
        pytest.skip("this machine has no network")
    other = RankAddress("no-such-host.invalid", 0, "192.0.2.7", 1)
    with authenticated_links.listen(OWN, other) as listener:
        assert listener.getsockname()[0] == address


def test_without_a_route_to_a_rank_no_socket_listens() -> None:
    with pytest.raises(OSError, match="no route to no-such-host"):
        authenticated_links.listen(OWN, RankAddress("no-such-host.invalid", 0, "", 1))


UNREACHABLE = """
import queue, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from test_watchdog import Trio
trio = Trio()
time.sleep(1.5)  # a silent neighbour is not a lost one
assert trio.messages.empty()
subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
begin = time.monotonic()
print(trio.messages.get(timeout=20))
print(time.monotonic() - begin)
"""


def test_a_network_that_is_gone() -> None:
    own_network = ["unshare", "--map-root-user", "--net"]
    up = [*own_network, "ip", "link", "set", "lo", "up"]
    if not shutil.which("unshare") or subprocess.run(up, check=False).returncode:
        pytest.skip("no network of its own: unshare --net or ip is not allowed here")
    script = 'ip link set lo up && exec "$0" "$@"'
    program = (sys.executable, "-c", UNREACHABLE, str(Path(__file__).parent))
    run = subprocess.run(
        [*own_network, "sh", "-c", script, *program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    message, seconds = run.stdout.splitlines()
    assert "rank 1 on here has had no sign of" in message
    assert float(seconds) < 10


def test_a_json_log_has_messages_as_json_lines(
    capfd: pytest.CaptureFixture[str],
) -> None:
    use_json_lines(True)
    try:
        watchdog._print("error: rank 2 was killed", "error")
    finally:
        use_json_lines(False)
    line = json.loads(capfd.readouterr().err)
    assert (line["event"], line["text"]) == ("error", "error: rank 2 was killed")
