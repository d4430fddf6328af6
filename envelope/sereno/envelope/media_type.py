"""Media types: which CloudEvents format a content type names, and how its data is to be read."""

import re
from dataclasses import dataclass
from functools import lru_cache

_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]++"  # noqa: S105 - RFC 9110 calls this grammar rule "token"
_QUOTED = r"\"(?:[^\"\\]|\\.)*+\""
_MEDIA_TYPE = re.compile(
    rf"({_TOKEN})/({_TOKEN})((?:[ \t]*+;[ \t]*+{_TOKEN}=(?:{_TOKEN}|{_QUOTED}))*+)[ \t;]*\Z"
)
_PARAMETER = re.compile(rf";[ \t]*+({_TOKEN})=({_TOKEN}|{_QUOTED})")
_UTF8 = frozenset({"utf-8", "utf8", "us-ascii"})
# Senders use few media types, and short ones.
_REMEMBERED = 256
_SHORT = 128


@dataclass(frozen=True, slots=True)
class MediaType:
    """A parsed content type; all parts are lower-case, `charset` is None when not given."""

    essence: str
    charset: str | None

    @property
    def is_json(self) -> bool:
        """Whether the type declares JSON (CloudEvents JSON format, 3.1)."""
        subtype = self.essence.partition("/")[2]
        return subtype == "json" or subtype.endswith("+json")

    @property
    def is_text(self) -> bool:
        """Whether the type declares characters rather than octets."""
        main, _, subtype = self.essence.partition("/")
        return main == "text" or subtype == "xml" or subtype.endswith("+xml")

    @property
    def is_utf8(self) -> bool:
        """Whether the characters are UTF-8, said or by default."""
        return self.charset is None or self.charset in _UTF8


def parse(text: str) -> MediaType | None:
    """The media type of a Content-Type value (RFC 9110, 8.3.1), or None when it is none."""
    return _parse_short(text) if len(text) <= _SHORT else _parse(text)


def _parse(text: str) -> MediaType | None:
    match = _MEDIA_TYPE.match(text.strip(" \t"))
    if match is None:
        return None
    charset = next((value for name, value in _PARAMETER.findall(match[3]) if name.lower() == "charset"), None)
    return MediaType(
        essence=f"{match[1]}/{match[2]}".lower(),
        charset=None if charset is None else charset.strip('"').strip().lower(),
    )


_parse_short = lru_cache(_REMEMBERED)(_parse)
