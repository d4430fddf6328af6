"""CloudEvents HTTP webhooks 1.0.2, part 4: which requests for permission are granted."""

import pytest

from sereno.execution_plane.gateway.handshake import answer

ORIGIN = ("webhook-request-origin", "eventemitter.example.com")
PERMISSION = {"WebHook-Allowed-Origin": "eventemitter.example.com", "WebHook-Allowed-Rate": "*"}


@pytest.mark.parametrize(
    "headers",
    [
        [ORIGIN],
        [ORIGIN, ("webhook-request-rate", "120")],
        [ORIGIN, ("webhook-request-rate", "007")],
        # 4.1.3: the callback is an offer; permission in the answer makes it needless, and calling it a stranger's tool
        [ORIGIN, ("webhook-request-callback", "https://example.com/confirm?id=1")],
    ],
)
def test_permission(headers: list[tuple[str, str]]) -> None:
    assert answer(headers) == {"Allow": "OPTIONS, POST"} | PERMISSION


@pytest.mark.parametrize(
    "headers",
    [
        [],
        # 4.1.2: a DNS expression that identifies the sending system, once
        [("webhook-request-origin", "")],
        [("webhook-request-origin", "*")],
        [("webhook-request-origin", "https://example.com")],
        [("webhook-request-origin", "a..b")],
        [("webhook-request-origin", "-a.example")],
        [("webhook-request-origin", "a" * 64 + ".example")],
        [("webhook-request-origin", "a." * 130)],
        [ORIGIN, ORIGIN],
        # 4.1.4: a positive integer greater than zero, once
        [ORIGIN, ("webhook-request-rate", "0")],
        [ORIGIN, ("webhook-request-rate", "-1")],
        [ORIGIN, ("webhook-request-rate", "1.5")],
        [ORIGIN, ("webhook-request-rate", "")],
        [ORIGIN, ("webhook-request-rate", "\u0661")],
        [ORIGIN, ("webhook-request-rate", "1"), ("webhook-request-rate", "2")],
    ],
)
def test_no_permission(headers: list[tuple[str, str]]) -> None:
    assert answer(headers) == {"Allow": "OPTIONS, POST"}
