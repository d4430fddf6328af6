"""The explanation: evidence turned into a sentence and its parts; pure, and a missing part is an error."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from sereno.envelope.encode import rfc3339
from sereno.envelope.identifiers import to_people
from sereno.execution_plane.explain.condition import condition_of, evidence_of
from sereno.execution_plane.explain.evidence import Evidence, Incomplete, Row
from sereno.execution_plane.explain.genealogy import genealogy_of
from sereno.execution_plane.explain.holders import delivery_of
from sereno.execution_plane.explain.recomputed import Asked, not_matched
from sereno.execution_plane.explain.suspended import suspension_of, told
from sereno.execution_plane.explain.wording import Wording, of_reason
from sereno.subscriptions.snapshot import CatalogObject

Explanation = dict[str, Any]
_DECISIONS = ("woke", "did not wake")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about the evidence: why it woke, or also why it did not, of one subscription or of all."""

    why_not: bool = False
    subscription: str | None = None


def explain(evidence: Evidence, question: Question) -> Explanation:
    """The explanation as JSON. Raises Incomplete when a part that must have been stored is not there."""
    if evidence.suspension is not None:
        question = replace(question, subscription=evidence.suspension["subscription"])
    decisions = [_decision(evidence, verdict) for verdict in evidence.verdicts if _asked(verdict, question)]
    unmatched = list(_unmatched(evidence, question)) if question.why_not else []
    if question.subscription is not None and not decisions and not unmatched:
        message = f"no subscription {question.subscription} was in force when the event was decided"
        raise LookupError(message if question.why_not else f"{message}; ask with --why-not")
    receipt = evidence.receipt
    return {
        **_named(evidence),
        "tenant": receipt["tenant_id"],
        "sentence": _sentence(evidence, decisions, unmatched),
        "cause": _cause(evidence),
        "genealogy": genealogy_of(receipt, evidence.chain),
        "decisions": decisions,
        "unmatched": unmatched,
    }


def _named(evidence: Evidence) -> dict[str, Any]:
    if evidence.suspension is not None:
        found = suspension_of(evidence.suspension)
        return {"id": found["id"], "kind": "suspension", "suspension": found}
    if evidence.asked is not None:
        return {"id": to_people("msg", evidence.asked), "kind": "message"}
    return {"id": to_people("rcp", evidence.receipt["receiptid"]), "kind": "event"}


def _asked(verdict: Row, question: Question) -> bool:
    return question.subscription in (None, verdict["subscription"])


def _cause(evidence: Evidence) -> dict[str, Any]:
    receipt, envelope = evidence.receipt, evidence.receipt["envelope"]
    earlier = receipt["duplicate_of"]
    return {
        "receipt": to_people("rcp", receipt["receiptid"]),
        **{name: envelope.get(name) for name in ("id", "source", "type", "subject")},
        "origin": receipt["origin"],
        "sender": {name: envelope.get(name) for name in ("trust", "actor", "actorid", "onbehalfof")},
        "occurred": envelope.get("time"),
        "received": rfc3339(receipt["recordedtime"]),
        "decided": rfc3339(receipt["decided_at"]),
        "digest": sha256(orjson.dumps(envelope, option=orjson.OPT_SORT_KEYS)).hexdigest(),
        "evidence": evidence_of(envelope),
        "body_sha256": receipt["body_sha256"],
        "same_body_as": None if earlier is None else to_people("rcp", earlier),
        "due_instant": None if evidence.due_instant is None else rfc3339(evidence.due_instant["instant"]),
        "quarantined": None if evidence.quarantine is None else evidence.quarantine["error"],
    }


