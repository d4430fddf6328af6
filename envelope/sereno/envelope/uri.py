"""URIs and URI references by the grammar of RFC 3986, which knows ASCII alone."""

import re
from ipaddress import AddressValueError, IPv6Address

_ESCAPE = "%[0-9A-Fa-f]{2}"
_USER = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:]++|{_ESCAPE})*+@"
_NAME = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=]++|{_ESCAPE})*+"
_LITERAL = r"\[(?:(?P<ipv6>[0-9A-Fa-f:.]+)|[vV][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+)\]"
_PATH = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]++|{_ESCAPE})*+"
_QUERY = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]++|{_ESCAPE})*+"
# A path behind an authority begins with a slash; one without an authority never with two (RFC 3986, 3.3).
_HIERARCHY = rf"(?://(?:{_USER})?(?:{_LITERAL}|{_NAME})(?::[0-9]*)?(?=[/?#]|\Z)|(?!//)){_PATH}"
_TAIL = rf"(?:\?{_QUERY})?(?:#{_QUERY})?\Z"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*+:"
# The first segment of a relative reference has no colon, or it would read as a scheme (4.2).
_REFERENCE = re.compile(rf"(?:{_SCHEME}|(?![^/?#]*:)){_HIERARCHY}{_TAIL}")
_URI = re.compile(rf"{_SCHEME}{_HIERARCHY}{_TAIL}")


def is_reference(text: str) -> bool:
    """Whether the text is a URI-reference (RFC 3986, 4.1); the empty one, which names nothing, is not."""
    return bool(text) and _is(_REFERENCE.match(text))


def is_uri(text: str) -> bool:
    """Whether the text is a URI with its scheme (RFC 3986, 3); a fragment is allowed."""
    return _is(_URI.match(text))


def _is(match: re.Match[str] | None) -> bool:
    if match is None:
        return False
    address = match["ipv6"]
    try:
        return address is None or bool(IPv6Address(address))
    except AddressValueError:
        return False
