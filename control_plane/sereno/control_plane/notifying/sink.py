"""Sinks as they are declared in the configuration: where notices go, to whom, and which."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from sereno.control_plane.store.notices import Inbox
from sereno.mailbox.outbound.addresses import Addresses
from sereno.mailbox.outbound.fetch import OutboundError, checked

EXAMPLE = (
    "set SERENO_NOTICE_SINKS to a JSON list such as "
    '[{"name": "ops", "kind": "webhook", "url": "https://ops.example/hook", "secret": "env:OPS_SECRET"}]'
)
Reference = Annotated[str, Field(pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.+)$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
Line = Annotated[str, Field(min_length=1, max_length=320, pattern=r"^[^\r\n]+$")]


class SinksError(Exception):
    """The sinks in the configuration cannot be used; the message is fit for a person."""


class Sink(BaseModel):
    """One sink. `person` is who receives it: links in it are good for that principal alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    inbox: tuple[Inbox, ...] = ("notify", "question", "review")
    kinds: tuple[str, ...] = Field((), description="only these kinds of notice, such as estop; empty: all")
    tenants: tuple[str, ...] = Field((), description="only these tenants; empty: all")
    person: str | None = Field(None, pattern=r"^user:.+$")

    def wants(self, notice: dict[str, Any]) -> bool:
        """Whether a notice is for it. What concerns every tenant is for all sinks."""
        return (
            notice["inbox"] in self.inbox
            and (not self.kinds or notice["kind"] in self.kinds)
            and (not self.tenants or notice["tenant_id"] in {*self.tenants, "*"})
        )


class LogSink(Sink):
    """A line in the log of the control plane."""

    kind: Literal["log"]


class _Posting(Sink):
    url: str
    networks: tuple[str, ...] = Field((), description="networks opened for it, such as 10.0.0.0/8")

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        try:
            checked(self.url)
        except OutboundError as fault:
            raise ValueError(f"url: {fault}") from fault
        Addresses.opening(self.networks)
        return self


class WebhookSink(_Posting):
    """A POST of JSON, signed as Standard Webhooks 1.0; two secrets while one is replaced."""

    kind: Literal["webhook"]
    secret: Reference
    next_secret: Reference | None = None


class NtfySink(_Posting):
    """A push of the kind of ntfy: the text as the body of a POST to a topic, title and link as headers."""

    kind: Literal["ntfy"]
    token: Reference | None = None


class EmailSink(Sink):
    """E-mail by SMTP, in TLS from the start or after STARTTLS; in clear only where `security` says so."""

    kind: Literal["email"]
    host: Line
    port: int = Field(587, ge=1, le=65535)
    security: Literal["tls", "starttls", "none"] = "starttls"
    sender: Line
    to: tuple[Line, ...] = Field(min_length=1)
    user: Line | None = None
    password: Reference | None = None


AnySink = LogSink | WebhookSink | NtfySink | EmailSink
_SINKS: TypeAdapter[tuple[AnySink, ...]] = TypeAdapter(
    tuple[Annotated[AnySink, Field(discriminator="kind")], ...]
)
LOG = LogSink(name="log", kind="log")


def read(declared: Sequence[dict[str, Any]]) -> tuple[AnySink, ...]:
    """The sinks of a configuration; with none the log. Raises `SinksError` naming each field."""
    try:
        found = _SINKS.validate_python(list(declared))
    except ValidationError as fault:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}"
            for one in fault.errors(include_input=False, include_url=False)
        )
        raise SinksError(f"SERENO_NOTICE_SINKS: {faults}; {EXAMPLE}") from None
    names = [sink.name for sink in found]
    if len(set(names)) < len(names):
        raise SinksError("SERENO_NOTICE_SINKS: expected a name of its own for each sink")
    return found or (LOG,)
