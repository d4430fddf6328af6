"""What the execution plane tells the control plane about subscriptions: counted outcomes and suspensions, never content."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

Outcome = Literal["delivered", "merged", "dropped", "held", "suspended", "awaiting_verdict", "error"]


class Activity(BaseModel):
    """How often one subscription came to one outcome since the last report, and when last."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subscription: str = Field(min_length=1)
    outcome: Outcome
    count: int = Field(ge=1)
    last_at: AwareDatetime


class ActivityReport(BaseModel):
    """One message on `sereno.reports.<plane>.<tenant>`; it is counted once, known by its outbox position."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["sereno.report.activity"] = "sereno.report.activity"
    schema_version: Literal[1] = 1
    tenant: str = Field(min_length=1)
    items: tuple[Activity, ...]


class SuspensionReport(BaseModel):
    """A suspension that began: what a person has to know to lift it. It is told once, known by its id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["sereno.report.suspension"] = "sereno.report.suspension"
    schema_version: Literal[1] = 1
    tenant: str = Field(min_length=1)
    id: UUID
    subscription: str = Field(min_length=1)
    cause: str = Field(min_length=1)
    subject: str | None = None
    at: AwareDatetime
    sentence: str


class SuspensionEnded(BaseModel):
    """A suspension that was lifted on the execution plane: the manifest need not name it any more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["sereno.report.suspension.ended"] = "sereno.report.suspension.ended"
    schema_version: Literal[1] = 1
    tenant: str = Field(min_length=1)
    id: UUID
    subscription: str = Field(min_length=1)
    at: AwareDatetime


class AuditEndReport(BaseModel):
    """The end of a tenant's audit chain on the sending plane, as that plane's audit key signed it: a checkpoint of one chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["sereno.report.audit.end"] = "sereno.report.audit.end"
    schema_version: Literal[1] = 1
    tenant: str = Field(min_length=1)
    signed: str = Field(min_length=1)


class StopReport(BaseModel):
    """A stop that began on the execution plane; it is told once, known by its id. The tenant is `*` for all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["sereno.report.stop"] = "sereno.report.stop"
    schema_version: Literal[1] = 1
    tenant: str = Field(min_length=1)
    id: UUID
    scope: str = Field(min_length=1)
    reason: str
    by: str
    at: AwareDatetime


class NoticeReport(BaseModel):
    """Something that a person should know, or should know again: the same `cause` is one notice. Tenant `*`: for all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["sereno.report.notice"] = "sereno.report.notice"
    schema_version: Literal[1] = 1
    tenant: str = Field(min_length=1)
    cause: str = Field(min_length=1)
    kind: str
    text: str
    data: dict[str, Any]
    count: int = Field(ge=1)
    at: AwareDatetime


Report = ActivityReport | SuspensionReport | SuspensionEnded | AuditEndReport | StopReport | NoticeReport
"""What one message on `sereno.reports.<plane>.<tenant>` may be."""
_ADAPTER: TypeAdapter[Report] = TypeAdapter(Annotated[Report, Field(discriminator="type")])


def dumps(report: Report) -> bytes:
    """The report as the payload of an outbox row."""
    return report.model_dump_json().encode()


def loads(payload: bytes) -> Report:
    """The report in a payload; raises `ValueError` (pydantic's) when it is none."""
    return _ADAPTER.validate_json(payload)
