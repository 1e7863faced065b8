"""Clients by their addresses, as gRPC writes them, and their open requests."""

import pytest

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.service.limits import ClientLimitError, OpenRequests, client_of


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("ipv4:127.0.0.1:45678", "127.0.0.1"),
        ("ipv6:%5B::1%5D:45678", "::1"),
        ("ipv6:[2001:db8::7]:1", "2001:db8::7"),
        ("ipv6:%5B::ffff:10.0.0.3%5D:9", "10.0.0.3"),
        ("unix:", "socket"),
        ("unix:/run/mndmst", "socket"),
    ],
)
def test_a_client_is_the_host_of_a_connection(peer: str, client: str) -> None:
    assert client_of(peer) == client


def test_one_client_at_its_limit_leaves_room_for_others() -> None:
    requests = OpenRequests(1)
    with requests.request("a"):
        with requests.request("b"):
            assert requests.counts() == {"a": 1, "b": 1}
        with pytest.raises(ClientLimitError, match="client a has 1 requests at once"):
            requests.request("a").__enter__()
    assert requests.counts() == {}
    with requests.request("a"):
        assert requests.counts() == {"a": 1}


def test_no_limit_is_no_limit() -> None:
    requests = OpenRequests(0)
    with requests.request("a"), requests.request("a"):
        assert requests.counts() == {"a": 2}