def _decision(evidence: Evidence, verdict: Row) -> dict[str, Any]:
    name, version = verdict["subscription"], verdict["subscription_version"]
    declared = evidence.versions.get((name, version))
    if declared is None:
        raise Incomplete(f"version {version} of the subscription {name} is not stored")
    words = _words(verdict)
    return {
        "subscription": name,
        "outcome": verdict["outcome"],
        "guard": verdict["guard"],
        "reason": verdict["reason"],
        "sentence": words.why,
        "contract": _contract(declared),
        "condition": condition_of(declared.spec, evidence.receipt["envelope"]),
        "authority": {
            "owner": declared.spec.get("owner"),
            "created_by": declared.created_by,
            "mode": declared.spec.get("mode"),
            **_policy(verdict),
        },
        "guards": verdict["guards"],
        "clocks": {
            "recorded": rfc3339(verdict["recorded_clock"]),
            "database": rfc3339(verdict["database_clock"]),
        },
        "message": None if verdict["message_id"] is None else to_people("msg", verdict["message_id"]),
        "delivery": _delivery(evidence, verdict),
        "would_have_changed_it": words.would_have_changed,
        "can_be_done_now": words.can_do_now,
    }


def _policy(verdict: Row) -> dict[str, str | None]:
    """By which policy and rule it had the right to wake, as was stored then; nothing where no policy was asked."""
    numbers: Row = next((one["numbers"] for one in verdict["guards"] if one["guard"] == "rights"), {})
    return {name: numbers.get(name) for name in ("policy", "rule", "sponsor")}


def _words(verdict: Row) -> Wording:
    try:
        return of_reason(verdict["reason"], verdict["numbers"], verdict["subscription"])
    except KeyError as fault:
        missing = f"the verdict {verdict['reason']} of {verdict['subscription']} lacks {fault.args[0]}"
        raise Incomplete(missing) from fault


def _contract(declared: CatalogObject) -> dict[str, Any]:
    return {
        "subscription": declared.name,
        "version": declared.version,
        "state": declared.state,
        "agent": declared.spec.get("agent"),
        "instruction": declared.spec.get("instruction"),
        "source": declared.spec.get("source"),
        "limits": declared.spec.get("limits", {}),
        "updated_at": rfc3339(declared.updated_at),
    }


def _delivery(evidence: Evidence, verdict: Row) -> dict[str, Any] | None:
    message = verdict["message_id"]
    if message is None:
        return None
    stored = evidence.messages.get(message)
    if stored is None:
        raise Incomplete(f"the delivered message {to_people('msg', message)} is not stored")
    return delivery_of(stored, evidence.events.get(message, ()))


def _unmatched(evidence: Evidence, question: Question) -> Iterator[dict[str, Any]]:
    decided = {verdict["subscription"] for verdict in evidence.verdicts}
    event = Asked.of(evidence.receipt["envelope"])
    for version in evidence.in_force:
        name = version.object.name
        if name not in decided and question.subscription in (None, name):
            yield not_matched(version, event) | {"not_concerned_that_hour": evidence.filtered.get(name, 0)}


def _sentence(evidence: Evidence, decisions: Sequence[Mapping[str, Any]], unmatched: Sequence[Row]) -> str:
    receipt = evidence.receipt
    if evidence.suspension is not None:
        return f"{told(evidence.suspension)}. It was tripped by {to_people('rcp', receipt['receiptid'])}."
    event = f"{receipt['type']} from {receipt['origin']}, received {_seconds(receipt['recordedtime'])}"
    parts = [_of_decision(decision) for decision in decisions]
    parts += [f"{miss['subscription']} was not concerned: {miss['sentence']}" for miss in unmatched]
    if not parts:
        parts = ["no subscription was concerned, so nobody woke (--why-not tells why, one by one)"]
    return f"{event}: {'; '.join(parts)}."


def _of_decision(decision: Mapping[str, Any]) -> str:
    agent = str(decision["contract"]["agent"])
    did = _DECISIONS[decision["outcome"] != "delivered"]
    return f"{decision['subscription']} {did} {agent}, because {decision['sentence']}"


def _seconds(moment: datetime) -> str:
    return rfc3339(moment.replace(microsecond=0))
