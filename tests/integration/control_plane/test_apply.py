"""Apply on a real database: all or nothing, the same twice is once, and nothing is half-applied."""

from collections.abc import Sequence

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane.applying import Applied
from sereno.control_plane.bootstrapping import bootstrap
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.decider import fold
from sereno.control_plane.catalog.item import Address
from sereno.control_plane.catalog.refusal import Refusal, Refusals
from sereno.control_plane.minting import utc_now
from sereno.control_plane.operating import Operated, Verb, operate
from sereno.control_plane.rebuilding import rebuild
from sereno.control_plane.store import projection
from sereno.control_plane.store.event_store import StreamId, read_streams
from sereno.subscriptions.faults import Faults
from tests.control_documents import AGENT, ALL, ENDPOINT, several, subscription
from tests.integration.control_plane.conftest import Apply, Outcome

WATCH = Address("default", "Subscription", "refund-watch")


def changes(outcome: Outcome) -> list[tuple[str, str, int, str]]:
    assert isinstance(outcome, Applied), outcome
    return [
        (step.after.address.name, step.change, step.after.version, step.after.state.value)
        for step in outcome.steps
    ]


def refusals(outcome: Outcome) -> Sequence[Refusal]:
    assert isinstance(outcome, Refusals), outcome
    return outcome.items


async def counts(engine: AsyncEngine) -> tuple[int, int, int, int]:
    """Events, objects, outbox rows and the manifest version of the default tenant; the administrator is not counted."""
    async with engine.connect() as connection:
        row = await connection.execute(
            text(
                "select (select count(*) from control.event where tenant_id <> '*'),"
                " (select count(*) from control.catalog_object where tenant_id <> '*'),"
                " (select count(*) from control.outbox),"
                " (select version from control.manifest_head where tenant_id = 'default')"
            )
        )
        events, objects, rows, version = row.one()
        return events, objects, rows, version


async def move(engine: AsyncEngine, verb: Verb, reason: str = "tests") -> Operated | Refusal:
    return await operate(engine, WATCH, verb, by=Caller("user:admin"), reason=reason, at=utc_now())


@pytest.mark.req(8, 69, 71, 75)
async def test_creates_everything_in_one_transaction(applying: Apply, engine: AsyncEngine) -> None:
    applied = await applying(ALL)
    assert changes(applied) == [
        ("triage", "created", 1, "active"),
        ("zendesk", "created", 1, "active"),
        ("refund-watch", "created", 1, "active"),
    ]
    assert isinstance(applied, Applied)
    assert list(applied.tokens) == [Address("default", "Endpoint", "zendesk")]
    assert applied.manifests == {"default": 2}
    assert await counts(engine) == (3, 3, 1, 2)
    async with engine.connect() as connection:
        item = await projection.one(connection, WATCH)
    assert item is not None
    assert item.created_by == "user:admin"
    assert item.spec["owner"] == "user:marta"


async def test_the_same_again_changes_nothing(applying: Apply, engine: AsyncEngine) -> None:
    first = await applying(ALL)
    before = await counts(engine)
    second = await applying(ALL)
    assert [change for _, change, _, _ in changes(second)] == ["unchanged"] * 3
    assert await counts(engine) == before
    assert isinstance(first, Applied)
    assert isinstance(second, Applied)
    assert first.tokens == second.tokens, "an endpoint keeps its URL"


async def test_a_dry_run_answers_and_changes_nothing(applying: Apply, engine: AsyncEngine) -> None:
    before = await counts(engine)
    assert changes(await applying(ALL, dry_run=True)) == changes(await applying(ALL))
    assert before == (0, 0, 0, 1)


async def test_three_faults_are_all_reported_and_nothing_is_applied(
    applying: Apply, engine: AsyncEngine
) -> None:
    before = await counts(engine)
    outcome = await applying(
        several(
            AGENT,
            ENDPOINT.replace("github", "carrier-pigeon"),
            subscription(metadata=", tennant: x").replace("user:marta", "nobody"),
        )
    )
    assert isinstance(outcome, Faults)
    assert [(fault.path, fault.line) for fault in outcome] == [
        ("documents[1].spec.scheme", 9),
        ("documents[2].metadata.tennant", 13),
        ("documents[2].spec.owner", 15),
    ]
    assert await counts(engine) == before


