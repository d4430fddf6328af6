"""The plan of an apply: every step, or everything that stands against it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sereno.control_plane.catalog.item import Address, Item
from sereno.control_plane.catalog.plan import Intent, Known, Minted, Step, plan
from sereno.control_plane.catalog.refusal import Refusals
from sereno.subscriptions.documents import Document, parse
from sereno.subscriptions.faults import Faults
from tests.control_documents import AGENT, ALL, ENDPOINT, several, subscription
from tests.unit.control_plane.scenario import ID, SHA, T0, event, happened

TRIAGE = Address("default", "Agent", "triage")
ZENDESK = Address("default", "Endpoint", "zendesk")
WATCH = Address("default", "Subscription", "refund-watch")
INTENT = Intent("user:marta", T0)
NOTHING = Known({}, frozenset())


def documents(text: str) -> tuple[Document, ...]:
    parsed = parse(text)
    assert not isinstance(parsed, Faults), list(parsed)
    return parsed


def planned(text: str, known: Known = NOTHING, intent: Intent = INTENT) -> Any:
    read = documents(text)
    return plan(read, known, [Minted(ID, SHA)] * len(read), intent)


def summary(steps: Sequence[Step]) -> list[tuple[str, str]]:
    assert isinstance(steps, tuple), steps
    return [(step.after.address.name, step.change) for step in steps]


def item(address: Address, spec: dict[str, Any] | None = None) -> Item:
    texts: dict[str, Any] = {"id": str(ID), "spec": spec or {}, "labels": {"team": "support"}}
    if address.kind == "Subscription":
        found = happened(
            address, event("subscription.created", before=None, after="active", version=1, **texts)
        )
    else:
        found = happened(address, event(f"{address.kind.lower()}.declared", token_sha256=None, **texts))
    assert found is not None
    return found


def test_steps_are_in_the_documents_order_and_only_endpoints_have_tokens() -> None:
    steps = planned(several(subscription(), ENDPOINT, AGENT))
    assert summary(steps) == [("refund-watch", "created"), ("zendesk", "created"), ("triage", "created")]
    assert [step.after.token_sha256 for step in steps] == [None, SHA, None]
    assert [step.events[0].actor for step in steps] == ["user:marta"] * 3


def test_a_plan_applied_is_an_empty_plan() -> None:
    steps = planned(ALL)
    known = Known(
        {step.after.address: step.after for step in steps}, frozenset(step.after.address for step in steps)
    )
    assert summary(planned(ALL, known)) == [
        ("triage", "unchanged"),
        ("zendesk", "unchanged"),
        ("refund-watch", "unchanged"),
    ]


def test_what_is_declared_beside_it_or_lives_already_is_no_fault() -> None:
    assert summary(planned(several(AGENT, subscription()), Known({}, frozenset({ZENDESK})))) == [
        ("triage", "created"),
        ("refund-watch", "created"),
    ]


def test_every_missing_reference_is_a_fault_with_its_line() -> None:
    faults = planned(several(subscription(), subscription("other", agent="ghost")))
    assert isinstance(faults, Faults)
    assert [(fault.path, fault.line) for fault in faults] == [
        ("documents[0].spec.agent", 6),
        ("documents[0].spec.source.webhook.endpoint", 8),
        ("documents[1].spec.agent", 15),
        ("documents[1].spec.source.webhook.endpoint", 17),
    ]
    assert list(faults)[2].message == (
        "agent ghost is not declared in tenant default; declare kind: Agent with metadata.name: ghost"
    )


def test_an_agent_of_another_tenant_does_not_count() -> None:
    acme = Address("acme", "Tenant", "acme")
    theirs = Known({}, frozenset({acme, TRIAGE, ZENDESK}))
    faults = planned(subscription(metadata=", tenant: acme"), theirs)
    assert isinstance(faults, Faults)
    assert len(faults) == 2


def test_all_refusals_are_told_at_once() -> None:
    refusals = planned(
        several(
            AGENT.replace("}\nspec", ", version: 4}\nspec"),
            ENDPOINT.replace("}\nspec", ", version: 5}\nspec"),
        )
    )
    assert isinstance(refusals, Refusals)
    assert [refusal.code for refusal in refusals.items] == ["version_conflict"] * 2


def test_pruning_ends_users_before_what_they_use() -> None:
    known = Known({}, frozenset(), prunable=(item(TRIAGE), item(ZENDESK), item(WATCH)))
    known = Known({}, frozenset(), known.prunable, {TRIAGE: frozenset({WATCH}), ZENDESK: frozenset({WATCH})})
    tenant = "apiVersion: sereno/v1\nkind: Tenant\nmetadata: {name: default}\nspec: {zone: UTC}\n"
    assert summary(planned(tenant, known)) == [
        ("default", "created"),
        ("refund-watch", "deleted"),
        ("zendesk", "deleted"),
        ("triage", "deleted"),
    ]


def test_what_is_declared_is_not_pruned() -> None:
    steps = planned(ALL)
    items = {step.after.address: step.after for step in steps}
    known = Known(items, frozenset(items), prunable=tuple(items.values()))
    assert {change for _, change in summary(planned(ALL, known))} == {"unchanged"}


def test_what_others_use_is_not_pruned() -> None:
    known = Known({}, frozenset({ZENDESK}), (item(TRIAGE),), {TRIAGE: frozenset({WATCH})})
    refusals = planned(ENDPOINT, known)
    assert isinstance(refusals, Refusals)
    assert [(refusal.code, "refund-watch" in refusal.message) for refusal in refusals.items] == [
        ("in_use", True)
    ]


def test_a_document_that_still_refers_to_the_pruned_is_at_fault() -> None:
    known = Known({}, frozenset({TRIAGE, ZENDESK}), (item(TRIAGE),), {TRIAGE: frozenset({WATCH})})
    faults = planned(subscription(), known)
    assert isinstance(faults, Faults)
    assert [fault.path for fault in faults] == ["documents[0].spec.agent"]


def test_a_revival_counts_as_creation() -> None:
    gone = happened(
        WATCH,
        event("subscription.created", before=None, after="active", version=1, id=str(ID), spec={}, labels={}),
        event("subscription.deleted", before="active", after="deleted", version=1),
    )
    assert gone is not None
    known = Known({WATCH: gone}, frozenset({TRIAGE, ZENDESK}))
    steps = planned(subscription(), known, Intent("user:marta", T0, "back", revive=True))
    assert summary(steps) == [("refund-watch", "created")]


def at(instant: datetime) -> str:
    return f"""\
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: refund-watch}}
spec:
  owner: user:marta
  agent: agent:triage
  instruction: Wake up.
  source: {{time: {{at: "{instant:%Y-%m-%dT%H:%M:%SZ}"}}}}
