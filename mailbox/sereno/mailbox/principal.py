"""The principal: in whose name a mailbox is read or a lease is used, and how far that reaches."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Principal:
    """A name as events carry it (`user:…`, `agent:…`), one tenant or `*`, and the agents whose mailboxes it serves.

    `agents` is None for every agent of the tenant. `token` is set when the caller showed a lease
    bearer: then nothing but that one lease is in reach. `rights` are what policies allow besides (`read`, `audit`);
    None, where no policies travel, is whatever the agents allow.
    """

    name: str
    tenant: str = "*"
    agents: frozenset[str] | None = None
    token: int | None = None
    rights: frozenset[str] | None = None

    def reaches(self, tenant: str, agent: str) -> bool:
        """Whether the mailbox of `agent` in `tenant` is this principal's to serve."""
        return (
            self.token is None
            and self.tenant in {"*", tenant}
            and (self.agents is None or agent in self.agents)
        )

    @property
    def audits(self) -> bool:
        """Whether the audit chain of its tenant may be read."""
        return self._may("audit")

    def reader(self) -> "Principal":
        """The same for a question that changes nothing and shows no payload: who may read reads about every agent."""
        return replace(self, agents=None) if self._may("read") else self

    def _may(self, right: str) -> bool:
        if self.token is not None:
            return False
        return self.agents is None if self.rights is None else right in self.rights

    @property
    def home(self) -> str:
        """The tenant to work in when the caller names none."""
        return "default" if self.tenant == "*" else self.tenant


SYSTEM = Principal("system:mailbox")
"""Sereno itself: the reaper, and work inside one process."""
