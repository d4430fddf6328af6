"""Policies of a tenant as declared: Cedar text, how many people release it, and the tests it has to pass."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from sereno.subscriptions.models.agent import Mode
from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.grant import SourceName
from sereno.subscriptions.models.types import AgentReference, EventType, Name, Principal, ShortText
from sereno.subscriptions.policy.decision import Action, Role

PrincipalKind = Literal["human", "agent", "service", "node"]


class PolicyTest(Declared):
    """One question with the answer that is expected; `granted` are agents and sources that a grant gives."""

    needs: ClassVar = {"types": ("source",)}

    who: Principal
    kind: PrincipalKind = "human"
    roles: Annotated[tuple[Role, ...], Field(max_length=6)] = ()
    granted: Annotated[tuple[AgentReference | SourceName, ...], Field(max_length=64)] = ()
    enabled: StrictBool = Field(default=False, description="the agent may ask for itself")
    can: Action
    agent: AgentReference | None = None
    source: SourceName | None = None
    types: Annotated[tuple[EventType, ...], Field(max_length=64)] = ()
    mode: Mode = "ask_each_time"
    owner: Principal | None = None
    asked_by: Principal | None = None
    edit: StrictBool = False
    widens: StrictBool = False
    capacity: StrictBool = True
    expect: Literal["allow", "deny"]
    rule: Name | None = None


class PolicySpec(Declared):
    """Policies beside the shipped ones; what widens them waits until `quorum` other people have released it."""

    description: ShortText | None = None
    cedar: Annotated[StrictStr, Field(min_length=1, max_length=100_000)]
    quorum: Annotated[StrictInt, Field(ge=1, le=9)] = 1
    tests: Annotated[tuple[PolicyTest, ...], Field(max_length=1000)] = ()
