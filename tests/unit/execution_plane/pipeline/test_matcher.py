"""The matcher: whom an event concerns, and why it does not concern the others."""

from datetime import timedelta

import pytest

from sereno.envelope.encode import flat
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.pipeline.matcher import Index, Miss, miss
from tests.passages import received, subscription

HIGH = {"cel": 'data.priority in ["high", "urgent"]'}


def matched(index: Index, **envelope: object) -> list[str]:
    found = received(1, **envelope)  # type: ignore[arg-type]
    return [match.subscription.name for match in index.match(found, flat(found))]


@pytest.mark.req(68, 70)
def test_tenant_and_origin_come_first_then_every_filter() -> None:
    index = Index(
        [
            subscription("b", filters=[{"prefix": {"type": "com.zendesk"}}, HIGH]),
            subscription("a"),
            subscription("c", tenant="umbrella"),
            subscription("d", source={"webhook": {"endpoint": "shop"}}),
        ]
    )
    assert matched(index, data={"priority": "high"}) == ["a", "b"]
    assert matched(index, data={"priority": "low"}) == ["a"]
    assert matched(index, data={"priority": "high"}, type_="org.other") == ["a"]
    assert matched(index, tenant="umbrella") == ["c"]
    assert matched(index, origin="webhook/shop") == ["d"]
    assert matched(index, origin="webhook/nowhere") == []
    assert matched(index, tenant="nobody") == []


@pytest.mark.parametrize(
    ("source", "origin", "type_", "found"),
    [
        ({"time": {"every": "1h"}}, "time/s", "sereno.time.due", True),
        ({"time": {"every": "1h"}}, "time/other", "sereno.time.due", False),
        (
            {"platform": {"types": ["sereno.platform.run.finished"]}},
            "platform",
            "sereno.platform.run.finished",
            True,
        ),
        (
            {"platform": {"types": ["sereno.platform.run.finished"]}},
            "platform",
            "sereno.platform.run.failed",
            False,
        ),
    ],
)
def test_a_source_is_an_origin_and_perhaps_types(
    source: dict[str, object], origin: str, type_: str, found: bool
) -> None:
    index = Index([subscription("s", source=source)])
    assert (matched(index, origin=origin, type_=type_) == ["s"]) is found


def test_a_filter_that_cannot_be_evaluated_is_a_match_with_its_fault() -> None:
    index = Index([subscription("a", filters=[{"cel": "data.amount > 3"}]), subscription("b")])
    found = received(data={"amount": "three"})
    first, second = index.match(found, flat(found))
    assert first.fault is not None
    assert "data.amount > 3" in first.fault
    assert second.fault is None


def test_a_tenant_is_replaced_as_a_whole() -> None:
    index = Index([subscription("a"), subscription("z", tenant="umbrella")])
    index.replace("acme", [subscription("b")])
    assert [s.name for s in index.of_tenant("acme")] == ["b"]
    assert matched(index) == ["b"]
    assert matched(index, tenant="umbrella") == ["z"]


@pytest.mark.parametrize(
    ("watch", "expected"),
    [
        (subscription(), None),
        (
            subscription(source={"webhook": {"endpoint": "shop"}}),
            Miss("source", "webhook/shop", "webhook/zendesk"),
        ),
        (
            subscription(filters=[{"exact": {"type": "other"}}]),
            Miss("filter", 'exact: {"type":"other"}', "type = 'com.zendesk.ticket.created'"),
        ),
        (
            subscription(filters=[HIGH]),
            Miss("filter", 'cel: data.priority in ["high", "urgent"]', "data.priority = 'low'"),
        ),
        (
            subscription(filters=[{"cel": "data.absent == 1"}]),
            Miss("filter", "cel: data.absent == 1", "nothing there"),
        ),
    ],
)
def test_a_miss_names_the_part_that_said_no_and_what_it_found(
    watch: Subscription, expected: Miss | None
) -> None:
    found = received(data={"priority": "low"}, after=timedelta())
    assert miss(watch, found, flat(found)) == expected
