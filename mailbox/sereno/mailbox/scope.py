"""The scope of a stop: everything, a tenant, or one agent, subscription, connector or family of sources."""

from collections.abc import Iterator
from dataclasses import dataclass

EVERYTHING = "*"
FAMILIES = ("time", "calendar", "webhook", "platform", "mcp")
_FORMS = "*, TENANT or TENANT/agent|subscription|connector|family/NAME"


@dataclass(frozen=True, slots=True)
class Scope:
    """What stands still. None is any; all but a family is one of a tenant."""

    tenant: str | None = None
    agent: str | None = None
    subscription: str | None = None
    connector: str | None = None
    family: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Scope":
        """Read `*`, `TENANT`, `TENANT/agent/NAME` and its like, or `*/family/NAME`. Raises ValueError."""
        if text == EVERYTHING:
            return cls()
        match text.split("/"):
            case [tenant] if tenant:
                return cls(tenant)
            case [tenant, "family", name] if tenant and name in FAMILIES:
                return cls(None if tenant == EVERYTHING else tenant, family=name)
            case [tenant, "family", name] if tenant:
                raise ValueError(f"scope: expected a family of {', '.join(FAMILIES)}, got {name}")
            case [tenant, "agent" | "subscription" | "connector" as kind, name] if name and tenant not in {
                "",
                EVERYTHING,
            }:
                return cls(tenant, **{kind: name})
        raise ValueError(f"scope: expected {_FORMS}, got {text}")

    @classmethod
    def chosen(  # the ways of naming one thing
        cls,
        *,
        reach: str,
        home: str,
        tenant: str | None = None,
        agent: str | None = None,
        subscription: str | None = None,
        connector: str | None = None,
        family: str | None = None,
    ) -> "Scope":
        """What somebody means who reaches `reach` (a tenant or `*`): with nothing named all of it. Raises ValueError."""
        narrow = {
            "agent": agent and agent.removeprefix("agent:"),
            "subscription": subscription,
            "connector": connector,
            "family": family,
        }
        named = {kind: name for kind, name in narrow.items() if name is not None}
        if len(named) > 1:
            raise ValueError(f"{', '.join(named)}: expected at most one of them")
        if tenant is not None and not tenant.strip("*"):
            raise ValueError("tenant: expected its name; leave it out to mean every tenant")
        wide = reach if not named or family is not None else home
        whose = tenant or wide
        return cls.parse("/".join((whose, *next(iter(named.items()), ()))))

    def __str__(self) -> str:
        tenant = self.tenant or EVERYTHING
        return next((f"{tenant}/{kind}/{name}" for kind, name in self._parts() if name is not None), tenant)

    def _parts(self) -> Iterator[tuple[str, str | None]]:
        yield "agent", self.agent
        yield "subscription", self.subscription
        yield "connector", self.connector
        yield "family", self.family

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves the rest of its tenant alone."""
        return any(name is not None for _, name in self._parts())

    @property
    def source(self) -> str | None:
        """The source that stands still, by its name (`mcp/mail`) or its family (`mcp`); None for any."""
        return self.family if self.connector is None else f"mcp/{self.connector}"

    @property
    def cause(self) -> str:
        """For what its messages are held."""
        return f"stop {self}"

    def covers(self, tenant: str, agent: str, subscription: str, source: str) -> bool:
        """Whether a message or delivery stands still under it; `source` is where its events come from."""
        return (
            self.tenant in (None, tenant)
            and self.agent in (None, agent)
            and self.subscription in (None, subscription)
            and self.source in (None, source, source.partition("/")[0])
        )
