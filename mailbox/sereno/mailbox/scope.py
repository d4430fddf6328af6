"""The scope of a stop: everything, a tenant, one agent of it, or one subscription."""

from dataclasses import dataclass

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Scope:
    """What stands still. None is any; an agent or a subscription is one of a tenant."""

    tenant: str | None = None
    agent: str | None = None
    subscription: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Scope":
        """Read `*`, `TENANT`, `TENANT/agent/NAME` or `TENANT/subscription/NAME`. Raises ValueError."""
        if text == EVERYTHING:
            return cls()
        match text.split("/"):
            case [tenant] if tenant:
                return cls(tenant)
            case [tenant, "agent", name] if tenant and name:
                return cls(tenant, agent=name)
            case [tenant, "subscription", name] if tenant and name:
                return cls(tenant, subscription=name)
        raise ValueError(
            f"scope: expected *, TENANT, TENANT/agent/NAME or TENANT/subscription/NAME, got {text}"
        )

    def __str__(self) -> str:
        if self.tenant is None:
            return EVERYTHING
        if self.agent is not None:
            return f"{self.tenant}/agent/{self.agent}"
        return self.tenant if self.subscription is None else f"{self.tenant}/subscription/{self.subscription}"

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves the rest of its tenant alone."""
        return self.agent is not None or self.subscription is not None

    @property
    def cause(self) -> str:
        """For what its messages are held."""
        return f"stop {self}"

    def covers(self, tenant: str, agent: str, subscription: str) -> bool:
        """Whether this message or delivery stands still under it."""
        return (
            self.tenant in (None, tenant)
            and self.agent in (None, agent)
            and self.subscription in (None, subscription)
        )
