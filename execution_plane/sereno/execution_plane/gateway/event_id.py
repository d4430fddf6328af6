"""The id of an event inside a signed body: what a sender repeats when it sends the same event again.

The id of the *thing* that an event is about is none: two changes of one order have it in common. So an `id` counts
only where its body says that it is an event's.
"""

from collections.abc import Callable, Mapping

from sereno.envelope.strict_json import parse

Body = Mapping[str, object]
_LONGEST = 512


def of(scheme: str, body: Body) -> str | None:
    """The event id in the body of a sender with this scheme; None where its kind of body has none."""
    return _READERS.get(scheme, _self_described)(body)


def _none(body: Body) -> None:
    """GitHub, Shopify and Discord write no event id into the body; their `id` is that of an issue or an order."""
    del body


def _self_described(body: Body) -> str | None:
    """An id whose own name, or whose body's, says that it is an event's."""
    named = _text(body, "event_id") or _text(body, "eventId")
    if named is not None:
        return named
    found = _text(body, "id")
    if found is None:
        return None
    kind = _text(body, "object") or ""
    is_event = kind == "event" or kind.endswith((".event", "_event")) or found.startswith("evt_")
    return found if is_event else None


def _slack(body: Body) -> str | None:
    """`event_id` of the Events API; of commands and interactions the `trigger_id`, which is made for each."""
    inner = _payload(body)
    return _text(body, "event_id") or _text(inner, "trigger_id")


def _twilio(body: Body) -> str | None:
    """The message and the state that it came to, or the place in the sequence of a call's progress."""
    message = _text(body, "MessageSid") or _text(body, "SmsSid")
    state = _text(body, "MessageStatus") or _text(body, "SmsStatus")
    if message and state:
        return f"{message}/{state}"
    call, place = _text(body, "CallSid"), _text(body, "SequenceNumber")
    return f"{call}/{place}" if call and place else None


def _payload(body: Body) -> Body:
    """The JSON that Slack's interactions put into a field of a form, else the body itself."""
    text = _text(body, "payload")
    found = parse(text.encode("utf-8", "replace"), "payload") if text else None
    return found if isinstance(found, Mapping) else body


def _text(body: Body, name: str) -> str | None:
    value = body.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST else None


_READERS: Mapping[str, Callable[[Body], str | None]] = {
    "github": _none,
    "shopify": _none,
    "discord": _none,
    "slack": _slack,
    "twilio": _twilio,
}
