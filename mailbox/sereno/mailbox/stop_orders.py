"""What the control plane orders about stops over NATS, and what the data path answers."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from sereno.mailbox.stop import Choice


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Engage(_Shape):
    """Stop a scope; the same again changes nothing."""

    verb: Literal["engage"] = "engage"
    scope: str
    id: UUID
    reason: str
    principal: str


class Release(_Shape):
    """Let a scope go on; with `preview` only say what waits there."""

    verb: Literal["release"] = "release"
    scope: str
    reason: str
    principal: str
    held: Choice = "deliver"
    preview: bool = False


class Status(_Shape):
    """Say what stands still."""

    verb: Literal["status"] = "status"


class Backlog(_Shape):
    """What waits for the end of a stop: messages by state, events on their way to a mailbox, and schedules that are due."""

    ready: int = 0
    leased: int = 0
    parked: int = 0
    events: int = 0
    schedules: int = 0


class StopState(_Shape):
    """A stop that stands (`engaged`), or one that ended and left its backlog for a person (`review`)."""

    scope: str
    id: UUID
    state: Literal["engaged", "review"]
    reason: str
    by: str
    since: AwareDatetime
    backlog: Backlog


class StopAnswer(_Shape):
    """The stops that are meant. `in_flight` names transactions whose end the stop did not see: usually none."""

    stops: tuple[StopState, ...] = ()
    in_flight: tuple[str, ...] = ()
    refusal: str | None = None


Order = Engage | Release | Status
_ORDER: TypeAdapter[Order] = TypeAdapter(Annotated[Order, Field(discriminator="verb")])


def read(payload: bytes) -> Order:
    """The order in a request. Raises ValueError (pydantic's) when it is none."""
    return _ORDER.validate_json(payload)
