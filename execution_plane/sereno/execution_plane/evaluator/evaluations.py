"""Evaluations: leased to whoever judges, and settled once; an error never wakes and never passes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sereno.envelope.decode import loads_envelope
from sereno.envelope.identifiers import RANDOM_BYTES, to_people, uuid7
from sereno.envelope.types import CONTENT_SUSPICIOUS
from sereno.execution_plane.accounts import usage_log
from sereno.execution_plane.accounts.usage_log import Used
from sereno.execution_plane.guards.changes import Change, Charge, RememberPatience, Suspend
from sereno.execution_plane.guards.condition import criterion_version, met
from sereno.execution_plane.guards.delivery import identity_of
from sereno.execution_plane.guards.judgement import EvaluationError, Judged
from sereno.execution_plane.guards.ledger import Ledger
from sereno.execution_plane.guards.patience import DEFAULT_ERRORS, Patience, tried
from sereno.execution_plane.guards.subscription import Subscription
from sereno.execution_plane.guards.suspension import Suspension, suspension_id
from sereno.execution_plane.guards.usage import cost_of
from sereno.execution_plane.pipeline import commit, guard_changes, guard_state, store
from sereno.execution_plane.pipeline.columns import as_json
from sereno.execution_plane.pipeline.delivery import Clock
from sereno.execution_plane.pipeline.directory import Directory
from sereno.execution_plane.pipeline.resolution import Resolution
from sereno.execution_plane.pipeline.round import Setting
from sereno.execution_plane.platform_events import outgoing, suspicious
from sereno.mailbox import notices
from sereno.mailbox.connection import AnyConnection, AnyPool
from sereno.mailbox.engine import outbox, queries
from sereno.mailbox.notices import Notice
from sereno.subscriptions.rate import Money

LEASE_SECONDS = 60.0
FIRST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 300.0

_SQL = queries.load("sereno.execution_plane.evaluator", "evaluations.sql")

Status = Literal["ok", "stale"]


class Candidate(NamedTuple):
    """What is to be judged, and the token of the lease on it; `envelope` is the event as flat JSON."""

    tenant: str
    receiptid: UUID
    subscription: str
    version: int
    criterion: str
    token: int
    attempts: int
    envelope: dict[str, Any]

    @property
    def items(self) -> dict[str, Any]:
        """The data that evidence has to stand in, by item."""
        return {str(self.envelope["id"]): self.envelope}


async def lease(pool: AnyPool, most: int = 1, seconds: float = LEASE_SECONDS) -> list[Candidate]:
    """Candidates that nobody judges at present."""
    rows = await pool.fetch(_SQL["lease"], most, seconds)
    return [Candidate(*row) for row in rows]


async def settle(
    conn: AnyConnection,
    candidate: Candidate,
    answer: Judged | EvaluationError,
    directory: Directory,
    *,
    usage: dict[str, Any] | None = None,
    made: Mapping[str, Any] = MappingProxyType({}),
    clock: Clock = store.database_clock,
) -> Status:
    """Take an answer, in the caller's transaction; `stale` when the lease is not the candidate's any more.

    `made` says with what: it stands among the numbers of the verdict.

    Only a verdict that fires, as sure as its subscription wants it, leads to an event; that one passes all seven guards.
    """
    key = candidate.tenant, candidate.subscription
    memories = await guard_state.lock_state(conn, {key})
    names = candidate.tenant, candidate.receiptid, candidate.subscription
    row = await conn.fetchrow(_SQL["held"], *names, candidate.token)
    if row is None:
        return "stale"
    policy = directory.subscription(*key)
    at = await clock(conn)
    ledger = Ledger(
        memories=memories,
        suspensions=await guard_state.suspensions(conn, {key}),
        patience=await guard_state.patience(conn, {key}),
    )
    charges = await _charges(conn, policy, usage, at)
    changes = [*charges, *_patience(ledger, candidate, answer, at)]
    ledger.apply(changes)
    done = Resolution(ledger, Setting(at, {}))
    done.changes.add(changes)
    await guard_changes.write_memories(conn, done.changes, ledger)
    await guard_changes.write_budgets(conn, done.changes, at)
    identity = identity_of(at, *map(str, names), str(candidate.token))
    await guard_changes.write_charges(conn, candidate.tenant, identity, charges, at)
    await guard_changes.write_suspensions(conn, done.changes)
    await commit.deposit_messages(conn, done)
    await usage_log.write(conn, "evaluation", _used(candidate, policy, answer, usage, at))
    await _conclude(conn, candidate, policy, answer, at, made=made)
    await commit.tell(conn, done)
    return "ok"


async def hold(
    conn: AnyConnection,
    candidate: Candidate,
    made: Mapping[str, Any],
    clock: Clock = store.database_clock,
) -> Status:
    """Keep a candidate from being judged, in the caller's transaction: it reads like an instruction, and a person decides."""
    names = candidate.tenant, candidate.receiptid, candidate.subscription
    if await conn.fetchrow(_SQL["held"], *names, candidate.token) is None:
        return "stale"
    numbers = {**made, "signs": list(made.get("suspicious", ()))}
    await conn.execute(_SQL["rewrite"], *names, "held", "suspicious", as_json(numbers), await clock(conn))
    await conn.execute(_SQL["done"], *names)
    return "ok"


