"""The check of one message: what the strict decoder makes of headers and a body, as data that others can compare."""

from base64 import b64decode
from typing import Any

from sereno.envelope import strict_json
from sereno.envelope.decode import Decoded, Headers, decode_http, decode_nats, header_value
from sereno.envelope.encode import flat
from sereno.envelope.rejection import Rejected

Answer = dict[str, Any]
_TRANSPORTS = {"http": decode_http, "http-webhook": decode_http, "nats": decode_nats}


def answer(question: Any) -> Answer:
    """The answer to `{"headers", "body_base64", "transport"?}`: accepted with its events, refused, or `bad_input`.

    `headers` is an object or a list of [name, value]; `transport` is `http` or `nats`. Where it is not said, what only
    NATS carries is read so: a message without any header, or with `ce-datacontenttype` instead of Content-Type.
    Attributes stand in the events as they were sent, `time` included.
    """
    if not isinstance(question, dict):
        return _bad_input("expected a JSON object with headers and body_base64")
    headers, body = _headers(question.get("headers")), _body(question.get("body_base64"))
    if headers is None:
        return _bad_input("headers: expected an object of strings, or a list of [name, value]")
    if body is None:
        return _bad_input("body_base64: expected a string in base64")
    decode = _TRANSPORTS.get(str(question.get("transport", _unsaid(headers))))
    if decode is None:
        return _bad_input("transport: expected http or nats")
    return check(headers, decode(headers, body), body)


def check(headers: Headers, decoded: Decoded | Rejected, body: bytes) -> Answer:
    """The answer about a message that was decoded."""
    if isinstance(decoded, Rejected):
        error = {"code": decoded.code, "message": decoded.message}
        return {
            "accepted": False,
            "error": error if decoded.field is None else error | {"field": decoded.field},
        }
    events = [flat(event) for event in decoded.events]
    for event, time in zip(events, _times(headers, decoded, body), strict=True):
        if time is not None:
            event["time"] = time
    return {"accepted": True, "mode": decoded.mode, "events": events}


def _unsaid(headers: Headers) -> str:
    names = {name.lower() for name, _ in headers}
    return "nats" if not names or ("ce-datacontenttype" in names and "content-type" not in names) else "http"


def _times(headers: Headers, decoded: Decoded, body: bytes) -> list[Any]:
    """The time of each event as its sender wrote it; events keep the moment alone."""
    if decoded.mode == "binary":
        written = next((value for name, value in headers if name.lower() == "ce-time"), None)
        return [None if written is None else header_value("time", written)]
    document: Any = strict_json.parse(body, "the event")
    return [event.get("time") for event in (document if decoded.mode == "batch" else [document])]


def _headers(given: Any) -> list[tuple[str, str]] | None:
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not isinstance(pairs, list):
        return None
    headers: list[tuple[str, str]] = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:  # noqa: PLR2004 - a name and its value
            return None
        name, value = pair
        if not isinstance(name, str) or not isinstance(value, str):
            return None
        headers.append((name, value))
    return headers


def _body(given: Any) -> bytes | None:
    try:
        return b64decode(given, validate=True) if isinstance(given, str) else None
    except ValueError:
        return None


def _bad_input(message: str) -> Answer:
    return {"error": {"code": "bad_input", "message": message}}
