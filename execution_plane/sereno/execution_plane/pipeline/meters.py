"""What the pipeline measures: what became of events, what each guard said, and how long it took."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from operator import itemgetter

from sereno.execution_plane.guards.verdict import GUARD_NAMES
from sereno.execution_plane.pipeline.round import Decided
from sereno.mailbox.engine.telemetry import counter, histogram, spread
from sereno.mailbox.message import Message

_OTHER = "other"
_FAMILIES = frozenset({"webhook", "time", "calendar", "platform", "mcp", "agent"})
_answer_of = itemgetter(1)
_decisions = counter("sereno.decisions")
_verdicts = counter("sereno.guard.verdicts")
_objections = counter("sereno.guard.objections")
_deposits = counter("sereno.mailbox.deposits")
_lag = spread("sereno.ingress.lag")
_duration = histogram("sereno.pipeline.duration")


def settled(decided: Sequence[Decided], seconds: float) -> None:
    """Count one batch that is committed and acknowledged, and took so many seconds."""
    _duration.record(seconds)
    now = datetime.now(UTC)
    decisions: Counter[tuple[str, str, str, str]] = Counter()
    objections: Counter[tuple[str, str, str]] = Counter()
    answers: Counter[tuple[str, ...]] = Counter()
    for item in decided:
        envelope = item.arrival.envelope
        tenant, family = envelope.tenantid, family_of(envelope.origin)
        _lag.add((now - envelope.recordedtime).total_seconds())
        for passage in item.passages:
            outcome, guard, reason = passage.decided[:3]
            decisions[tenant, family, guard, outcome] += 1
            answers[tuple(map(_answer_of, passage.verdicts))] += 1
            if outcome != "delivered":
                objections[tenant, guard, reason] += 1
    _add(decisions, objections, answers)


def _add(
    decisions: Counter[tuple[str, str, str, str]],
    objections: Counter[tuple[str, str, str]],
    answers: Counter[tuple[str, ...]],
) -> None:
    for (tenant, family, guard, outcome), count in decisions.items():
        labels = {"tenant": tenant, "family": family, "guard": guard, "outcome": outcome}
        _decisions.add(count, labels)
    for (tenant, guard, reason), count in objections.items():
        _objections.add(count, {"tenant": tenant, "guard": guard, "reason": reason})
    for said, count in answers.items():
        # What came to no guard has no verdicts.
        for guard, answer in zip(GUARD_NAMES, said, strict=False):
            _verdicts.add(count, {"guard": guard, "answer": answer})


def deposited(messages: Iterable[Message]) -> None:
    """Count messages whose deposit is committed."""
    counts = Counter((one.tenant, family_of(str(one.envelopes[0]["origin"]))) for one in messages)
    for (tenant, family), count in counts.items():
        _deposits.add(count, {"tenant": tenant, "family": family})


def family_of(origin: str) -> str:
    """Through which kind of source an event came, by its `origin` (contract, part 1)."""
    family = origin.partition("/")[0]
    return family if family in _FAMILIES else _OTHER