async def test_what_is_not_declared_is_named_with_what_to_declare(
    applying: Apply, engine: AsyncEngine
) -> None:
    outcome = await applying(several(AGENT, subscription(agent="ghost", metadata=", tenant: acme")))
    assert isinstance(outcome, Faults)
    said = {fault.path: fault.message for fault in outcome}
    assert said == {
        "documents[1].metadata.tenant": "tenant acme is not declared; declare kind: Tenant with metadata.name: acme",
        "documents[1].spec.agent": "agent ghost is not declared in tenant acme;"
        " declare kind: Agent with metadata.name: ghost",
        "documents[1].spec.source.webhook.endpoint": "endpoint zendesk is not declared in tenant acme;"
        " declare kind: Endpoint with metadata.name: zendesk",
    }
    assert (await counts(engine))[:3] == (0, 0, 0)


async def test_an_edit_makes_a_version_and_keeps_the_id(applying: Apply) -> None:
    created = await applying(ALL)
    edited = await applying(several(subscription(instruction="Say hello.")))
    assert changes(edited) == [("refund-watch", "updated", 2, "active")]
    assert isinstance(created, Applied)
    assert isinstance(edited, Applied)
    assert edited.steps[0].after.id == created.steps[2].after.id


async def test_a_written_version_must_be_the_current_one(applying: Apply, engine: AsyncEngine) -> None:
    await applying(ALL)
    before = await counts(engine)
    outcome = await applying(
        several(
            AGENT.replace("exec", "pull"),
            subscription(instruction="Say hello.", metadata=", version: 7"),
        )
    )
    [refusal] = refusals(outcome)
    assert (refusal.code, refusal.current_version) == ("version_conflict", 1)
    assert await counts(engine) == before, "the agent beside it was not changed either"
    right = await applying(subscription(instruction="Say hello.", metadata=", version: 1"))
    assert changes(right) == [("refund-watch", "updated", 2, "active")]


async def test_pause_resume_and_delete_leave_the_text_alone(applying: Apply, engine: AsyncEngine) -> None:
    await applying(ALL)
    paused, again, resumed = [await move(engine, verb) for verb in ("pause", "pause", "resume")]
    assert isinstance(paused, Operated)
    assert (paused.item.state, paused.item.version, paused.item.revision) == ("paused", 1, 2)
    assert isinstance(again, Refusal)
    assert again.code == "not_allowed"
    assert isinstance(resumed, Operated)
    assert resumed.item.state == "active"
    assert resumed.manifest == paused.manifest + 1


async def test_an_edit_of_a_paused_subscription_leaves_it_paused(
    applying: Apply, engine: AsyncEngine
) -> None:
    await applying(ALL)
    await move(engine, "pause")
    assert changes(await applying(subscription(instruction="Other."))) == [
        ("refund-watch", "updated", 2, "paused")
    ]


async def test_a_deleted_name_yields_only_to_a_revival(applying: Apply, engine: AsyncEngine) -> None:
    created = await applying(ALL)
    await move(engine, "delete")
    [refusal] = refusals(await applying(ALL))
    assert refusal.code == "deleted"
    assert "--revive" in refusal.message
    revived = await applying(ALL, revive=True, reason="needed again")
    assert changes(revived)[2] == ("refund-watch", "created", 2, "active")
    assert isinstance(created, Applied)
    assert isinstance(revived, Applied)
    assert revived.steps[2].after.id == created.steps[2].after.id, "its history goes on"


