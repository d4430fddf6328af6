"""The parts of a request that a signature may cover (RFC 9421, 2.1 and 2.2), and their values."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

from sereno.execution_plane.gateway.signatures.message_signatures import structured
from sereno.execution_plane.gateway.signatures.message_signatures.structured import Item
from sereno.execution_plane.gateway.signatures.scheme import Reason, Request

_FOLDED = re.compile(r"[ \t]*\r?\n[ \t]+")
_FIELD_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+\Z")
_DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
# Which fields are structured cannot be seen from their text.
_KINDS: Mapping[str, str] = {
    "content-digest": "dictionary",
    "repr-digest": "dictionary",
    "want-content-digest": "dictionary",
    "want-repr-digest": "dictionary",
    "signature": "dictionary",
    "signature-input": "dictionary",
    "priority": "dictionary",
    "accept-ch": "list",
    "cache-status": "list",
    "proxy-status": "list",
    "client-cert": "item",
    "client-cert-chain": "list",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """A component that has no value here."""

    reason: Reason


def value_of(component: Item, request: Request) -> str | Missing:
    """The value of a component in the signature base; ASCII without line breaks."""
    name = component.value
    if not isinstance(name, str):
        return Missing("signature_malformed")
    found = _derived(component, request) if name.startswith("@") else _field(component, request)
    if isinstance(found, Missing):
        return found
    usable = found.isascii() and "\n" not in found and "\r" not in found and "\x00" not in found
    return found if usable else Missing("signature_malformed")


def field_value(name: str, request: Request) -> str | None:
    """The combined value of all lines of a header (2.1), or None where there is none."""
    lines = _lines(name, request)
    return ", ".join(lines) if lines else None


def _lines(name: str, request: Request) -> list[str]:
    return [_FOLDED.sub(" ", value).strip() for key, value in request.headers if key == name]


def _field(component: Item, request: Request) -> str | Missing:
    name, how = str(component.value), dict(component.parameters)
    if _FIELD_NAME.match(name) is None:
        return Missing("signature_malformed")
    lines = _lines(name, request)
    if not lines:
        return Missing("component_missing")
    if how.pop("bs", None) is True:
        encoded = (base64.b64encode(line.encode("latin-1", "replace")).decode() for line in lines)
        return Missing("component_unsupported") if how else ", ".join(f":{text}:" for text in encoded)
    member, strict = how.pop("key", None), how.pop("sf", None)
    if how or (strict is not None and strict is not True):
        return Missing("component_unsupported")
    whole = ", ".join(lines)
    if member is not None:
        return _member(whole, member)
    return _strict(name, whole) if strict else whole


def _member(whole: str, member: object) -> str | Missing:
    found = (structured.dictionary(whole) or {}).get(member) if isinstance(member, str) else None
    return Missing("component_missing") if found is None else found.text


def _strict(name: str, whole: str) -> str | Missing:
    kind = _KINDS.get(name)
    if kind is None:
        return Missing("component_unsupported")
    return structured.reserialised(whole, kind) or Missing("signature_malformed")


def _derived(component: Item, request: Request) -> str | Missing:
    name, how = component.value, component.parameters
    url = _target(request)
    if url is None:
        return Missing("component_missing")
    if name == "@query-param":
        return _query_parameter(url, how)
    if how:
        return Missing("component_unsupported")
    if name == "@method":
        return request.method
    if name == "@authority":
        return _authority(url, request)
    return _of_url(str(name), url, request)


def _of_url(name: str, url: SplitResult, request: Request) -> str | Missing:
    if not request.url:
        return Missing("component_missing")
    path = url.path or "/"
    values = {
        "@target-uri": request.url.partition("#")[0],
        "@scheme": url.scheme.lower(),
        "@path": path,
        "@query": f"?{url.query}",
        "@request-target": f"{path}?{url.query}" if url.query else path,
    }
    return values.get(name, Missing("component_unsupported"))


def _target(request: Request) -> SplitResult | None:
    try:
        url = urlsplit(request.url)
        _ = url.port
    except ValueError:
        return None
    return url


def _authority(url: SplitResult, request: Request) -> str | Missing:
    """Host and port in lower case, without the default port (2.2.3)."""
    if not url.netloc:
        host = field_value("host", request)
        return Missing("component_missing") if host is None else host.lower()
    host = url.netloc.rpartition("@")[2].lower()
    default = _DEFAULT_PORTS.get(url.scheme.lower())
    return host.removesuffix(f":{default}") if default and url.port == default else host


def _query_parameter(url: SplitResult, how: Mapping[str, object]) -> str | Missing:
    """The value of a query parameter that stands exactly once, encoded anew (2.2.8)."""
    if set(how) != {"name"} or not isinstance(how["name"], str):
        return Missing("component_unsupported")
    try:
        pairs = parse_qsl(url.query, keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        return Missing("component_missing")
    values = [value for key, value in pairs if _encoded(key) == how["name"]]
    return _encoded(values[0]) if len(values) == 1 else Missing("component_missing")


def _encoded(text: str) -> str:
    return quote(text, safe="*-._").replace("~", "%7E")
