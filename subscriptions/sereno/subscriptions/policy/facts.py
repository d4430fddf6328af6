"""What decisions rest on: principals, agents, grants and denials of one tenant, read from its declared objects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Protocol

from sereno.subscriptions.lifecycle import State
from sereno.subscriptions.models.types import parse_instant
from sereno.subscriptions.policy.decision import Resource, Subject
from sereno.subscriptions.policy.text import PolicyText, default

SELF_SUBSCRIBE = "subscribe"
"""The capability by which an agent may ask for subscriptions for itself."""
SHIPPED = "sereno-default"
"""The policy object of a manifest that carries the shipped policies, so that a plane decides by the pinned version."""


class Declared(Protocol):
    """An object of the catalog in either plane."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def spec(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Person:
    """A declared principal."""

    name: str
    kind: str
    roles: frozenset[str]
    state: str


@dataclass(frozen=True, slots=True)
class Agent:
    """A declared agent, as far as rights go."""

    name: str
    owner: str
    suspended: bool
    self_subscribes: bool

    @property
    def resource(self) -> Resource:
        """The entity of the schema."""
        return Resource(
            "Agent", self.name, {"suspended": self.suspended, "self_subscribes": self.self_subscribes}
        )


@dataclass(frozen=True, slots=True)
class Grant:
    """What a principal may wake and use, or observe, until when; `subscriptions` is how many it may have on the agent."""

    name: str
    to: str
    agent: str | None
    source: str | None
    rights: frozenset[str]
    subscriptions: int | None
    expires: datetime | None

    def live(self, at: datetime) -> bool:
        """Whether it holds at this instant."""
        return self.expires is None or at < self.expires


@dataclass(frozen=True, slots=True)
class Denial:
    """A standing prohibition: nothing whose name fits the pattern; for everybody, or for one recipient."""

    name: str
    pattern: str
    recipient: str | None

    def covers(self, things: Iterable[str], recipients: Iterable[str]) -> bool:
        """Whether one of the things is meant, for one of the recipients."""
        if self.recipient is not None and self.recipient not in set(recipients):
            return False
        return any(fnmatchcase(thing, self.pattern) for thing in things)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that rights in one tenant depend on."""

    policy: PolicyText = field(default_factory=default)
    people: Mapping[str, Person] = field(default_factory=dict)
    agents: Mapping[str, Agent] = field(default_factory=dict)
    grants: tuple[Grant, ...] = ()
    denials: tuple[Denial, ...] = ()

    def subject(self, name: str, at: datetime) -> Subject | None:
        """The principal with what its grants give now; None when nobody is known by the name, or was removed."""
        known = self._known(name)
        if known is None:
            return None
        own = [grant for grant in self.grants if grant.to == name and grant.live(at)]
        return replace(
            known,
            wakes=frozenset(g.agent for g in own if g.agent and "wake" in g.rights),
            uses=frozenset(g.agent for g in own if g.agent and "use" in g.rights),
            observes=frozenset(g.source for g in own if g.source),
        )

    def _known(self, name: str) -> Subject | None:
        if name.startswith("agent:"):
            agent = self.agents.get(name.removeprefix("agent:"))
            return Subject(name, "agent", suspended=agent.suspended) if agent else None
        person = self.people.get(name)
        if person is None or person.state == State.DELETED:
            return None
        return Subject(name, person.kind, person.roles, person.state != State.ACTIVE)

    def itself(self, name: str) -> Resource | None:
        """The agent that a principal is."""
        agent = self.agents.get(name.removeprefix("agent:")) if name.startswith("agent:") else None
        return agent.resource if agent else None

    def denied(self, things: Iterable[str], recipients: Iterable[str]) -> bool:
        """Whether a standing prohibition covers this."""
        listed, who = list(things), list(recipients)
        return any(denial.covers(listed, who) for denial in self.denials)


def facts_of(objects: Iterable[Declared], base: PolicyText | None = None) -> Facts:
    """The facts in a tenant's objects; `base` are the shipped policies where no object carries them."""
    shipped, own = base or default(), list[str]()
    people: dict[str, Person] = {}
    agents: dict[str, Agent] = {}
    grants: list[Grant] = []
    denials: list[Denial] = []
    for item in sorted(objects, key=lambda item: (item.kind, item.name)):
        live = item.state != State.DELETED
        if item.kind == "Principal":
            people[item.name] = Person(
                item.name, item.spec["kind"], frozenset(item.spec.get("roles", ())), item.state
            )
        elif item.kind == "Agent" and live:
            agents[item.name] = _agent(item)
        elif item.kind == "Grant" and live:
            found = _grant(item)
            denials.append(found) if isinstance(found, Denial) else grants.append(found)
        elif item.kind == "Policy" and item.name == SHIPPED:
            shipped = PolicyText(item.spec["cedar"], item.spec["schema"])
        elif item.kind == "Policy" and item.state == State.ACTIVE:
            own.append(str(item.spec["cedar"]))
    return Facts(shipped.adding(*own), people, agents, tuple(grants), tuple(denials))


def _agent(item: Declared) -> Agent:
    capable = SELF_SUBSCRIBE in item.spec.get("capabilities", ())
    return Agent(item.name, str(item.spec.get("owner", "")), item.state != State.ACTIVE, capable)


def _grant(item: Declared) -> Grant | Denial:
    spec = item.spec
    if spec.get("deny"):
        return Denial(item.name, spec["deny"], spec.get("to"))
    agent, expires = spec.get("agent"), spec.get("expires")
    return Grant(
        name=item.name,
        to=spec["to"],
        agent=agent.removeprefix("agent:") if agent else None,
        source=spec.get("source"),
        rights=frozenset(spec.get("rights", ())),
        subscriptions=spec.get("subscriptions"),
        expires=parse_instant(expires) if isinstance(expires, str) else expires,
    )
