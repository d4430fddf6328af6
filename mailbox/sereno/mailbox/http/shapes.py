"""The shapes of the mailbox's HTTP verbs; a field out of bounds is refused by name."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from sereno.envelope.identifiers import from_people, to_people
from sereno.mailbox.dead_letter import Filter
from sereno.mailbox.lease_items import (
    AckItem,
    Answer,
    Claimed,
    EmitItem,
    ParkItem,
    ReleaseItem,
    RenewItem,
    Status,
)
from sereno.mailbox.refusals import MAX_REMINDER_SECONDS, expect_json
from sereno.mailbox.verbs import MAX_BATCH

MAX_LEASE_SECONDS = 86_400.0
MAX_WAIT_SECONDS = 60.0
MAX_AGE_SECONDS = 100 * 366 * 86_400.0
_MAX_TOKEN = (1 << 63) - 1


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _small(value: Any) -> Any:
    try:
        expect_json("value", value)
    except ValueError as fault:
        raise ValueError(str(fault).removeprefix("value: ")) from fault
    return value


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without the NUL character, which PostgreSQL cannot keep")
    return text


Stored = Annotated[str, AfterValidator(_storable)]
Token = Annotated[int, Field(gt=0, le=_MAX_TOKEN, strict=True, description="Names the lease.")]
Small = Annotated[Any, AfterValidator(_small)]


class ClaimBody(_Body):
    """What a worker asks for; without `lease_seconds` the message says how long."""

    max: int = Field(1, ge=1, le=MAX_BATCH, strict=True)
    lease_seconds: float | None = Field(None, ge=1, le=MAX_LEASE_SECONDS, strict=True)
    wait_seconds: float = Field(0, ge=0, le=MAX_WAIT_SECONDS, strict=True)
    incarnation: Stored = Field("", max_length=200, description="Names this very process of the worker.")


class RenewBodyItem(_Body):
    token: Token
    progress: Small = None

    def item(self) -> RenewItem:
        return RenewItem(self.token, self.progress)


class AckBodyItem(_Body):
    token: Token
    result: Small = None
    usage: Annotated[dict[str, Any] | None, AfterValidator(_small)] = None

    def item(self) -> AckItem:
        return AckItem(self.token, self.result, self.usage)


class ReleaseBodyItem(_Body):
    token: Token
    reason: Stored = Field(min_length=1, max_length=500)
    retry_after: float | None = Field(None, ge=0, le=MAX_LEASE_SECONDS, strict=True, description="Seconds.")

    def item(self) -> ReleaseItem:
        return ReleaseItem(self.token, self.reason, self.retry_after)


class CheckBodyItem(_Body):
    token: Token


class ParkBodyItem(_Body):
    token: Token
    waiting_for: Literal["approval", "question", "dependency"]
    question: Stored | None = Field(None, min_length=1, max_length=2000)
    options: list[Annotated[Stored, Field(min_length=1, max_length=200)]] = Field([], max_length=50)
    deadline: AwareDatetime | None = None
    remind_after_seconds: float | None = Field(None, ge=1, le=MAX_REMINDER_SECONDS, allow_inf_nan=False)
    dependency: str | None = Field(None, description="The message to wait for, `msg_…`.")

    def item(self) -> ParkItem:
        return ParkItem(
            self.token,
            self.waiting_for,
            self.question,
            self.options,
            self.deadline,
            self.remind_after_seconds,
            None if self.dependency is None else from_people(self.dependency)[1],
        )


class EmitBodyItem(_Body):
    token: Token
    type: Stored = Field(min_length=1, max_length=200, description="CloudEvents type.")
    data: Small = None
    subject: Stored | None = Field(None, min_length=1, max_length=1000)

    def item(self) -> EmitItem:
        return EmitItem(self.token, self.type, self.data, self.subject)


_Items = Field(min_length=1, max_length=MAX_BATCH)


class RenewBody(_Body):
    items: list[RenewBodyItem] = _Items


class AckBody(_Body):
    items: list[AckBodyItem] = _Items


class ReleaseBody(_Body):
    items: list[ReleaseBodyItem] = _Items


class CheckBody(_Body):
    items: list[CheckBodyItem] = _Items


class ParkBody(_Body):
    items: list[ParkBodyItem] = _Items


class EmitBody(_Body):
    items: list[EmitBodyItem] = _Items


class ResumeBody(_Body):
    answer: Annotated[dict[str, Any], AfterValidator(_small)]


class FilterBody(_Body):
    """Which messages; what is not given does not restrict. `reason` is why they are dead."""

    agent: Stored | None = None
    subscription: Stored | None = None
    reason: Stored | None = None
    older_than_seconds: float | None = Field(None, ge=0, le=MAX_AGE_SECONDS, allow_inf_nan=False)
    ids: list[str] | None = Field(None, max_length=MAX_BATCH)

    def filter(self, agent: str) -> Filter:
        ids = None if self.ids is None else [from_people(one)[1] for one in self.ids]
        return Filter(agent, self.subscription, self.reason, self.older_than_seconds, ids)


class OperationBody(_Body):
    """`preview` changes nothing and says how many it would be."""

    filter: FilterBody = FilterBody()
    reason: Stored = Field(min_length=1, max_length=500)
    preview: bool = False


class Count(BaseModel):
    count: int


class AnswerItem(BaseModel):
    """What became of one item; `until` and `state` where they are known."""

    token: int
    status: Status
    until: datetime | None = None
    state: str | None = None
    receiptid: str | None = None

    @classmethod
    def of(cls, answer: Answer) -> "AnswerItem":
        receipt = None if answer.receiptid is None else to_people("rcp", answer.receiptid)
        return cls(
            token=answer.token,
            status=answer.status,
            until=answer.until,
            state=answer.state,
            receiptid=receipt,
        )


class Answers(BaseModel):
    items: list[AnswerItem]


class LeaseShape(BaseModel):
    """A lease: `seconds` from one renewal to the next end, `bearer` a credential for the verbs of this lease alone."""

    token: int
    until: datetime
    hard_deadline: datetime
    seconds: float
    bearer: str


class SubscriptionShape(BaseModel):
    name: str
    version: int


class MessageShape(BaseModel):
    """One claimed message. Envelopes are flat CloudEvents; their `trust` says how far to believe them."""

    id: str
    tenant: str
    agent: str
    subscription: SubscriptionShape
    instruction: str
    envelopes: list[dict[str, Any]]
    attempts: int
    max_attempts: int
    priority: int
    serial_key: str | None
    lineage: list[dict[str, Any]]
    context: dict[str, Any]
    lease: LeaseShape
    approved_actions: list[dict[str, Any]] = []
    denied_actions: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []

    @classmethod
    def of(cls, claimed: Claimed, bearer: str) -> "MessageShape":
        lease = claimed.lease
        return cls(
            id=to_people("msg", claimed.id),
            tenant=claimed.tenant,
            agent=claimed.agent,
            subscription=SubscriptionShape(
                name=claimed.subscription.name, version=claimed.subscription.version
            ),
            instruction=claimed.instruction,
            envelopes=[dict(envelope) for envelope in claimed.envelopes],
            attempts=claimed.attempts,
            max_attempts=claimed.max_attempts,
            priority=claimed.priority,
            serial_key=claimed.serial_key,
            lineage=[dict(ancestor) for ancestor in claimed.lineage],
            context=dict(claimed.context),
            lease=LeaseShape(
                token=lease.token,
                until=lease.until,
                hard_deadline=lease.hard_deadline,
                seconds=lease.seconds,
                bearer=bearer,
            ),
            answers=[dict(answer) for answer in claimed.answers],
        )


class ClaimAnswer(BaseModel):
    messages: list[MessageShape]
