"""Questions of `sereno webhook verify`: would this request be authentic, and under which key would it be known?"""

import base64
import binascii
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from sereno.execution_plane.gateway import natural_key
from sereno.execution_plane.gateway.headers import Headers
from sereno.execution_plane.gateway.signatures import named
from sereno.execution_plane.gateway.signatures.hmac_header import DEFAULT_HEADER, Algorithm, Encoding
from sereno.execution_plane.gateway.signatures.judgement import authenticate, freshness
from sereno.execution_plane.gateway.signatures.message_signatures import content_digest
from sereno.execution_plane.gateway.signatures.message_signatures.scheme import INPUT, SIGNATURE
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Scheme, Verified

Policy = Literal["endpoint", "crypto"]
_CHOICES: Mapping[str, tuple[str, ...]] = {"encoding": get_args(Encoding), "algorithm": get_args(Algorithm)}


class BadQuestionError(ValueError):
    """The question cannot be read; the message names the field and what was expected."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request to judge; without `now` (seconds since 1970) no time is checked."""

    scheme: Scheme
    secrets: tuple[bytes, ...]
    request: Request
    now: float | None
    policy: Policy


def answer(question: Question) -> dict[str, Any]:
    """`valid`, `reason` when it is not, `dedup_key` when it is, and how fresh it is."""
    found = _judge(question)
    if isinstance(found, Failed):
        return _answer(found.reason, None, _freshness_of(found))
    key = natural_key.of(question.scheme.name, question.request, found)
    return _answer(None, key, freshness(found, question.now))


def _answer(reason: str | None, key: str | None, fresh: str) -> dict[str, Any]:
    return {"valid": reason is None, "reason": reason, "dedup_key": key, "freshness": fresh}


def _judge(question: Question) -> Verified | Failed:
    if question.policy == "endpoint":
        return authenticate(question.scheme, question.request, question.secrets, question.now)
    usable = [secret for secret in question.secrets if secret.strip()]
    if not usable and _is_digest_alone(question):
        fault = content_digest.objection(question.request)
        return Failed(fault) if fault is not None else Verified()
    found = question.scheme.verify(question.request, usable)
    return found if usable else Failed("secret_missing")


def _is_digest_alone(question: Question) -> bool:
    """Whether there is a content digest and nothing that is signed."""
    names = {name for name, _ in question.request.headers}
    return (
        question.scheme.name == "rfc9421"
        and content_digest.HEADER in names
        and not names & {INPUT, SIGNATURE}
    )


def _freshness_of(failed: Failed) -> str:
    if failed.reason in ("too_old", "too_new", "expired"):
        return failed.reason
    return "not_checked"


def read(raw: Any) -> Question:
    """The question in a JSON value. Raises `BadQuestionError`."""
    if not isinstance(raw, Mapping):
        raise BadQuestionError("expected a JSON object with scheme, secret, headers and body_base64")
    policy = raw.get("policy", "endpoint")
    if policy is not None and policy not in get_args(Policy):
        raise BadQuestionError("policy: expected endpoint or crypto")
    request = Request(
        tuple(_headers(raw.get("headers"))),
        _body(raw.get("body_base64")),
        _text(raw, "url", ""),
        _text(raw, "method", "POST"),
    )
    return Question(
        _scheme(raw), _secrets(raw.get("secret")), request, _now(raw.get("now")), policy or "endpoint"
    )


def _scheme(raw: Mapping[str, Any]) -> Scheme:
    components = raw.get("components") or []
    if not isinstance(components, list) or not all(isinstance(one, str) for one in components):
        raise BadQuestionError("components: expected a list of names")
    name = raw.get("scheme")
    for option, allowed in _CHOICES.items() if name == "hmac" else ():
        if raw.get(option) is not None and raw[option] not in allowed:
            raise BadQuestionError(f"{option}: expected one of {', '.join(allowed)}")
    options = named.Options(
        header=_text(raw, "header", DEFAULT_HEADER),
        prefix=_text(raw, "prefix", ""),
        encoding=raw.get("encoding") or "hex",
        algorithm=raw.get("algorithm") or "sha256",
        components=tuple(components),
        tag=_text(raw, "tag", "") or None,
    )
    found = named.scheme(name, options) if isinstance(name, str) else None
    if found is None:
        raise BadQuestionError(f"scheme: expected one of {', '.join(named.SCHEMES)}")
    return found


def _secrets(raw: Any) -> tuple[bytes, ...]:
    """One secret, a list of those that are active, or none."""
    written = [] if raw is None else raw if isinstance(raw, list) else [raw]
    if not all(isinstance(one, str) for one in written):
        raise BadQuestionError("secret: expected text, a list of texts, or null")
    return tuple(one.encode("utf-8", "surrogatepass") for one in written)


def _headers(raw: Any) -> Iterator[tuple[str, str]]:
    """Names in lower case; an object's value may be a list where a header stands more than once."""
    if raw is None:
        return
    pairs = list(raw.items()) if isinstance(raw, Mapping) else raw
    if not isinstance(pairs, list):
        raise BadQuestionError("headers: expected an object, or a list of [name, value]")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):  # noqa: PLR2004
            raise BadQuestionError("headers: expected pairs of name and value")
        values = pair[1] if isinstance(pair[1], list) else [pair[1]]
        if not all(isinstance(value, str) for value in values):
            raise BadQuestionError(f"headers: expected text as the value of {pair[0][:64]}")
        yield from ((pair[0].strip().lower(), value) for value in values)


def _body(raw: Any) -> bytes:
    if raw is None:
        return b""
    try:
        return base64.b64decode(raw, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise BadQuestionError("body_base64: expected base64 with padding") from None


def _now(raw: Any) -> float | None:
    """Seconds since 1970, or an instant with its zone."""
    if raw is None:
        return None
    if isinstance(raw, int | float) and not isinstance(raw, bool) and math.isfinite(raw):
        return raw
    try:
        moment = datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadQuestionError("now: expected seconds since 1970, or an instant such as 2027-01-01T00:00:00Z")
    return moment.timestamp()


def _text(raw: Mapping[str, Any], name: str, default: str) -> str:
    value = raw.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise BadQuestionError(f"{name}: expected text")
    return value


def headers_of(lines: list[str]) -> Headers:
    """Headers written as `Name: value`. Raises `BadQuestionError`."""
    pairs = [line.partition(":") for line in lines]
    if not all(separator and name.strip() for name, separator, _ in pairs):
        raise BadQuestionError("--header: expected 'Name: value'")
    return tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)