async def test_prune_deletes_only_what_carries_the_label_and_is_not_declared(
    applying: Apply, engine: AsyncEngine
) -> None:
    await applying(
        several(ALL, subscription("second"), AGENT.replace("triage", "other").replace("support", "ops"))
    )
    kept = several(AGENT, ENDPOINT, subscription())
    assert [name for name, *_ in changes(await applying(kept))] == ["triage", "zendesk", "refund-watch"]
    pruned = changes(await applying(kept, prune="team=support"))
    assert pruned[3:] == [("second", "deleted", 1, "deleted")]
    async with engine.connect() as connection:
        names = [item.address.name for item in await projection.live(connection, "default")]
    assert names == ["other", "triage", "zendesk", "refund-watch"]


async def test_prune_refuses_to_take_what_others_use(applying: Apply, engine: AsyncEngine) -> None:
    await applying(several(AGENT, ENDPOINT, subscription().replace("team: support", "team: other")))
    before = await counts(engine)
    [refusal] = refusals(await applying(ENDPOINT, prune="team=support"))
    assert refusal.code == "in_use"
    assert "refund-watch" in refusal.message
    assert await counts(engine) == before


async def test_a_pruned_endpoint_loses_its_url_and_a_revived_one_gets_another(applying: Apply) -> None:
    first = await applying(several(AGENT, ENDPOINT))
    await applying(AGENT, prune="team")
    [refusal] = refusals(await applying(ENDPOINT))
    assert refusal.code == "deleted"
    second = await applying(ENDPOINT, revive=True, reason="back")
    assert isinstance(first, Applied)
    assert isinstance(second, Applied)
    [old], [new] = first.tokens.values(), second.tokens.values()
    assert old != new


async def test_tenants_are_apart(applying: Apply, engine: AsyncEngine) -> None:
    acme = "apiVersion: sereno/v1\nkind: Tenant\nmetadata: {name: acme}\nspec: {zone: Europe/Madrid}\n"
    ours = AGENT.replace("labels", "tenant: acme, labels")
    applied = await applying(several(acme, ours))
    assert changes(applied) == [("acme", "created", 1, "active"), ("triage", "created", 1, "active")]
    async with engine.connect() as connection:
        assert await projection.live(connection, "default") == []
        assert len(await projection.live(connection, "acme")) == 2


@pytest.mark.req(306)
async def test_the_catalog_is_derived_again_from_its_events(applying: Apply, engine: AsyncEngine) -> None:
    await bootstrap(engine, "ab" * 32)
    await applying(several(ALL, subscription("second")))
    await move(engine, "pause")
    assert await rebuild(engine) == []
    async with engine.begin() as connection:
        await connection.execute(
            text("update control.catalog_object set state = 'active' where name = 'refund-watch'")
        )
        await connection.execute(text("delete from control.catalog_object where name = 'second'"))
    found = [(one.address.name, one.fields) for one in await rebuild(engine, check=True)]
    assert found == [("refund-watch", ("state",)), ("second", ("missing",))]
    assert len(await rebuild(engine)) == 2
    assert await rebuild(engine) == []


async def test_the_projection_is_what_the_events_make(applying: Apply, engine: AsyncEngine) -> None:
    await bootstrap(engine, "ab" * 32)
    await applying(several(ALL, subscription("second"), subscription("third")))
    await applying(several(subscription(instruction="Other."), AGENT.replace("exec", "pull")))
    await move(engine, "pause")
    await applying(several(AGENT, ENDPOINT, subscription("second")), prune="team=support")
    await applying(subscription("third"), revive=True, reason="back")
    async with engine.connect() as connection:
        rows = await connection.execute(text("select tenant_id, kind, name from control.catalog_object"))
        addresses = [Address(*row) for row in rows]
        streams = {StreamId(address.tenant, address.stream): address for address in addresses}
        events = await read_streams(connection, list(streams))
        folded = {address: fold(address, events[stream]) for stream, address in streams.items()}
        stored = {address: await projection.one(connection, address) for address in addresses}
        count = await connection.execute(
            text("select count(distinct (tenant_id, stream)) from control.event")
        )
        assert len(addresses) == count.scalar_one() == 7
    assert folded == stored
