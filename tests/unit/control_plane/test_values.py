"""The small pure parts: labels, differences, sums of reports, manifest sizes, platform events."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.control_plane.announcing import announcements
from sereno.control_plane.catalog.difference import Difference, differences
from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.plan import Intent, Step, step
from sereno.control_plane.catalog.selector import Selector
from sereno.control_plane.catalog.subscription import Declare
from sereno.control_plane.publishing.build import VALIDITY, build
from sereno.control_plane.reports.fold import Key, Tally, fold
from sereno.control_plane.reports.inbox import Position
from sereno.control_plane.store.heads import Head
from sereno.envelope.stored import loads_batch
from sereno.subscriptions import snapshot
from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.report import Activity, ActivityReport
from tests.unit.control_plane.scenario import ID, T0

WATCH = Address("acme", "Subscription", "watch")


def item(name: str = "watch", **changed: Any) -> Item:
    values: dict[str, Any] = {
        "address": Address("acme", "Subscription", name),
        "id": ID,
        "version": 1,
        "revision": 1,
        "state": State.ACTIVE,
        "labels": {},
        "spec": {},
        "token_sha256": None,
        "created_by": "user:marta",
        "created_at": T0,
        "updated_at": T0,
    }
    return Item(**{**values, **changed})


def test_a_selector_is_a_key_or_a_key_and_its_value() -> None:
    labels = {"team": "support", "env": ""}
    chosen = [Selector.parse(text).selects(labels) for text in ("team", "team=support", "team=ops", "other")]
    assert chosen == [True, True, False, False]


@pytest.mark.parametrize("text", ["", "=x", "a=", "a=b=c", "a b", "-a"])
def test_anything_else_is_no_selector(text: str) -> None:
    with pytest.raises(ValueError, match="expected a label"):
        Selector.parse(text)


def test_differences_go_down_to_fields() -> None:
    before = item(spec={"a": {"b": 1, "c": 2}, "gone": [1]}, labels={"x": "y"})
    after = item(spec={"a": {"b": 1, "c": 3}, "new": {"d": None, "e": 4}}, state=State.PAUSED)
    assert differences(before, after) == (
        Difference("metadata.labels.x", "y", None),
        Difference("spec.a.c", 2, 3),
        Difference("spec.gone", [1], None),
        Difference("spec.new.e", None, 4),
        Difference("state", "active", "paused"),
    )
    assert differences(before, before) == ()


def test_creation_and_deletion_differ_in_everything() -> None:
    whole = item(spec={"a": 1})
    assert differences(None, whole) == (Difference("spec.a", None, 1), Difference("state", None, "active"))
    gone = item(spec={"a": 1}, state=State.DELETED)
    assert differences(whole, gone) == (Difference("spec.a", 1, None), Difference("state", "active", None))


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9), st.integers(0, 9)), max_size=8), st.data()
)
def test_reports_add_up_the_same_in_any_order(
    counts: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    reports = [
        ActivityReport(
            tenant="acme",
            items=(
                Activity(
                    subscription=name, outcome="delivered", count=count, last_at=T0 + timedelta(seconds=at)
                ),
            ),
        )
        for name, count, at in counts
    ]
    sums = fold(reports)
    assert sums == fold(data.draw(st.permutations(reports)))
    assert list(sums) == sorted(sums)
    for name in "ab":
        mine = [(count, at) for known, count, at in counts if known == name]
        expected = (
            Tally(sum(c for c, _ in mine), T0 + timedelta(seconds=max(a for _, a in mine))) if mine else None
        )
        assert sums.get(Key("acme", name, "delivered")) == expected


@pytest.mark.parametrize("header", ["", ":1", "execution", "execution:", "execution:x"])
def test_a_position_names_plane_and_number(header: str) -> None:
    assert Position.parse("execution:12") == Position("execution", 12)
    with pytest.raises(ValueError):
        Position.parse(header)


def test_a_manifest_names_every_object_by_the_hash_of_its_bytes() -> None:
    token = item("t", address=Address("*", "Token", "t"), token_sha256="ab" * 32)
    built = build(Head("acme", 2, 7), [item(), token], issued_at=T0, key_id="k")
    assert (built.manifest.epoch, built.manifest.version, built.manifest.valid_until) == (2, 7, T0 + VALIDITY)
    assert built.manifest.entries.keys() == {"subscription/watch", "token/t", "policy/sereno-default"}
    for entry in built.manifest.entries.values():
        found = snapshot.read_object(built.blobs[entry.sha256], entry)
        assert isinstance(found, snapshot.CatalogObject)
        assert found.tenant == "acme", "a token of every tenant travels as this tenant's"


def test_each_step_of_a_subscription_is_a_platform_event() -> None:
    declare = Declare(WATCH, {"instruction": "x"}, {}, ID, "user:marta")
    created = step(None, declare, Intent("user:marta", T0, "because"))
    assert isinstance(created, Step)
    [outgoing] = announcements([created])
    assert (outgoing.subject, outgoing.tenant) == ("sereno.ingress.acme", "acme")
    [envelope] = loads_batch(outgoing.payload)
    assert (envelope.type, envelope.origin, envelope.trust) == (
        "sereno.platform.subscription.changed",
        "platform",
        "platform",
    )
    assert (envelope.subject, envelope.time, envelope.recordedtime) == ("watch", T0, T0)
    assert envelope.data == {
        "subscription": "watch",
        "id": str(ID),
        "version": 1,
        "change": "created",
        "state": "active",
        "reason": "because",
    }
    [again] = announcements([created])
    assert loads_batch(again.payload)[0].dedupkey == envelope.dedupkey
    assert announcements([step(created.after, declare, Intent("user:marta", T0))]) == []  # type: ignore[list-item]
