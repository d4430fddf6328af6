"""What every request and answer of the API is, and what many of them share."""

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Entry = TypeVar("Entry", bound=BaseModel)


Reason = Annotated[str, Field(min_length=1, max_length=1000, description="Why; it stays in the history.")]


class Shape(BaseModel):
    """Frozen, and nothing that is not described."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Listing(Shape, Generic[Entry]):
    """Objects by name; `next` is the `after` of the following page, if there is one."""

    items: list[Entry]
    next: str | None
