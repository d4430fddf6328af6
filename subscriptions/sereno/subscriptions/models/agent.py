"""An agent as declared."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.limits import Budget
from sereno.subscriptions.models.types import LongText, Name, Principal, ShortText

Mode = Literal["observe", "draft", "ask_each_time", "auto_low_risk"]


class Identity(Declared):
    """As whom the agent acts at a source, so that its own acts do not wake it."""

    origin: ShortText
    actor: ShortText


class AgentSpec(Declared):
    """Who answers for the agent, how it takes its work, and how much at once."""

    owner: Principal
    adapter: Literal["exec", "push", "pull"]
    description: LongText | None = None
    capabilities: Annotated[tuple[Name, ...], Field(max_length=64)] = ()
    concurrency: Annotated[StrictInt, Field(ge=1, le=10_000)] | None = None
    mode: Mode | None = None
    budget: Budget | None = None
    egress: Literal["local", "remote"] | None = None
    identities: Annotated[tuple[Identity, ...], Field(max_length=64)] = ()
