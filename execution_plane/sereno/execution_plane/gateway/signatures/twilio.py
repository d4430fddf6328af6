"""Twilio: the base64 HMAC of the public URL and, of a form, its sorted names and values.

Source: twilio.com/docs/usage/webhooks/webhooks-security. SHA-1 under the account's token, or SHA-256 where
`X-Twilio-Webhooks-Signature-Settings` says so. Any other body is covered by `bodySHA256` in the signed URL.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import SplitResult, parse_qsl, urlsplit

from sereno.envelope import media_type
from sereno.execution_plane.gateway.headers import Headers, single
from sereno.execution_plane.gateway.signatures.mac import base64_text, claimed_bytes, digests, matches_any
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified

HEADER = "x-twilio-signature"
SETTINGS = "x-twilio-webhooks-signature-settings"
FORM = "application/x-www-form-urlencoded"
_ALGORITHMS: Mapping[str, str] = {"HMAC_SHA1": "sha1", "HMAC_SHA256": "sha256"}
_DIGEST = "bodySHA256"
_MOST_FIELDS = 1000
_DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Twilio:
    """The scheme of Twilio; it signs what a form means, not how it is spelt."""

    name: ClassVar[str] = "twilio"
    signs_time: ClassVar[bool] = False

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        claimed = single(request.headers, HEADER)
        algorithm = _algorithm(request.headers)
        fields = _fields(request)
        expected: list[bytes] = []
        for url in _spellings(request.url):
            content = url.encode("utf-8", "surrogatepass") + (fields or b"")
            expected += base64_text(digests(content, secrets, algorithm or "sha1"))
        if claimed is None:
            return Failed("signature_missing")
        if algorithm is None:
            return Failed("algorithm_not_allowed")
        if fields is None:
            return Failed("signature_malformed")
        if not matches_any(claimed_bytes(claimed), expected):
            return Failed("signature_mismatch")
        return _vouched(request, fields)


def _vouched(request: Request, fields: bytes) -> Verified | Failed:
    stated = dict(parse_qsl(urlsplit(request.url).query)).get(_DIGEST)
    if stated is not None and not _is_form(request):
        found = hashlib.sha256(request.body).hexdigest()
        if not hmac.compare_digest(found.encode(), stated.lower().encode("utf-8", "surrogatepass")):
            return Failed("digest_mismatch")
        return Verified()
    # The body can be spelt anew under the same signature, so its occurrence is known by what was signed.
    content = request.url.encode("utf-8", "surrogatepass") + fields
    return Verified(covers_body=_is_form(request) or not request.body, content=content)


def _is_form(request: Request) -> bool:
    """Whether the body is a form; one of no stated kind is, unless the URL holds its hash."""
    stated = single(request.headers, "content-type")
    kind = media_type.parse(stated or "")
    return kind.essence == FORM if kind is not None else stated is None and _DIGEST not in request.url


def _fields(request: Request) -> bytes | None:
    """The sorted names and values of a form, in their raw bytes; empty for any other body, None where it is no form."""
    if not _is_form(request):
        return b""
    try:
        pairs = parse_qsl(request.body, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    return b"".join(name + value for name, value in sorted(set(pairs)))


def _algorithm(headers: Headers) -> str | None:
    if not any(name == SETTINGS for name, _ in headers):
        return "sha1"
    settings = dict(part.partition("=")[::2] for part in (single(headers, SETTINGS) or "").split(","))
    return _ALGORITHMS.get(settings.get("algorithm", ""))


def _spellings(url: str) -> tuple[str, ...]:
    """The URL without its fragment, with and without a default port: Twilio has signed either."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return (url,)
    bare = parts._replace(fragment="")
    default = _DEFAULT_PORTS.get(parts.scheme)
    if not parts.hostname or default is None or port not in (None, default):
        return (bare.geturl(),)
    return tuple(dict.fromkeys((_without_port(bare), _without_port(bare, f":{default}"))))


def _without_port(parts: SplitResult, instead: str = "") -> str:
    user, at, host = parts.netloc.rpartition("@")
    end = host.rfind(":") if host.rfind(":") > host.rfind("]") else len(host)
    return parts._replace(netloc=f"{user}{at}{host[:end]}{instead}").geturl()
