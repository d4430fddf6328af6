"""The shapes of requests and answers."""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from sereno.control_plane.catalog.item import Kind
from sereno.control_plane.catalog.plan import Change
from sereno.subscriptions.lifecycle import State

Entry = TypeVar("Entry", bound=BaseModel)
Reason = Annotated[str, Field(min_length=1, max_length=1000, description="Why; it stays in the history.")]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ApplyRequest(_Shape):
    """Documents to apply or to compare with the catalog."""

    documents: Annotated[str, Field(max_length=8_000_000, description="YAML, any number of documents.")]
    dry_run: bool = Field(False, description="Answer what would happen and change nothing.")
    prune: str | None = Field(
        None, description="Delete what carries this label (`key` or `key=value`) and is not in the documents."
    )
    revive: bool = Field(False, description="Take deleted names again; needs a reason.")
    reason: Reason | None = None


class AppliedObject(_Shape):
    """One object and what became of it; a dry run mints no ids for what does not exist yet."""

    kind: Kind
    tenant: str
    name: str
    id: str | None
    version: int
    state: State
    change: Change
    url: str | None = Field(None, description="Where senders post, for an endpoint.")


class ApplyAnswer(_Shape):
    """All objects in the documents' order, then the deleted ones."""

    objects: list[AppliedObject]
    manifest: dict[str, int] = Field(description="Per tenant the manifest version that says so.")


class ChangedField(_Shape):
    """A field that differs; `null` where it is absent."""

    path: str
    before: Any
    after: Any


class ObjectDrift(_Shape):
    """An object that differs from its document."""

    kind: Kind
    tenant: str
    name: str
    change: Change
    fields: list[ChangedField]


class DiffAnswer(_Shape):
    """What applying would change; empty when catalog and documents agree."""

    changes: list[ObjectDrift]


class CatalogEntry(_Shape):
    """An object of the catalog as it is now."""

    kind: Kind
    tenant: str
    name: str
    id: str
    version: int
    state: State
    labels: dict[str, str]
    spec: dict[str, Any]
    created_by: str
    created_at: datetime
    updated_at: datetime


class EndpointEntry(CatalogEntry):
    """An endpoint, with the URL to which senders post."""

    url: str | None


Secret = Annotated[SecretStr, Field(min_length=1, max_length=2048)]


class EndpointRequest(_Shape):
    """An endpoint to add: `spec` as in a document, but its `secrets` may be left out.

    `secret` is sealed at once for the execution plane; without it and without `spec.secrets` one is made.
    """

    name: str
    spec: dict[str, Any]
    labels: dict[str, str] = Field(default_factory=dict)
    secret: Secret | None = Field(None, description="kept only sealed, and never shown again")


class RotateRequest(_Shape):
    """A new secret beside the old one; later, `finish` ends the old one."""

    reference: str | None = Field(None, description="env:NAME or file:PATH")
    secret: Secret | None = Field(None, description="kept only sealed, and never shown again")
    finish: bool = Field(False, description="end the older secret instead of adding a new one")


class EndpointAnswer(_Shape):
    """The endpoint after the step. A secret that was made stands here once, and nowhere else."""

    name: str
    tenant: str
    version: int
    state: State
    url: str | None
    secrets: list[str] = Field(description="references, and fingerprints of sealed secrets")
    generated_secret: str | None
    manifest: int


class Activity(_Shape):
    """What the execution plane reported of a subscription."""

    last_delivered_at: datetime | None
    outcomes: dict[str, int]


class Suspension(_Shape):
    """Why a subscription, or one object of it, stands still; or whose backlog a person has yet to decide on."""

    id: str
    cause: str
    subject: str | None
    at: datetime
    sentence: str
    lifted_at: datetime | None
    held: str | None


class SubscriptionEntry(CatalogEntry):
    """A subscription, with what became of the events that matched it, and what suspends it."""

    activity: Activity
    suspensions: list[Suspension] = Field(default_factory=list)


class Listing(_Shape, Generic[Entry]):
    """Objects by name; `next` is the `after` of the following page, if there is one."""

    items: list[Entry]
    next: str | None


class HistoryEvent(_Shape):
    """One step of an object's life."""

    revision: int
    type: str
    actor: str
    reason: str | None
    recorded: datetime
    data: dict[str, Any]


class History(_Shape):
    """Every step of an object's life, oldest first."""

    events: list[HistoryEvent]


class ComingTime(_Shape):
    """One time at which a subscription fires: the instant, the clock of its zone then, the policy that shaped it."""

    instant: datetime
    local: datetime
    policy: str | None


class SubscriptionPreview(_Shape):
    """When a subscription fires next, as it stands; `note` says why not, or why no more."""

    name: str
    tenant: str
    version: int
    state: State
    zone: str | None
    misfire: str
    times: list[ComingTime]
    note: str | None


class MoveRequest(_Shape):
    """Why it is paused, resumed or deleted."""

    reason: Reason


class ResumeRequest(MoveRequest):
    """Why it goes on, and what becomes of what a suspension held; left out, a storm's is kept for review."""

    held: Literal["deliver", "drop", "review"] | None = None


class MoveAnswer(_Shape):
    """The object after the step, and the suspensions that it ended."""

    name: str
    tenant: str
    version: int
    state: State
    manifest: int
    lifted: list[str] = Field(default_factory=list)
