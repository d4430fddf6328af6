"""The body of a webhook as a document: JSON, or the fields of a form."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from sereno.envelope import media_type
from sereno.envelope.media_type import MediaType
from sereno.envelope.rejection import Rejected
from sereno.envelope.strict_json import parse
from sereno.execution_plane.gateway.headers import Headers, single

FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 1000


@dataclass(frozen=True, slots=True)
class Document:
    """What a body says; `fields` is it as a mapping, empty where it is none."""

    value: object

    @property
    def fields(self) -> Mapping[str, object]:
        """The members of an object or the fields of a form."""
        return self.value if isinstance(self.value, Mapping) else {}


def content_of(headers: Headers) -> MediaType | None:
    """What the sender says that the body is."""
    return media_type.parse(single(headers, "content-type") or "")


def read(content: MediaType | None, body: bytes) -> Document | Rejected | None:
    """The document of a body; None where it is neither JSON nor a form."""
    if content is None:
        return None
    if content.essence == FORM:
        return _form(body)
    if not content.is_json or not content.is_utf8:
        return None
    value = parse(body, "data")
    return value if isinstance(value, Rejected) else Document(value)


def _form(body: bytes) -> Document | Rejected:
    """The fields of a form: a text each, or a list where a name stands more than once."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return Rejected("invalid_data", f"the body is no form of at most {_MOST_FIELDS} fields", "data")
    fields: dict[str, str | list[str]] = {}
    for name, value in pairs:
        known = fields.get(name)
        fields[name] = value if known is None else [*(known if isinstance(known, list) else [known]), value]
    return Document(fields)
