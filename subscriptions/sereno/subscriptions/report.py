"""What the execution plane tells the control plane about subscriptions: counted outcomes, never content."""

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

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


def dumps(report: ActivityReport) -> bytes:
    """The report as the payload of an outbox row."""
    return report.model_dump_json().encode()


def loads(payload: bytes) -> ActivityReport:
    """The report in a payload; raises `ValueError` (pydantic's) when it is not one."""
    return ActivityReport.model_validate_json(payload)
