"""A grant as declared: what one principal may wake and use, or observe; or a standing prohibition."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StrictInt, StrictStr

from sereno.subscriptions.models.declared import Declared, Objection
from sereno.subscriptions.models.types import (
    AgentReference,
    Instant,
    Principal,
    ShortText,
    matching,
)

_SOURCE = re.compile(r"(?:webhook|mcp)/[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?|time|calendar|platform")
_PATTERN = re.compile(r"[A-Za-z0-9*?][A-Za-z0-9*?._:/@+-]{0,254}")

SourceName = Annotated[
    StrictStr,
    matching(_SOURCE, "a source such as webhook/zendesk, mcp/mail, time, calendar or platform, no wildcards"),
]
Pattern = Annotated[
    StrictStr, matching(_PATTERN, "a pattern such as agent:triage, webhook/* or com.zendesk.*, with * and ?")
]
Right = Literal["use", "wake"]


class GrantSpec(Declared):
    """Exactly one of an agent, a source, or (with `deny`) a prohibition that wins over every grant.

    It takes both rights on an agent to have it woken; `subscriptions` is how many its holder may have on the agent.
    """

    exactly_one: ClassVar = ("agent", "source", "deny")
    needs: ClassVar = {"agent": ("to",), "source": ("to",), "rights": ("agent",), "subscriptions": ("agent",)}
    refuses: ClassVar = {"deny": ("expires", "rights", "subscriptions")}

    to: Principal | None = None
    agent: AgentReference | None = None
    source: SourceName | None = None
    deny: Pattern | None = None
    rights: Annotated[tuple[Right, ...], Field(max_length=2)] = ()
    subscriptions: Annotated[StrictInt, Field(ge=1, le=100_000)] | None = None
    expires: Instant | None = None
    reason: ShortText | None = None

    @classmethod
    def _objections(cls, raw: Mapping[str, Any]) -> Iterator[Objection]:
        yield from super()._objections(raw)
        if raw.get("agent") is not None and not raw.get("rights"):
            yield ("rights",), "required beside agent: use, wake or both"
