"""What `sereno doctor` says of the metrics: the worst of each, and what to do when that is wrong."""

import pytest

from sereno.deploy import facts
from sereno.mailbox.engine.instruments import METRICS

PAGES = (
    """\
# TYPE sereno_manifest_age_seconds gauge
sereno_manifest_age_seconds{otel_scope_name="sereno",tenant="acme"} 20.0
sereno_manifest_age_seconds{otel_scope_name="sereno",tenant="other"} 900.0
# TYPE sereno_build_info gauge
sereno_build_info{version="0.0.1"} 1.0
""",
    """\
# TYPE sereno_manifest_validity_seconds gauge
sereno_manifest_validity_seconds{tenant="acme"} 86000.0
sereno_manifest_validity_seconds{tenant="other"} 60.0
# TYPE sereno_mailbox_oldest_ready_seconds gauge
sereno_mailbox_oldest_ready_seconds{tenant="acme"} 12.0
""",
)


def found() -> dict[str, tuple[bool, str, str]]:
    return {one.check: (one.fine, one.found, one.advice) for one in facts.findings(facts.samples(PAGES))}


def test_the_worst_is_told_with_its_tenant_and_what_to_do() -> None:
    said = found()
    assert said["snapshot"] == (
        False,
        "15.0 min (other)",
        "is the control plane away? see 'sereno logs control'",
    )
    assert said["snapshot is valid for"][:2] == (False, "60.0 s (other)")
    assert said["oldest ready message"] == (True, "12.0 s (acme)", "")


def test_what_nobody_shows_is_said_too() -> None:
    assert found()["audit chain"] == (True, "nothing is shown of it", "")


def test_another_version_that_runs_is_told() -> None:
    told = facts.versions(facts.samples(PAGES))
    assert not told.fine
    assert "0.0.1 runs" in told.found
    assert facts.versions({}).fine


@pytest.mark.parametrize(("ahead", "fine"), [(0.01, True), (-0.4, True), (3.0, False), (-3.0, False)])
def test_clocks_that_disagree_are_told(ahead: float, fine: bool) -> None:
    told = facts.clock(ahead)
    assert told.fine is fine
    assert bool(told.advice) is not fine
    assert ("ahead" in told.found) is (ahead > 0)


def test_a_disk_that_is_nearly_full_is_told() -> None:
    assert facts.disk("/data", 5 << 30, 10 << 30).fine
    told = facts.disk("/data", 100 << 20, 10 << 30)
    assert not told.fine
    assert "100 MiB" in told.found


def test_every_fact_is_of_a_declared_gauge() -> None:
    assert {METRICS[fact.metric].kind for fact in facts.FACTS} == {"gauge"}
