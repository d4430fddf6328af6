"""The handshake before a sender sends (CloudEvents HTTP webhooks 1.0.2, part 4): may this origin, and how fast?

Everybody is answered alike, whatever the token in the path: the handshake authenticates nobody, and the signature of each
delivery decides later. Permission is given in the answer, so a `WebHook-Request-Callback` is never called.
"""

import re
from collections.abc import Mapping

from sereno.execution_plane.gateway.headers import Headers, single

ALLOWED_METHODS = "OPTIONS, POST"
_LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DNS_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\.?\Z")
_RATE = re.compile("0*[1-9][0-9]*")


def answer(headers: Headers) -> Mapping[str, str]:
    """The headers of the answer; without `WebHook-Allowed-Origin` it is no permission (4.2).

    The origin is the name of a system in DNS, the rate a positive integer of requests a minute. `*` is the rate
    allowed: who sends more than an endpoint takes is answered 429 with `Retry-After`.
    """
    allow = {"Allow": ALLOWED_METHODS}
    origin = single(headers, "webhook-request-origin")
    if origin is None or _DNS_NAME.match(origin) is None or not _is_possible(headers):
        return allow
    return allow | {"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*"}


def _is_possible(headers: Headers) -> bool:
    """Whether the rate asked for is one (4.1.4); a sender need not ask."""
    if all(name != "webhook-request-rate" for name, _ in headers):
        return True
    rate = single(headers, "webhook-request-rate")
    return rate is not None and _RATE.fullmatch(rate) is not None
