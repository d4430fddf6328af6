"""A connector as declared: an MCP server, what of it may be used, and by whose leave."""

import re
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, AnyUrl, Field, StrictInt, StrictStr

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.types import (
    ActivationRate,
    Duration,
    Principal,
    SecretReference,
    ShortText,
    Size,
    Text,
    matching,
)
from sereno.subscriptions.rate import Rate

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_TOOL = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# Larger answers than this are never read whole.
LARGEST_ANSWER = 16 * 1024 * 1024
LONGEST_CALL = timedelta(minutes=1)

Variable = Annotated[StrictStr, matching(_VARIABLE, "the name of an environment variable such as API_TOKEN")]
HeaderName = Annotated[StrictStr, matching(_HEADER, "the name of an HTTP header such as Authorization")]
ToolName = Annotated[StrictStr, matching(_TOOL, "the name of a tool such as git_log, no wildcards")]
DefinitionHash = Annotated[StrictStr, matching(_SHA256, "64 lower-case hexadecimal digits of SHA-256")]
Cel = Annotated[StrictStr, Field(min_length=1, max_length=1_000)]


def _check_url(url: AnyUrl) -> AnyUrl:
    if url.scheme not in ("https", "http") or not url.host:
        raise ValueError("expected a URL such as https://mcp.example/mcp")
    if url.username or url.password:
        raise ValueError("expected a URL without a user or password in it: credentials name them")
    return url


def _check_hourly(rate: Rate) -> Rate:
    if rate.per != "hour":
        raise ValueError("expected calls per hour, such as 600/hour")
    return rate


class StdioServer(Declared):
    """A server that the listeners start: its command, and all of its environment.

    Credentials are variables whose value is read where the listeners run; nothing else is inherited.
    """

    command: Annotated[tuple[Text, ...], Field(min_length=1, max_length=64)]
    environment: Annotated[dict[Variable, StrictStr], Field(max_length=64)] = Field(default_factory=dict)
    credentials: Annotated[dict[Variable, SecretReference], Field(max_length=16)] = Field(
        default_factory=dict
    )


class HttpServer(Declared):
    """A server that speaks streamable HTTP. Credentials are headers, such as Authorization."""

    url: Annotated[AnyUrl, AfterValidator(_check_url), Field(max_length=2_000)]
    credentials: Annotated[dict[HeaderName, SecretReference], Field(max_length=16)] = Field(
        default_factory=dict
    )


class Transport(Declared):
    """How the server is reached: exactly one way."""

    exactly_one: ClassVar = ("stdio", "http")

    stdio: StdioServer | None = None
    http: HttpServer | None = None


class AllowedTool(Declared):
    """A tool that may be called, with which arguments (JSON Schema), and what its definition must be.

    Without `sha256` the definition that is met first is pinned. What the server's annotations say permits nothing.
    """

    tool: ToolName
    arguments: dict[str, Any]
    access: Literal["read", "write"] = "read"
    sha256: DefinitionHash | None = None


class Account(Declared):
    """As whom the server must know us: `is` reads the id in the answer of a tool, whenever a connection is made."""

    id: ShortText
    tool: ToolName
    arguments: dict[str, Any] = Field(default_factory=dict)
    is_: Annotated[Cel, Field(alias="is")]


class ConnectorLimits(Declared):
    """How long one call may take, how much of its answer is read, how many calls, and how many at once."""

    time: Annotated[Duration, Field(le=LONGEST_CALL)] = timedelta(seconds=10)
    bytes: Annotated[Size, Field(ge=1, le=LARGEST_ANSWER)] = 1024 * 1024
    calls: Annotated[ActivationRate, AfterValidator(_check_hourly)] = Rate(3_600, "hour")
    in_flight: Annotated[StrictInt, Field(ge=1, le=64)] = 1


class ConnectorSpec(Declared):
    """Who answers for the connection, what for, how far it reaches, how long what it brings is kept, how it is ended."""

    owner: Principal
    purpose: ShortText
    scope: ShortText
    retention: Duration
    control: ShortText
    sensitivity: Literal["public", "internal", "confidential"]
    egress: Literal["local", "remote"]
    transport: Transport
    allow: Annotated[tuple[AllowedTool, ...], Field(min_length=1, max_length=200)]
    account: Account | None = None
    limits: ConnectorLimits = ConnectorLimits()

    def allowed(self, tool: str) -> AllowedTool | None:
        """The entry of the allow-list for a tool."""
        return next((entry for entry in self.allow if entry.tool == tool), None)
