"""The watchdog: what it says of neighbours that leave, die, or cannot be reached."""

import queue
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mndmst.comm import watchdog
from mndmst.comm.watchdog import Peer, Watchdog

OWN = Peer("here", 1, "", 0)
AFTER, BEFORE = Peer("there", 2, "", 0), Peer("yonder", 0, "", 0)


class Trio:
    """A watchdog with its two neighbours, whose ends of the connections we hold."""

    def __init__(self) -> None:
        ends = [_pair(), _pair()]
        self.after, self.before = ends[0][1], ends[1][1]
        self.messages: queue.Queue[str] = queue.Queue()
        links = [(ends[0][0], AFTER), (ends[1][0], BEFORE)]
        self.dog = Watchdog(OWN, links, 3, self.messages.put)


def _pair() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    return one, other


@pytest.fixture
def trio(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watchdog, "GRACE_SECONDS", 0.1)
    trio = Trio()
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


def test_mpi_goes_on_while_a_neighbour_is_awaited() -> None:
    token = b"a word of ours.."
    links = []

    def connect() -> None:
        """Stand for a neighbour that first needs a message of this rank."""
        if not links:
            links.append(socket.create_connection(listener.getsockname()))
            links[0].sendall(token)

    listener = socket.create_server(("127.0.0.1", 0))
    with watchdog._accept(listener, token, connect), links[0]:
        pass


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
