"""The genealogy part of an explanation: the chain from the first event to this one, with the agents that it woke."""

from collections.abc import Mapping, Sequence
from typing import Any

from sereno.envelope.encode import rfc3339
from sereno.envelope.identifiers import to_people
from sereno.execution_plane.explain.evidence import Chain, Incomplete, Row


def genealogy_of(receipt: Row, chain: Chain) -> dict[str, Any]:
    """The three attributes, the first event and every message between. Raises Incomplete when one is not stored."""
    envelope: Mapping[str, Any] = receipt["envelope"]
    told = {name: envelope.get(name) for name in ("correlationid", "causationid", "hops")}
    if told["causationid"] is None:
        return {**told, "root": _event(receipt), "chain": []}
    if chain.root is None:
        raise Incomplete(f"the first event of its chain, {told['correlationid']}, is not stored")
    if not chain.ancestors and chain.candidate is None:
        raise Incomplete(f"its cause, {told['causationid']}, is not stored")
    candidate = None if chain.candidate is None else _event(chain.candidate)
    return {
        **told,
        "root": _event(chain.root),
        "chain": list(map(_ancestor, _whole(chain.ancestors))),
        **({} if candidate is None else {"candidate": candidate}),
    }


def _whole(ancestors: Sequence[Row]) -> list[Row]:
    """The messages in the order of their deposit, none of those that any of them names left out."""
    known = {str(one["id"]) for one in ancestors}
    for one in ancestors:
        for named in one["lineage"]:
            if named["message"] not in known:
                raise Incomplete(f"the message {named['message']} among its causes is not stored")
    return sorted(ancestors, key=lambda one: (one["deposited_at"], one["id"]))


def _ancestor(message: Row) -> dict[str, Any]:
    return {
        "message": to_people("msg", message["id"]),
        "agent": message["agent"],
        "subscription": message["subscription"],
        "deposited": rfc3339(message["deposited_at"]),
        "receipts": [to_people("rcp", receipt) for receipt in message["receipts"]],
    }


def _event(receipt: Row) -> dict[str, Any]:
    return {
        "receipt": to_people("rcp", receipt["receiptid"]),
        "type": receipt["type"],
        "origin": receipt["origin"],
        "received": rfc3339(receipt["recordedtime"]),
    }
