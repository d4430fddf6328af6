"""How far a principal reaches, in the form that the statements take."""

from dataclasses import dataclass

from sereno.mailbox.principal import Principal


@dataclass(frozen=True, slots=True)
class Reach:
    """A principal as the statements take it: null columns mean no restriction."""

    tenant: str | None
    agents: list[str] | None
    token: int | None
    name: str | None

    @classmethod
    def of(cls, principal: Principal) -> "Reach":
        """Who shows a lease bearer acts for the holder that claimed it, so has no name of its own here."""
        return cls(
            None if principal.tenant == "*" else principal.tenant,
            None if principal.agents is None else sorted(principal.agents),
            principal.token,
            principal.name if principal.token is None else None,
        )

    @property
    def filter(self) -> tuple[str | None, list[str] | None]:
        """Tenant and agents, in the order of the statements."""
        return self.tenant, self.agents

    def may_name(self, token: int) -> bool:
        """Whether this principal may ask about that lease at all."""
        return self.token is None or self.token == token
