"""What people are told when a message dies."""

from collections.abc import Iterable, Mapping
from typing import Any

from sereno.envelope.identifiers import to_people
from sereno.mailbox.notices import Notice

_SENTENCES = {
    "exhausted": "used up its attempts",
    "rejected": "was rejected by its worker",
    "deadline": "was not finished before it was given up",
}


def notices(rows: Iterable[Mapping[str, Any]]) -> list[Notice]:
    """One notice for each row that died of itself; what a person withdrew tells nobody anything new.

    A row has `tenant_id`, `id`, `agent`, `subscription` and `dead_of` (None: it did not die).
    """
    return [_notice(row) for row in rows if row["dead_of"] in _SENTENCES]


def _notice(row: Mapping[str, Any]) -> Notice:
    message, reason = to_people("msg", row["id"]), row["dead_of"]
    return Notice(
        row["tenant_id"],
        f"dead/{row['subscription']}/{reason}",
        f"Message {message} of subscription {row['subscription']} for {row['agent']} {_SENTENCES[reason]}.",
        {"message": message, "agent": row["agent"], "subscription": row["subscription"], "reason": reason},
    )
