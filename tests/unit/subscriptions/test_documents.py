"""Reading declared documents: all of them, or every fault of every one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sereno.subscriptions.documents import Document, parse
from sereno.subscriptions.example import EXAMPLE
from sereno.subscriptions.faults import MAX_FAULTS, Faults
from sereno.subscriptions.models import SubscriptionSpec
from tests.unit.subscriptions.declarations import accepted, declared, refused

CONTRACT = """\
apiVersion: sereno/v1
kind: Subscription
metadata: {name: refund-watch, tenant: acme, labels: {team: support}}
spec:
  owner: user:marta                # to whom it is attributed; whoever creates it is recorded besides
  agent: agent:support-triage
  instruction: Draft a reply to each customer who asks for money back.
  workspace: support               # optional
  source:
    webhook: {endpoint: zendesk}
  filters:
    - prefix: {type: com.zendesk.ticket}
    - cel: data.priority in ["high", "urgent"]
  sender: any
  condition: {criterion: Does any of these messages demand a refund?, min_confidence: 0.7}
  limits:
    cooldown: {every: 10m, then: batch}
    batch: {window: 5m, max_wait: 30m, max_items: 50, by: data.customer}
    budget: {activations: 100/day, cost: {limit: 5.00 EUR/day, reserve: 0.30 EUR}}
    when_busy: queue
    storm: {threshold: 60/min}
    max_occurrences: 1000
    expires: 2027-01-01T00:00:00Z
    quiet_hours: {zone: Europe/Madrid, from: "22:00", to: "07:00", then: batch}
    reentry: 0
  delivery: {priority: 0, serial_by: data.customer, max_attempts: 5, lease: 60s, max_run: 1h, max_age: 24h}
  misfire: latest
  mode: ask_each_time
"""


@pytest.mark.req(68, 69, 70, 71, 72, 73, 74)
def test_the_contracts_example_is_understood_where_somebody_judges_its_condition() -> None:
    assert not isinstance(parse(CONTRACT, judged=True), Faults)
    assert refused(CONTRACT) == {
        "spec.condition": "no evaluator is configured to judge it: set SERENO_EVALUATORS and start again"
    }


@pytest.mark.req(68, 69, 70, 71, 72, 73, 74)
def test_a_subscription_says_whose_it_is_what_it_takes_whom_it_wakes_for_what_and_how_often() -> None:
    text = "\n".join(line for line in CONTRACT.splitlines() if not line.strip().startswith("condition"))
    (document,) = accepted(text)
    spec = document.spec
    assert isinstance(spec, SubscriptionSpec)
    assert (document.kind, document.tenant, document.metadata.name) == (
        "Subscription",
        "acme",
        "refund-watch",
    )
    assert (spec.owner, spec.agent, spec.workspace) == ("user:marta", "agent:support-triage", "support")
    assert spec.instruction == "Draft a reply to each customer who asks for money back."
    assert spec.source.webhook
    assert spec.source.webhook.endpoint == "zendesk"
    assert spec.filters[0].prefix == {"type": "com.zendesk.ticket"}
    assert spec.limits.cooldown
    assert spec.limits.cooldown.every == timedelta(minutes=10)
    assert spec.limits.expires == datetime(2027, 1, 1, tzinfo=UTC)
    assert document.line("spec.filters[1].cel") == 13
    assert document.fault("spec.agent", "no such agent").line == 6


def test_what_a_spec_means_survives_its_stored_form() -> None:
    for document in accepted(EXAMPLE):
        assert type(document.spec).model_validate(document.canonical()) == document.spec


def test_the_example_declares_an_agent_an_endpoint_a_webhook_and_a_clock() -> None:
    documents = accepted(EXAMPLE)
    assert [document.kind for document in documents] == ["Agent", "Endpoint", "Subscription", "Subscription"]
    commented = EXAMPLE.replace("{every: 4h}              # or once: ", "")
    assert "at: 2099" in commented
    accepted(commented)


def test_all_faults_of_all_documents_come_at_once_with_path_and_line() -> None:
    text = """\
