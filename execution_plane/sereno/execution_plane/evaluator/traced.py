"""The spans of judgements: one for each candidate below its first pass through the guards, its calls below the first of them."""

from collections.abc import Mapping
from typing import Any

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.evaluator.evaluations import Candidate
from sereno.execution_plane.guards.judgement import EvaluationError, Judged
from sereno.execution_plane.pipeline.traced import activation_at
from sereno.mailbox.engine import semantics as names
from sereno.mailbox.engine import tracing


def begun(candidate: Candidate) -> Candidate:
    """The candidate with the place of its judgement, if its trace is kept."""
    above = _above(candidate)
    return candidate if above is None else candidate._replace(traceparent=tracing.child(above))


def _above(candidate: Candidate) -> str | None:
    event = candidate.envelope.get("traceparent")
    if not tracing.kept(event):
        return None
    return activation_at(event, str(candidate.receiptid), candidate.subscription)


def judged(
    candidate: Candidate, answer: Judged | EvaluationError | None, began: int, about: Mapping[str, Any]
) -> None:
    """Write down a judgement that was settled; without an answer the content was held."""
    if candidate.traceparent is None:
        return
    error = answer.kind if isinstance(answer, EvaluationError) else None
    said = _said(answer) if isinstance(answer, Judged) else {}
    of = {
        names.TENANT: candidate.tenant,
        names.SUBSCRIPTION: candidate.subscription,
        names.RECEIPT: to_people("rcp", candidate.receiptid),
        names.ATTEMPT: candidate.attempts,
    }
    # The calls of a group stand below its first judgement.
    first = tracing.caller()
    tracing.record(
        names.EVALUATE,
        candidate.traceparent,
        _above(candidate),
        began,
        attributes={**of, **said, **about},
        links=() if first is None or first == candidate.traceparent else (first,),
        error=error,
    )


def _said(answer: Judged) -> dict[str, Any]:
    return {names.FIRES: answer.fires, names.CONFIDENCE: answer.confidence}
