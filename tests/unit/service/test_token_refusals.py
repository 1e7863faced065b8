"""The lines of requests without the token: the first at once, the others bounded."""

import pytest

pytest.importorskip("prometheus_client", reason="the service needs prometheus_client")

from mndmst.service.metrics import FinishedRequest, TokenRefusals


def test_a_flood_of_refused_requests_has_few_lines() -> None:
    noted: list[FinishedRequest] = []
    now = 100.0
    refusals = TokenRefusals(noted.append, clock=lambda: now)
    for second in range(25):
        for shown in (True, False):
            now = 100.0 + second
            refusals.add(shown, "10.0.0.7")
    assert [request.error for request in noted] == [
        "a wrong token",
        "a wrong token; 19 more requests refused since the last line",
        "a wrong token; 19 more requests refused since the last line",
    ]
    assert {(r.action, r.status, r.client) for r in noted} == {
        ("token", "refused", "10.0.0.7")
    }


def test_a_request_without_any_token_is_told_apart() -> None:
    noted: list[FinishedRequest] = []
    TokenRefusals(noted.append).add(shown=False)
    assert (noted[0].error, noted[0].client) == ("no token", "-")
