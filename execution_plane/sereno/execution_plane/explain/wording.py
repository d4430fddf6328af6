"""The words of an explanation: for each reason why, what would have changed it, and what can be done now."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from sereno.envelope.identifiers import to_people
from sereno.execution_plane.guards.judgement import ErrorKind

Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wording:
    """Three sentences about one decision."""

    why: str
    would_have_changed: str
    can_do_now: str


def of_reason(reason: str, numbers: Numbers, subscription: str) -> Wording:
    """The words for a stored reason with its numbers; raises KeyError for a reason or number nobody wrote."""
    return _WORDS[reason](numbers, subscription)


def _delivered(numbers: Numbers, subscription: str) -> Wording:
    message = to_people("msg", numbers["message"])
    return Wording(
        f"all seven guards let it pass and it became message {message}",
        f"a filter or limit of {subscription} that says no, or its pause before the event",
        f"sereno mailbox list shows where {message} stands",
    )


def _duplicate(numbers: Numbers, _subscription: str) -> Wording:
    first, became = to_people("rcp", numbers["of"]), numbers["became"]
    message = "" if numbers["message"] is None else f" as {to_people('msg', numbers['message'])}"
    what = "signed body" if numbers["by"] == "body" else f"occurrence {numbers['key']}"
    return Wording(
        f"the same {what} had come before as {first}, which was {became}{message}",
        f"another event id and body, or an arrival after {numbers['window_ends']}",
        f"sereno explain {first}",
    )


def _self_origin(numbers: Numbers, _subscription: str) -> Wording:
    return Wording(
        f"the agent itself is its actor ({numbers['actor']})",
        "an actor that is not among the agent's identities",
        "nothing: an agent does not wake itself",
    )


def _cycle(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"its causes already woke this agent: {' → '.join(numbers['path'])}",
        f"limits.reentry of at least {numbers['same_agent']} (it is {numbers['reentry']})",
        f"raise limits.reentry of {subscription} if the loop is wanted",
    )


def _too_deep(numbers: Numbers, _subscription: str) -> Wording:
    return Wording(
        f"its chain has {numbers['hops']} steps and {numbers['ancestors']} ancestors",
        f"a chain of at most {numbers['max_hops']} steps",
        "look at the chain's first event and break the loop there",
    )


def _not_active(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"{subscription} was {numbers['state']}, not active",
        "an active subscription when the event came",
        f"sereno sub resume {subscription}, then let the sender deliver it again",
    )


def _expired(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"{subscription} had expired at {numbers['expires']}",
        "a later limits.expires",
        f"apply {subscription} with a later limits.expires",
    )


def _policy_expired(numbers: Numbers, _subscription: str) -> Wording:
    return Wording(
        f"the last manifest of the control plane was valid until {numbers['policy_valid_until']}",
        "a control plane that renewed its manifest before then",
        "start the control plane; what is held re-enters when a new manifest arrives",
    )


def _sender_unverified(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"{subscription} demands a verified sender and this one is {numbers['trust']}",
        "a sender that the platform knows, or sender: any",
        f"apply {subscription} with sender: any, or make the sender known",
    )


def _cooldown(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"it came {numbers['since_last_seconds']:g} s after the last wake-up, inside the cooldown"
        f" of {numbers['every_seconds']:g} s",
        f"an arrival at or after {numbers['ends']}, or a shorter limits.cooldown.every",
        f"wait until {numbers['ends']}, or shorten the cooldown of {subscription}",
    )


def _stopped(numbers: Numbers, _subscription: str) -> Wording:
    return Wording(
        f"the stop of {numbers['scope']} held it",
        "a delivery before the stop was engaged",
        "lift the stop: what it held is delivered then",
    )


def _misfire(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"its instant passed while {_holding(numbers)} held it, and misfire is {numbers['misfire']}",
        "misfire: all",
        f"nothing: the next instant of {subscription} comes by itself",
    )


def _holding(numbers: Numbers) -> str:
    scope = numbers["scope"]
    return f"its suspension ({numbers['cause']})" if scope is None else f"the stop of {scope}"


def _error(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"it could not be decided: {numbers['fault']}",
        "data for which every filter can be evaluated",
        f"mend the filter of {subscription} or the sender's data; the retry of the sender is a first arrival",
    )


def _undecidable(numbers: Numbers, _subscription: str) -> Wording:
    return Wording(
        f"it could not be stored with its decision: {numbers['fault']}",
        "data that the database can keep",
        "ask the sender to send it in another form; its bytes are kept in quarantine (sereno notices)",
    )


def _taken(what: str) -> Callable[[Numbers, str], Wording]:
    def words(_numbers: Numbers, subscription: str) -> Wording:
        return Wording(
            f"{what} before it came",
            f"the right of {subscription} to fire when the event came",
            "an authorised person gives the right back",
        )

    return words


def _exhausted(numbers: Numbers, subscription: str) -> Wording:
    reached = numbers.get("max_occurrences")
    return Wording(
        f"{subscription} had reached its number of occurrences{'' if reached is None else f' ({reached})'}",
        "a higher limits.max_occurrences",
        f"apply {subscription} with a higher limits.max_occurrences",
    )


def _budget(numbers: Numbers, subscription: str) -> Wording:
    if "attempts" in numbers:
        return _not_judged(numbers, subscription)
    if "suspension" in numbers:
        return _while_suspended(numbers, subscription)
    return Wording(
        f"the {numbers['measure']} budget of the {numbers['scope']} {numbers['of']} is at its limit:"
        f" {numbers['used']} of {numbers['limit']} is used and one wake-up takes {numbers['reserve']}",
        "room for one more in every budget that it counts against",
        f"extend the budget, or resume {subscription} in the next period ({numbers['period_ends']});"
        " what is held is not lost",
    )


def _storm(numbers: Numbers, subscription: str) -> Wording:
    if "suspension" in numbers:
        return _while_suspended(numbers, subscription)
    what = f" about {numbers['subject']}" if numbers["scope"] == "object" else ""
    many = numbers.get("arrivals", numbers.get("turns"))
    return Wording(
        f"{many} events{what} came within {numbers['window_seconds']:g} s, more than {numbers['threshold']}",
        "fewer arrivals in the window, or a higher limits.storm",
        f"sereno sub resume {subscription}, and say whether what is held is delivered, dropped or reviewed",
    )


def _while_suspended(numbers: Numbers, subscription: str) -> Wording:
    suspension = to_people("sus", numbers["suspension"])
    return Wording(
        f"{subscription} is suspended since {numbers['since']} ({numbers['cause']}, {suspension})",
        "an arrival before the suspension or after a person lifted it",
        f"sereno sub resume {subscription}; it enters again at the third guard",
    )


def _quiet_hours(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"it came inside the quiet hours {numbers['quiet_hours']}",
        f"an arrival at or after {numbers['ends']}, or limits.quiet_hours.then: batch",
        f"wait until {numbers['ends']}, or change the quiet hours of {subscription}",
    )


def _merged(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"it waits in a batch of {numbers['items']} because of {numbers['because']}, due at {numbers['due']}",
        f"no batch, cooldown, quiet hours or running work of {subscription} at that moment",
        f"wait until {numbers['due']}",
    )


def _busy(_numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"a message of {subscription} was still open, and limits.when_busy is drop",
        "an acknowledgement before it came, or when_busy: queue or merge",
        "sereno mailbox list shows the open message",
    )


def _awaiting(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"the condition of {subscription} has to be judged first (at least {numbers['min_confidence']:g})",
        "a subscription without a condition",
        "wait for the verdict: it enters as an event of its own",
    )


def _condition_met(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"it was judged to meet the condition of {subscription} ({numbers['confidence']:g}, judged, not verified),"
        f" and that entered as {to_people('rcp', numbers['event'])}",
        "another verdict",
        f"sereno explain {to_people('rcp', numbers['event'])} shows whom it woke",
    )


def _not_met(numbers: Numbers, subscription: str) -> Wording:
    needed = numbers["min_confidence"]
    at_least = "" if needed is None else f" (at least {needed:g})"
    return Wording(
        f"it was judged not to meet the condition of {subscription}: {numbers['confidence']:g}{at_least}",
        "another verdict, or a lower min_confidence",
        f"change the criterion or min_confidence of {subscription}",
    )


def _suspicious(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"it reads like an instruction to a model ({', '.join(numbers['signs'])}), and {subscription} holds such content",
        "content without these signs, or a condition with suspicious: warn",
        f"read it; to have it judged, set suspicious: warn in {subscription} and redeliver it with --force",
    )


def _not_judged(numbers: Numbers, subscription: str) -> Wording:
    return Wording(
        f"no verdict was to be had in {numbers['attempts']} attempts: {numbers['fault']}",
        "an evaluator that answers",
        f"look at the evaluator of {subscription}",
    )


_WORDS: Mapping[str, Callable[[Numbers, str], Wording]] = {
    # An evaluator's kinds of error come first: `budget` is the reason of a guard too.
    **dict.fromkeys(get_args(ErrorKind), _not_judged),
    "delivered": _delivered,
    "duplicate": _duplicate,
    "self_origin": _self_origin,
    "cycle": _cycle,
    "too_deep": _too_deep,
    "not_active": _not_active,
    "expired": _expired,
    "exhausted": _exhausted,
    "revoked": _taken("its right to fire was revoked"),
    "owner_removed": _taken("its owner was removed"),
    "agent_suspended": _taken("its agent was suspended"),
    "policy_expired": _policy_expired,
    "sender_unverified": _sender_unverified,
    "cooldown": _cooldown,
    "quiet_hours": _quiet_hours,
    "merged": _merged,
    "budget": _budget,
    "busy": _busy,
    "held": _while_suspended,
    "storm": _storm,
    "awaiting_verdict": _awaiting,
    "condition_met": _condition_met,
    "not_met": _not_met,
    "suspicious": _suspicious,
    "stopped": _stopped,
    "misfire": _misfire,
    "filter_fault": _error,
    "key_fault": _error,
    "undecidable": _undecidable,
}
