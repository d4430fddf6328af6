"""What judging is measured by: calls, verdicts, tokens, cost, time."""

from collections import Counter

from sereno.execution_plane.evaluator.evaluation import Evaluated
from sereno.execution_plane.guards.judgement import EvaluationError, Judged
from sereno.mailbox.engine.telemetry import counter, histogram

_calls = counter("sereno.evaluator.calls")
_verdicts = counter("sereno.evaluator.verdicts")
_tokens = counter("sereno.evaluator.tokens")
_cost = counter("sereno.evaluator.cost")
_duration = histogram("sereno.evaluator.duration")


def judged(tenant: str, done: Evaluated, seconds: float) -> None:
    """Count what a group of candidates of one tenant took."""
    _duration.record(seconds)
    answered = sum(used.calls for used in done.usage)
    for outcome, count in (("answered", answered), ("failed", len(done.egress) - answered)):
        _calls.add(count, {"tenant": tenant, "outcome": outcome})
    for outcome, count in Counter(map(_outcome, done.answers.values())).items():
        _verdicts.add(count, {"tenant": tenant, "outcome": outcome})
    for used in done.usage:
        _tokens.add(used.input_tokens, {"tenant": tenant, "direction": "input"})
        _tokens.add(used.output_tokens, {"tenant": tenant, "direction": "output"})
        _cost.add(float(used.cost), {"tenant": tenant, "currency": used.currency})


def _outcome(answer: Judged | EvaluationError) -> str:
    if isinstance(answer, EvaluationError):
        return answer.kind
    return "fires" if answer.fires else "not_met"
