"""A filter as declared: one dialect of the CloudEvents Subscriptions API, or CEL."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, StrictStr

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.types import Attribute


def _check_attribute(name: str) -> str:
    # The Subscriptions API compares context attributes; data is looked into by an expression.
    if name == "data":
        raise ValueError("expected an attribute such as type or subject; look into data with cel")
    return name


Attributes = Annotated[
    dict[
        Annotated[Attribute, AfterValidator(_check_attribute)],
        Annotated[StrictStr, Field(min_length=1, max_length=1024)],
    ],
    Field(min_length=1),
]


class Filter(Declared):
    """One dialect and its argument; it holds or does not hold for an event."""

    exactly_one: ClassVar[tuple[str, ...]] = ("exact", "prefix", "suffix", "all", "any", "not", "cel")

    exact: Attributes | None = None
    prefix: Attributes | None = None
    suffix: Attributes | None = None
    all: Annotated[tuple["Filter", ...], Field(min_length=1, max_length=64)] | None = None
    any: Annotated[tuple["Filter", ...], Field(min_length=1, max_length=64)] | None = None
    not_: "Filter | None" = Field(default=None, alias="not")
    cel: StrictStr | None = None
