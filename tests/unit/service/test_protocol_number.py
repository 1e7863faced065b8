"""Clients and services of neighbouring versions work together, or say so in one line.

A server of pyarrow's own stands for a service of another version.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from pyarrow import flight

import mndmst
from mndmst.host.errors import ConfigError
from mndmst.service.protocol import ACTIONS, PROTOCOL, read_request

MAJOR, MINOR = map(int, PROTOCOL.split("."))
GRAPH = {"graph": "roads", "version": 3, "maximum": False}


class OtherService(flight.FlightServerBase):
    """Answers `list` with given facts."""

    def __init__(self, answer: dict[str, object]) -> None:
        super().__init__("grpc+tcp://127.0.0.1:0")
        self.answer = answer

    def do_action(self, context: object, action: flight.Action) -> Iterator[bytes]:
        yield json.dumps(self.answer).encode()


@pytest.fixture
def service() -> Iterator[Callable[..., str]]:
    """Return a function that starts a service which answers `list` so."""
    with ExitStack() as servers:

        def start(**facts: object) -> str:
            answer = {"graphs": [GRAPH], "ranks": 1, **facts}
            server = servers.enter_context(OtherService(answer))
            return f"grpc+tcp://127.0.0.1:{server.port}"

        yield start


@pytest.mark.parametrize("minor", [MINOR, MINOR + 1, MINOR + 12])
def test_a_later_service_of_the_same_first_part_is_used(
    service: Callable[..., str], minor: int
) -> None:
    """Entries of answers that this client does not know are ignored."""
    graph = {**GRAPH, "of-a-later-version": [1]}
    url = service(protocol=f"{MAJOR}.{minor}", graphs=[graph], later={"a": 1})
    with mndmst.connect(url, "token") as connected:
        assert list(connected) == ["roads"]


@pytest.mark.parametrize(
    "facts", [{"protocol": f"{MAJOR + 1}.0"}, {"protocol": "0.9"}, {}, {"protocol": 10}]
)
def test_another_first_part_is_refused(
    service: Callable[..., str], facts: dict[str, object]
) -> None:
    url = service(**facts)
    with pytest.raises(
        mndmst.ServiceError, match="the protocol of the service"
    ) as told:
        mndmst.connect(url, "token")
    message = str(told.value)
    assert url in message and PROTOCOL in message and "\n" not in message
    assert str(facts.get("protocol", "without a number")) in message


def test_a_service_without_tls_is_told_by_its_address(
    service: Callable[..., str],
) -> None:
    url = service(protocol=PROTOCOL).replace("grpc+tcp", "grpc+tls")
    with pytest.raises(mndmst.ServiceError, match="has no TLS"):
        mndmst.connect(url, "token")


def test_a_field_of_a_later_client_is_refused_with_the_number() -> None:
    """A request without additions is understood, whichever client sends it."""
    body = {"graph": "roads", "digest": True}
    fields = ACTIONS["solve"][1]
    assert read_request("solve", json.dumps(body).encode(), fields) == body
    later = json.dumps({**body, "of_a_later_version": 1}).encode()
    expected = f"no field 'of_a_later_version' in protocol {PROTOCOL}"
    with pytest.raises(ConfigError, match=expected):
        read_request("solve", later, fields)
