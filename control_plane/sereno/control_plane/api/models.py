"""The shapes of requests and answers."""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, SecretStr

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
    without_replay: bool = Field(
        False, description="Put an edited criterion in force without judging what people labelled again."
    )
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
    waits: list[str] = Field(
        [],
        description="Why it waits for another person; of a widening edit the last approved text keeps running.",
    )


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


class WhoAmI(_Shape):
    """The principal of the token that was shown, in one tenant."""

    principal: str
    tenant: str
    every_tenant: bool
    known: bool = Field(description="false when the principal was removed since")
    roles: list[str] = Field(description="also those that come with another")
    scopes: list[str] = Field(description="what the token is narrowed to; empty: to nothing")


class RolesRequest(_Shape):
    """The roles of a principal."""

    roles: Annotated[list[str], Field(max_length=16)] = []
    about: str | None = Field(None, max_length=256)
    reason: Reason | None = None


class PrincipalRequest(RolesRequest):
    """A principal to declare, such as `user:marta`."""

    name: Annotated[str, Field(min_length=1, max_length=160)]


class RemovalAnswer(MoveAnswer):
    """The principal after the step, and the subscriptions that used its rights: reassign or delete them."""

    left_behind: list[str]


class TokenRequest(_Shape):
    """A token to issue. Without `expires` it is valid until it is revoked."""

    principal: Annotated[str, Field(min_length=1, max_length=160)]
    scopes: Annotated[list[str], Field(max_length=64)] = []
    expires: AwareDatetime | None = None
    label: str | None = Field(None, max_length=256)


class TokenEntry(_Shape):
    """A token without its text."""

    id: str
    tenant: str
    principal: str
    scopes: list[str]
    label: str | None
    expires: datetime | None
    created_by: str
    created_at: datetime
    last_used_at: datetime | None = Field(description="to the minute")


class TokenAnswer(TokenEntry):
    """A new token; `token` is its text, which stands nowhere else."""

    token: str
    manifest: int


class GrantRequest(_Shape):
    """A grant on one agent or source, or with `deny` a prohibition; without `name` its text names it."""

    name: str | None = None
    to: str | None = None
    agent: str | None = None
    source: str | None = None
    deny: str | None = None
    rights: Annotated[list[str], Field(max_length=2)] | None = None
    subscriptions: int | None = None
    expires: AwareDatetime | None = None
    reason: Reason | None = None


class GrantAnswer(_Shape):
    """The grant after the step."""

    name: str
    tenant: str
    version: int
    state: State
    spec: dict[str, Any]
    manifest: int


class ReassignRequest(_Shape):
    """Who answers for it from now on, and why."""

    owner: Annotated[str, Field(min_length=1, max_length=160)]
    reason: Reason


class PolicyAnswer(_Shape):
    """The policies in force."""

    version: str
    policies: str
    schema_text: str


class CanDecision(_Shape):
    """One decision, the rule that took it, and the command that would allow what is not."""

    action: str
    allowed: bool
    rule: str
    command: str | None


class CanAnswer(_Shape):
    """Whether a principal may have an agent woken, and have a source observed."""

    who: str
    agent: str
    source: str | None
    as_of: datetime
    allowed: bool
    policy_version: str
    decisions: list[CanDecision]


class ApprovalEntry(_Shape):
    """Something that waits, or waited, for a person; `document` are the bytes that the digest covers."""

    id: str
    tenant: str
    kind: Kind
    name: str
    state: Literal["pending", "approved", "denied", "superseded", "expired"]
    asked_by: str
    asked_at: datetime
    expires: datetime
    waits: list[str]
    digest: str
    document: str
    wants: dict[str, Any]
    quorum: int
    approved_by: list[str]
    resolved_by: str | None
    reason: str | None


class Approvals(_Shape):
    """Newest first."""

    items: list[ApprovalEntry]


class ResolvedAnswer(ApprovalEntry):
    """The approval after a person's word."""

    manifest: int


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="the digest of what was seen")]


class WordRequest(_Shape):
    """A person's yes to exactly what they saw."""

    digest: Digest
    reason: Reason | None = None


class DenialRequest(_Shape):
    """A person's no, with the reason that the asking side is told."""

    digest: Digest
    reason: Reason


class AnswerRequest(_Shape):
    """What a person says to parked work."""

    outcome: Literal["approved", "denied", "answered"]
    answer: Any = None
    reason: Reason | None = None


class AnswerAccepted(_Shape):
    """The answer is on its way."""

    message: str
    tenant: str
    outcome: str
