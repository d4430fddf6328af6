"""How the body of a webhook becomes an event, as declared: one CEL expression a field."""

from typing import Annotated

from pydantic import Field, StrictStr

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.types import BodyPath

Cel = Annotated[StrictStr, Field(min_length=1, max_length=1_000)]


class BodyMapping(Declared):
    """What is read from a body and under which name; each expression sees `body`, and of `headers` the signed ones.

    `verified` says whether the actor is who it claims to be, such as `body.dmarc == "pass"` of a mail; without it the
    sender's word counts. A field that is absent from the body leaves its attribute to the preset. `data` is either an expression, or the
    paths of the fields that are kept.
    """

    type: Cel | None = None
    source: Cel | None = None
    subject: Cel | None = None
    actor: Cel | None = None
    verified: Cel | None = None
    object: Cel | None = None
    time: Cel | None = None
    id: Cel | None = None
    dedup_key: Cel | None = None
    data: Cel | Annotated[tuple[BodyPath, ...], Field(min_length=1, max_length=200)] | None = None