async def tell_suspicious(
    conn: AnyConnection, candidate: Candidate, directory: Directory, signs: Sequence[str], *, held: bool
) -> None:
    """Let the owner know, and whoever listens to it, each once."""
    at, receipt = await store.database_clock(conn), to_people("rcp", candidate.receiptid)
    what = "was held" if held else "was judged all the same"
    text = f"{receipt} reads like an instruction to a model ({', '.join(signs)}) and {what}"
    cause = f"suspicious/{candidate.subscription}/{'held' if held else 'judged'}"
    await notices.record(
        conn, [Notice(candidate.tenant, cause, text, {"receipt": receipt, "signs": list(signs)})]
    )
    if directory.index.hears(candidate.tenant, CONTENT_SUSPICIOUS):
        event = suspicious(
            tenant=candidate.tenant,
            subscription=candidate.subscription,
            receipt=receipt,
            signs=signs,
            held=held,
            at=at,
        )
        await outbox.append(conn, commit.PLANE, outgoing([event]))


async def _charges(
    conn: AnyConnection, policy: Subscription | None, usage: dict[str, Any] | None, at: datetime
) -> list[Charge]:
    """What the evaluation itself cost counts on the budgets of its subscription."""
    if policy is None or policy.budgets is None:
        return []
    entries = policy.budgets.entries(at)
    cost = _cost(usage, next((e.limit.measure for e in entries if e.limit.is_money), None))
    charged = [
        Charge(entry.account, money.amount)
        for money in cost
        for entry in entries
        if entry.limit.measure == money.currency
    ]
    await guard_state.lock_budgets(conn, {one.account for one in charged})
    return charged


def _cost(usage: dict[str, Any] | None, currency: str | None) -> tuple[Money, ...]:
    try:
        return cost_of(usage, currency)
    except ValueError:
        return ()


def _patience(
    ledger: Ledger, candidate: Candidate, answer: Judged | EvaluationError, at: datetime
) -> list[Change]:
    key = candidate.tenant, candidate.subscription
    after = tried(ledger.patience.get(key, Patience()), answer, candidate.envelope.get("data"))
    changes: list[Change] = [RememberPatience(key, after.patience)]
    if after.suspends is not None and not ledger.suspensions.get(key):
        receipt = str(candidate.receiptid)
        identity = suspension_id(at, *key, after.suspends, receipt)
        numbers = {"count": after.tries, "limit": after.limit}
        changes.append(Suspend(Suspension(identity, *key, after.suspends, at, receipt, numbers)))
    return changes


def _used(
    candidate: Candidate,
    policy: Subscription | None,
    answer: Judged | EvaluationError,
    usage: dict[str, Any] | None,
    at: datetime,
) -> list[Used]:
    outcome = answer.kind if isinstance(answer, EvaluationError) else "fires" if answer.fires else "not_met"
    model = None if usage is None else usage.get("model")
    costs: Sequence[Money | None] = _cost(usage, None) or (None,)
    return [
        Used(
            candidate.tenant,
            f"{candidate.receiptid}/{candidate.subscription}/{candidate.token}",
            "" if money is None else money.currency,
            at,
            candidate.subscription,
            "" if policy is None else policy.agent,
            model if isinstance(model, str) else None,
            outcome,
            None if money is None else Decimal(money.amount),
            None,
        )
        for money in costs
    ]


@dataclass(frozen=True, slots=True)
class _End:
    outcome: str
    reason: str
    numbers: dict[str, Any]


async def _conclude(
    conn: AnyConnection,
    candidate: Candidate,
    policy: Subscription | None,
    answer: Judged | EvaluationError,
    at: datetime,
    *,
    made: Mapping[str, Any],
) -> None:
    """Let the verdict row of the candidate say what became of it, or try again after an error."""
    names = candidate.tenant, candidate.receiptid, candidate.subscription
    if isinstance(answer, EvaluationError) and candidate.attempts < DEFAULT_ERRORS and policy is not None:
        seconds = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** (candidate.attempts - 1))
        await conn.execute(_SQL["try_again"], *names, seconds, f"{answer.kind}: {answer.detail}")
        return
    end = await _end(conn, candidate, policy, answer, at)
    await conn.execute(_SQL["rewrite"], *names, end.outcome, end.reason, as_json({**made, **end.numbers}), at)
    await conn.execute(_SQL["done"], *names)


async def _end(
    conn: AnyConnection,
    candidate: Candidate,
    policy: Subscription | None,
    answer: Judged | EvaluationError,
    at: datetime,
) -> _End:
    if isinstance(answer, EvaluationError):
        return _End("error", answer.kind, {"fault": answer.detail, "attempts": candidate.attempts})
    numbers: dict[str, Any] = {"fires": answer.fires, "confidence": answer.confidence, "calibrated": False}
    if policy is None or policy.condition is None:
        return _End("dropped", "not_met", {**numbers, "min_confidence": None, "withdrawn": True})
    numbers["min_confidence"] = policy.condition.min_confidence
    if not answer.fires or answer.confidence < policy.condition.min_confidence:
        return _End("dropped", "not_met", numbers)
    receipt = await _met(conn, candidate, policy, answer, at)
    return _End("awaiting_verdict", "condition_met", {**numbers, "event": receipt})


async def _met(
    conn: AnyConnection, candidate: Candidate, policy: Subscription, judged: Judged, at: datetime
) -> str:
    """Let the event of the verdict enter the ingress; the same verdict is the same receipt."""
    if policy.condition is None:
        raise AssertionError("only a condition is met")
    version = criterion_version(policy.condition)
    digest = sha256(
        f"met\0{policy.tenant}\0{policy.name}\0{version}\0{candidate.receiptid}".encode()
    ).digest()
    receipt = str(uuid7(max(0, int(at.timestamp() * 1000)), digest[:RANDOM_BYTES]))
    envelope = loads_envelope(candidate.envelope)
    event = met(envelope, candidate.envelope, policy, judged, receiptid=receipt, now=at)
    await outbox.append(conn, commit.PLANE, outgoing([event]))
    return receipt
