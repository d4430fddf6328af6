"""Rates, addresses, questions and the log of deliveries, each by itself."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from sereno.execution_plane.catalog import identities
from sereno.execution_plane.deliveries.delivery import Delivery
from sereno.execution_plane.deliveries.log import REFUSED_A_MINUTE, DeliveryLog
from sereno.execution_plane.gateway import ping
from sereno.execution_plane.gateway.endpoint import of_spec
from sereno.execution_plane.gateway.rate_limit import RateLimit
from sereno.execution_plane.gateway.signatures.scheme import Request
from sereno.subscriptions.models.endpoint import EndpointSpec
from sereno.subscriptions.rate import Rate
from tests.integration.execution_plane.declaring import declare

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_rate_refills_evenly_and_says_when_to_come_again() -> None:
    limit, rate = RateLimit(), Rate(60, "min")
    assert [limit.take("acme", "hub", rate, NOON) for _ in range(61)] == [None] * 60 + [1]
    assert limit.take("acme", "other", rate, NOON) is None
    assert limit.take("acme", "hub", rate, NOON + timedelta(seconds=1)) is None
    assert limit.take("acme", "hub", rate, NOON + timedelta(seconds=1)) == 1
    # A clock that goes back gives nothing away.
    assert limit.take("acme", "hub", rate, NOON) == 1
    assert limit.take("acme", "hub", Rate(1, "day"), NOON) is None
    assert limit.take("acme", "hub", Rate(1, "day"), NOON) == 86_400


@pytest.mark.parametrize(
    ("address", "admitted"),
    [
        ("192.0.2.7", True),
        ("192.0.3.7", False),
        ("2001:db8::1", True),
        ("::1", False),
        (None, False),
        ("x", False),
    ],
)
def test_only_allowed_addresses_are_admitted(address: str | None, admitted: bool) -> None:
    spec = {"scheme": "github", "secrets": ["env:A"], "allow_ips": ["192.0.2.0/24", "2001:db8::/32"]}
    assert of_spec("acme", "hub", EndpointSpec.model_validate(spec)).admits(address) is admitted
    open_to_all = EndpointSpec.model_validate({"scheme": "github", "secrets": ["env:A"]})
    assert of_spec("acme", "hub", open_to_all).admits(address)


@pytest.mark.parametrize(
    ("scheme", "body", "status"),
    [
        ("slack", b'{"type":"url_verification","challenge":"c"}', 200),
        ("slack", b'{"type":"url_verification"}', None),
        ("slack", b'{"type":"event_callback","challenge":"c"}', None),
        ("discord", b'{"type":0}', 204),
        ("discord", b'{"type":1}', 200),
        ("discord", b'{"type":1,"event":{}}', None),
        ("discord", b'{"type":2}', None),
        ("discord", b'{"type":false}', None),
        ("discord", b"{", None),
        ("github", b'{"type":0}', None),
    ],
)
def test_a_question_is_told_from_an_event(scheme: str, body: bytes, status: int | None) -> None:
    found = ping.answer(scheme, Request([], body))
    assert (None if found is None else found.status) == status


def delivery(verdict: Any, at: datetime = NOON, tenant: str = "acme") -> Delivery:
    return Delivery(tenant, "01890000-0000-7000-8000-000000000000", "hub", at, verdict, 401, None, 1.0, 2)


class Pool:
    """Counts the rows that it is handed."""

    rows = 0

    async def execute(self, _: str, rows: str) -> None:
        self.rows += len(json.loads(rows))


async def test_a_flood_of_refusals_fills_no_log() -> None:
    pool = Pool()
    log = DeliveryLog(cast("Any", pool))
    for _ in range(REFUSED_A_MINUTE + 50):
        log.record(delivery("refused"))
    log.record(delivery("accepted"))
    log.record(delivery("refused", tenant=""))
    await log.flush()
    assert pool.rows == REFUSED_A_MINUTE + 1
    log.record(delivery("refused", NOON + timedelta(minutes=1)))
    await log.flush()
    assert pool.rows == REFUSED_A_MINUTE + 2


@pytest.mark.req(184, 211)
def test_an_actor_whom_two_claim_is_nobody() -> None:
    def known(name: str, *actors: str, state: str = "active") -> Any:
        spec = {
            "owner": "user:m",
            "adapter": "pull",
            "identities": [{"origin": "webhook/hub", "actor": actor} for actor in actors],
        }
        return declare("Agent", name, spec, state=state)

    people = [{"origin": "webhook/hub", "actor": "marta", "principal": "user:marta"}]
    objects = [
        declare("Tenant", "acme", {"zone": "UTC", "identities": people}),
        known("one", "bot", "shared"),
        known("two", "shared"),
        known("gone", "ghost", state="deleted"),
    ]
    assert identities.table(objects) == {"webhook/hub": {"marta": "user:marta", "bot": "agent:one"}}