"""


def test_a_time_that_is_over_is_refused_unless_it_has_stood_there_before() -> None:
    past, future = at(T0 - timedelta(seconds=1)), at(T0 + timedelta(seconds=1))
    known = Known({}, frozenset({TRIAGE}))
    refused = planned(past, known)
    assert isinstance(refused, Faults)
    [fault] = refused
    assert fault.path == "documents[0].spec.source.time"
    assert "never fires" in fault.message
    assert summary(planned(future, known)) == [("refund-watch", "created")]

    [document] = documents(past)
    fired = Known({WATCH: item(WATCH, document.canonical())}, frozenset({TRIAGE, WATCH}))
    assert not isinstance(planned(past, fired), Faults)
    assert isinstance(planned(at(T0 - timedelta(days=1)), fired), Faults)


def timed(time: str, name: str = "refund-watch") -> str:
    return subscription(name).replace("{webhook: {endpoint: zendesk}}", f"{{time: {time}}}")


def test_schedules_that_never_fire_or_too_often_are_all_refused_at_once() -> None:
    past = '{rrule: "FREQ=DAILY;COUNT=2", dtstart: "2020-01-01T09:00", zone: UTC}'
    seconds = '{cron: "*/10 * * * * *", zone: UTC}'
    whole_day = '{rrule: "FREQ=HOURLY", dtstart: "2020-01-01", zone: UTC}'
    good = '{rrule: "FREQ=DAILY", dtstart: "2020-01-01T09:00", zone: Europe/Madrid}'
    texts = [timed(time, f"s{number}") for number, time in enumerate((past, seconds, good, whole_day))]
    faults = planned(several(AGENT, *texts))
    assert isinstance(faults, Faults)
    assert [(fault.path, fault.message.partition(":")[0]) for fault in faults] == [
        ("documents[1].spec.source.time", "never fires"),
        ("documents[2].spec.source.time", "fires more than once a minute"),
        ("documents[4].spec.source.time", "FREQ=HOURLY with a whole day"),
    ]


def test_b4_a_one_shot_that_would_land_a_year_late_is_refused() -> None:
    """Declared for eight minutes ago, a yearly rule of one occurrence has no time to come: an error, no success."""
    ago = f"{T0 - timedelta(minutes=8):%Y-%m-%dT%H:%M}"
    faults = planned(several(AGENT, timed(f'{{rrule: "FREQ=YEARLY;COUNT=1", dtstart: "{ago}", zone: UTC}}')))
    assert isinstance(faults, Faults)
    (fault,) = faults
    assert fault.message.startswith("never fires: expected a time later than")
