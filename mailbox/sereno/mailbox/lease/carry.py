"""The state of a work as one event of the log keeps it, before the days that led to it are dropped."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sereno.mailbox.lease.transitions import State
from sereno.mailbox.lease.work import Terms, Work

_TIMES = ("ready_at", "until", "hard_deadline", "give_up_at", "still_since")
_PLAIN = ("attempts", "token", "ended", "cancel", "withdrawn", "reason")


def dumps(work: Work) -> dict[str, Any]:
    """The work as JSON; times in ISO 8601, spans in seconds."""
    times = {name: getattr(work, name) for name in _TIMES}
    return {
        "terms": {
            "max_attempts": work.terms.max_attempts,
            "lease": work.terms.lease.total_seconds(),
            "max_run": work.terms.max_run.total_seconds(),
            "max_age": work.terms.max_age.total_seconds(),
        },
        "state": str(work.state),
        "granted": None if work.granted is None else work.granted.total_seconds(),
        "held_by": sorted(work.held_by),
        **{name: None if at is None else at.isoformat() for name, at in times.items()},
        **{name: getattr(work, name) for name in _PLAIN},
    }


def loads(data: Mapping[str, Any]) -> Work:
    """The same read back."""
    terms = data["terms"]
    times: dict[str, Any] = {
        name: None if data[name] is None else datetime.fromisoformat(data[name]) for name in _TIMES
    }
    return Work(
        terms=Terms(
            terms["max_attempts"],
            *(timedelta(seconds=terms[name]) for name in ("lease", "max_run", "max_age")),
        ),
        state=State(data["state"]),
        granted=None if data["granted"] is None else timedelta(seconds=data["granted"]),
        held_by=frozenset(data["held_by"]),
        **times,
        **{name: data[name] for name in _PLAIN},
    )