apiVersion: sereno/v1
kind: Agent
metadata: {name: Upper}
spec: {owner: marta, adapter: exec}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {name: broken
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {name: github}
spec:
  scheme: github
  secrets: [env:SECRET]
  max_bdy: 1
"""
    faults = parse(text)
    assert isinstance(faults, Faults)
    assert [(fault.path, fault.line) for fault in faults] == [
        ("documents[0].metadata.name", 3),
        ("documents[0].spec.owner", 4),
        ("documents[1]", 9),
        ("documents[2].spec.max_bdy", 16),
    ]
    assert str(faults.items[3]) == "line 16: documents[2].spec.max_bdy: unknown field; did you mean max_body?"


def test_a_models_own_rules_are_reported_beside_its_faulty_fields() -> None:
    faults = refused(declared(source={"time": {"every": "soon", "cron": "* * * * *"}}))
    assert faults["spec.source.time"] == (
        "expected exactly one of at, every, rrule, cron, ics; found every and cron"
    )
    assert "spec.source.time.every" in faults
    assert faults["spec.source.time.zone"] == "required beside cron"


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"source": {"time": {"at": "2027-01-01T09:00:00"}}}, "spec.source.time.at", "expected a zone"),
        ({"source": {"time": {"at": "2027-01-01"}}}, "spec.source.time.at", "expected a zone"),
        ({"source": {"time": {"at": "tomorrow"}}}, "spec.source.time.at", "expected an instant"),
        (
            {"source": {"time": {"rrule": "FREQ=DALY", "dtstart": "2026-12-01T09:00", "zone": "UTC"}}},
            "spec.source.time.rrule",
            "FREQ=DALY: expected one of",
        ),
        (
            {"source": {"time": {"rrule": "FREQ=DAILY", "dtstart": "2026-13-01T09:00", "zone": "UTC"}}},
            "spec.source.time.dtstart",
            "month must be in 1..12",
        ),
        (
            {"source": {"time": {"rrule": "FREQ=DAILY", "dtstart": "2026-12-01T09:00"}}},
            "spec.source.time.zone",
            "required beside rrule",
        ),
        ({"source": {"time": {"cron": "0 9 * * *"}}}, "spec.source.time.zone", "required beside cron"),
        (
            {"source": {"time": {"cron": "0 9 * * *", "zone": "localtime"}}},
            "spec.source.time.zone",
            "expected an IANA time zone",
        ),
        (
            {"source": {"time": {"cron": "61 9 * * *", "zone": "UTC"}}},
            "spec.source.time.cron",
            "Bad minute",
        ),
        (
            {"source": {"time": {"cron": "0 9 * * *", "zone": "UTC", "gap": "skip"}}},
            "spec.source.time.gap",
            "not allowed beside cron",
        ),
        (
            {"source": {"time": {"cron": "0 9 * * *", "zone": "UTC", "exdates": ["tomorrow"]}}},
            "spec.source.time.exdates[0]",
            "expected a time such as",
        ),
        (
            {"source": {"time": {"ics": "BEGIN:VCALENDAR\nEND:VCALENDAR"}}},
            "spec.source.time.ics",
            "expected one series, not 0",
        ),
        ({"source": {"time": {"every": "10s"}}}, "spec.source.time.every", "expected at least 1m"),
        ({"source": {"time": {"every": 600}}}, "spec.source.time.every", "expected a duration with its unit"),
        ({"source": {"time": {"every": "-1h"}}}, "spec.source.time.every", "longer than zero"),
        (
            {"source": {"platform": {"types": ["com.example"]}}},
            "spec.source.platform.types[0]",
            "begins with",
        ),
        (
            {"source": {"platform": {"types": ["sereno.platform.*"]}}},
            "spec.source.platform.types[0]",
            "no wildcards",
        ),
        (
            {"source": {"platform": {"types": ["sereno.platform.workspace.changed"]}}},
            "spec.source.platform.types[0]",
            "not yet supported: source.platform.types: sereno.platform.workspace.changed",
        ),
        ({"source": {"platform": {"types": []}}}, "spec.source.platform.types", "expected at least 1"),
        ({"source": {}}, "spec.source", "found none"),
        ({"instruction": "   "}, "spec.instruction", "expected some text"),
        ({"instruction": 7}, "spec.instruction", "expected text"),
        ({"agent": "support"}, "spec.agent", "expected an agent such as agent:"),
        ({"mode": "yolo"}, "spec.mode", "expected 'observe'"),
        ({"mode": "on"}, "spec.mode", "expected 'observe'"),
        ({"filters": [{"exact": {"Type": "a"}}]}, "spec.filters[0].exact.Type", "lower-case"),
        ({"filters": [{"exact": {"hops": 1}}]}, "spec.filters[0].exact.hops", "expected text"),
        ({"filters": [{"exact": {}}]}, "spec.filters[0].exact", "expected at least 1"),
        ({"filters": [{"sql": "a"}]}, "spec.filters[0].sql", "unknown field; expected one of all, any, cel"),
        ({"filters": [{"cel": "data.x in ["}]}, "spec.filters[0].cel", "CEL at 1:12"),
        ({"filters": [{"not": {"cel": "foo(1)"}}]}, "spec.filters[0].not.cel", "unknown function foo"),
        ({"delivery": {"lease": "2h"}}, "spec.delivery.lease", "lease (2h) is longer than max_run (1h)"),
        ({"delivery": {"lease": "999ms"}}, "spec.delivery.lease", "expected at least 1s"),
        ({"filters": [{"any": []}]}, "spec.filters[0].any", "expected at least 1; found 0"),
        ({"delivery": {"max_attempts": 0}}, "spec.delivery.max_attempts", "expected at least 1"),
        ({"delivery": {"priority": True}}, "spec.delivery.priority", "expected a whole number"),
        (
            {"limits": {"cooldown": {"every": "10 minutes"}}},
            "spec.limits.cooldown.every",
            "expected a duration",
        ),
        ({"limits": []}, "spec.limits", "expected a mapping"),
        ({"sender": "known"}, "spec.sender", "expected 'any' or 'verified'"),
        ({"limits": {"when_busy": "wait"}}, "spec.limits.when_busy", "expected 'queue', 'drop' or 'merge'"),
        ({"source": {"mcp": {"nonsense": 1}}}, "spec.source.mcp.nonsense", "unknown field"),
        ({"source": {"mcp": {"items": "data.("}}}, "spec.source.mcp.items", "CEL at"),
        ({"source": {"mcp": {"every": "1ms"}}}, "spec.source.mcp.every", "at least"),
    ],
)
def test_a_wrong_subscription_is_refused_where_it_is_wrong(
    change: dict[str, Any], path: str, message: str
) -> None:
    assert message in refused(declared(**change))[path]


@pytest.mark.parametrize(
    ("kind", "spec", "path", "message"),
    [
        ("Tenant", {"zone": "Mars/Olympus"}, "spec.zone", "expected an IANA time zone"),
        ("Tenant", {"zone": "../etc/passwd"}, "spec.zone", "expected an IANA time zone"),
        ("Tenant", {"zone": "UTC", "plan": "gold"}, "spec.plan", "not yet supported: plan"),
        (
            "Agent",
            {"owner": "user:marta", "adapter": "exec", "concurrency": 0},
            "spec.concurrency",
            "at least 1",
        ),
        (
            "Endpoint",
            {"scheme": "stripe", "secrets": ["env:A"], "header": "X-S"},
            "spec.header",
            "not allowed beside scheme: stripe",
        ),
        (
            "Endpoint",
            {"scheme": "stripe", "secrets": ["env:A"], "mapping": {"type": "body."}},
            "spec.mapping.type",
            "CEL",
        ),
        (
            "Endpoint",
            {"scheme": "stripe", "secrets": ["env:A"], "allow_ips": ["localhost"]},
            "spec.allow_ips[0]",
            "expected an address or a network",
        ),
        (
            "Endpoint",
            {"scheme": "stripe", "secrets": ["env:A"], "content_types": ["Text/Plain"]},
            "spec.content_types[0]",
            "expected a media type",
        ),
        ("Endpoint", {"scheme": "md5", "secrets": ["env:A"]}, "spec.scheme", "expected 'github', 'hmac'"),
        ("Endpoint", {"scheme": "hmac", "secrets": ["env:A"]}, "spec.header", "required beside scheme: hmac"),
        (
            "Endpoint",
            {"scheme": "github", "secrets": ["env:A"], "prefix": "a", "header": "X"},
            "spec.header",
            "github",
        ),
        ("Endpoint", {"scheme": "github", "secrets": []}, "spec.secrets", "expected at least 1"),
        ("Endpoint", {"scheme": "github", "secrets": ["env:A", "env:A"]}, "spec.secrets", "two different"),
        (
            "Endpoint",
            {"scheme": "github", "secrets": ["env:A"], "max_body": "20MB"},
            "spec.max_body",
            "at most",
        ),
    ],
)
def test_other_wrong_objects_are_refused_where_they_are_wrong(
    kind: str, spec: dict[str, Any], path: str, message: str
) -> None:
    assert message in refused(declared(kind, "thing", **spec))[path]


def test_a_secret_that_is_no_reference_is_refused_and_never_repeated() -> None:
    for secrets in (
        ["hunter2"],
        "hunter2",
        ["file:hunter2"],
        [{"hunter2": 1}],
        ["env:hunter2!"],
        {"value": "hunter2"},
    ):
        faults = parse(declared("Endpoint", "github", scheme="github", secrets=secrets))
        assert isinstance(faults, Faults)
        assert "hunter2" not in repr(faults)


def test_kinds_of_later_and_of_never_are_told_apart() -> None:
    assert refused("apiVersion: sereno/v1\nkind: Calendar\n")["kind"] == "not yet supported: kind: Calendar"
    assert refused("apiVersion: sereno/v1\nkind: Banana\n")["kind"].startswith("expected one of Tenant")


def test_a_name_is_declared_once() -> None:
    text = "---\n".join([declared(), declared(name="other"), declared()])
    assert refused(text) == {"metadata.name": "Subscription refund-watch is declared already in documents[0]"}


def test_a_tenant_belongs_to_itself() -> None:
    (tenant,) = accepted(declared("Tenant", "acme", zone="Europe/Madrid"))
    assert tenant.tenant == "acme"
    text = "apiVersion: sereno/v1\nkind: Tenant\nmetadata: {name: acme, tenant: other}\nspec: {zone: UTC}\n"
    assert "metadata.tenant" in refused(text)


def test_more_faults_than_a_person_reads_are_counted() -> None:
    faults = parse("a: 1\n---\n" * 300)
    assert isinstance(faults, Faults)
    assert len(faults) == MAX_FAULTS + 1
    assert "more faults" in faults.items[-1].message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from([*SubscriptionSpec.model_fields, "webhook", "time", "cel", "not"])


@given(st.dictionaries(fields, json_values, max_size=5))
def test_any_spec_is_read_or_refused_with_paths_and_lines(spec: dict[str, Any]) -> None:
    read = parse(declared(**spec))
    if isinstance(read, Faults):
        assert all(fault.message and fault.line for fault in read)
    else:
        assert all(isinstance(document, Document) for document in read)


@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    assert len(parse(text)) > 0


@pytest.mark.req(50)
@pytest.mark.parametrize(
    "time",
    [
        {"at": "2026-12-01T09:00:00"},
        {"rrule": "FREQ=YEARLY;COUNT=1", "dtstart": "2026-12-01T09:00:00"},
        {"cron": "0 9 1 12 *"},
    ],
    ids=lambda time: next(iter(time)),
)
def test_b4_a_time_without_a_zone_is_refused(time: dict[str, str]) -> None:
    ((path, message),) = refused(declared(source={"time": time})).items()
    assert path.startswith("spec.source.time.")
    assert "zone" in path + message


def test_ten_faults_in_one_file_are_ten_with_their_lines() -> None:
    text = """\
apiVersion: sereno/v2
kind: Agent
metadata: {name: Triage, labels: {team: "a b"}}
spec:
  owner: marta
  adapter: email
  concurrency: 0
---
apiVersion: sereno/v1
kind: Grant
metadata: {name: g}
spec:
  to: user:marta
  agent: agent:*
  rights: [fly]
  expires: tomorrow
  subscriptions: none
"""
    found = parse(text)
    assert isinstance(found, Faults)
    assert [(fault.line, fault.path.partition(".")[2]) for fault in found] == [
        (1, "apiVersion"),
        (3, "metadata.labels.team"),
        (3, "metadata.name"),
        (5, "spec.owner"),
        (6, "spec.adapter"),
        (7, "spec.concurrency"),
        (14, "spec.agent"),
        (15, "spec.rights[0]"),
        (16, "spec.expires"),
        (17, "spec.subscriptions"),
    ]
