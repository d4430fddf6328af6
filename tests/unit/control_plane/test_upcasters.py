"""Every version of every type of event that was ever stored can still be read; golden files keep it so."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sereno.control_plane.catalog import subscription
from sereno.control_plane.catalog.approval import evolve
from sereno.control_plane.catalog.decider import fold
from sereno.control_plane.catalog.event import NewEvent, record
from sereno.control_plane.catalog.item import Address, Kind
from sereno.control_plane.store.upcasters import CURRENT_VERSIONS, UPCASTERS, UnknownEventError, upcast
from tests.unit.control_plane.scenario import T0

FOLDER = Path(__file__).parents[2] / "cases" / "events"
GOLDEN = sorted(FOLDER.glob("*.json"))
# Approvals, answers and stops are no objects of the catalog.
CATALOG = [path for path in GOLDEN if not path.stem.startswith(("approval.", "answer.", "stop."))]
KINDS: dict[str, Kind] = {
    "tenant": "Tenant",
    "agent": "Agent",
    "endpoint": "Endpoint",
    "connector": "Connector",
    "token": "Token",
    "principal": "Principal",
    "grant": "Grant",
    "policy": "Policy",
    "subscription": "Subscription",
}
BIRTHS = ("declared", "issued", "created")


def golden(name: str) -> Mapping[str, Any]:
    return json.loads((FOLDER / name).read_text())  # type: ignore[no-any-return]


def expected_files(current: Mapping[str, int]) -> set[str]:
    return {f"{kind}.v{version}.json" for kind, newest in current.items() for version in range(1, newest + 1)}


def test_every_version_of_every_type_has_a_golden_file_and_none_is_left_over() -> None:
    assert {path.name for path in GOLDEN} == expected_files(CURRENT_VERSIONS)


def test_a_type_or_version_without_a_golden_file_is_noticed() -> None:
    present = {path.name for path in GOLDEN}
    assert expected_files({**CURRENT_VERSIONS, "agent.renamed": 1}) - present == {"agent.renamed.v1.json"}
    assert expected_files({**CURRENT_VERSIONS, "agent.edited": 2}) - present == {"agent.edited.v2.json"}


def test_every_step_between_versions_has_an_upcaster() -> None:
    steps = {(kind, step) for kind, newest in CURRENT_VERSIONS.items() for step in range(1, newest)}
    assert steps == UPCASTERS.keys()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_reads_as_the_golden_file_says(path: Path) -> None:
    stored = golden(path.name)
    assert path.stem == f"{stored['type']}.v{stored['schema_version']}"
    assert upcast(stored["type"], stored["schema_version"], stored["data"]) == stored["read_as"]


@pytest.mark.parametrize("path", CATALOG, ids=lambda path: path.stem)
def test_the_deciders_understand_what_is_read(path: Path) -> None:
    stored = golden(path.name)
    family, _, step = stored["type"].partition(".")
    birth = next(known for known in CURRENT_VERSIONS if known in {f"{family}.{birth}" for birth in BIRTHS})
    past = [] if step in BIRTHS else [NewEvent(birth, golden(f"{birth}.v1.json")["read_as"])]
    events = record(
        [*past, NewEvent(stored["type"], stored["read_as"])],
        tenant="acme",
        stream=f"{family}/x",
        revision=0,
        actor="user:marta",
        reason=None,
        recorded=T0,
    )
    item = fold(Address("acme", KINDS[family], "x"), events)
    assert item is not None
    assert item.revision == len(events)


def test_lifts_step_by_step_to_the_newest_version() -> None:
    upcasters = {
        ("agent.edited", 1): lambda data: {**data, "two": 2},
        ("agent.edited", 2): lambda data: {**data, "three": data["two"] + 1},
    }
    current = {"agent.edited": 3}
    lifted = {
        version: upcast("agent.edited", version, {"two": 2}, current=current, upcasters=upcasters)
        for version in (1, 2, 3)
    }
    assert lifted == {1: {"two": 2, "three": 3}, 2: {"two": 2, "three": 3}, 3: {"two": 2}}


@pytest.mark.parametrize(
    ("kind", "version"), [("agent.renamed", 1), ("agent.edited", 99), ("agent.edited", 0)]
)
def test_what_a_newer_release_wrote_is_a_fault(kind: str, version: int) -> None:
    with pytest.raises(UnknownEventError, match=kind):
        upcast(kind, version, {})


def test_every_type_of_the_life_cycle_is_known() -> None:
    assert set(subscription.EVENT_TYPES.values()) == {
        kind for kind in CURRENT_VERSIONS if kind.startswith("subscription.")
    }


def test_approvals_understand_what_is_read() -> None:
    steps = ("requested", "confirmed", "approved", "denied", "superseded")
    for last in steps[1:]:
        approval = None
        kinds = [f"approval.{step}" for step in ("requested", last)]
        events = [NewEvent(kind, golden(f"{kind}.v1.json")["read_as"]) for kind in kinds]
        stored = record(
            events, tenant="acme", stream="approval/x", revision=0, actor="user:x", reason=None, recorded=T0
        )
        for event in stored:
            approval = evolve(approval, "acme", event)
        assert approval is not None
        assert approval.state == ("pending" if last == "confirmed" else last)
