"""Who asks: the principal of a token, its tenant, and how far the token itself reaches."""

from dataclasses import dataclass
from datetime import datetime

from sereno.control_plane.catalog.token import EVERY_TENANT
from sereno.subscriptions.models.metadata import DEFAULT_TENANT
from sereno.subscriptions.policy.authority import Asking


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal with one of its tokens; `scopes` narrow what the principal may do, none narrows nothing."""

    name: str
    tenant: str = EVERY_TENANT
    scopes: frozenset[str] = frozenset()
    token: str | None = None

    @property
    def home(self) -> str:
        """The tenant that is meant when none is named."""
        return DEFAULT_TENANT if self.tenant == EVERY_TENANT else self.tenant

    def reaches(self, tenant: str) -> bool:
        """Whether anything of this tenant is the caller's to see."""
        return self.tenant in {EVERY_TENANT, tenant}

    def asking(self, tenant: str, at: datetime) -> Asking:
        """The same as the policy sees it."""
        return Asking(self.name, at, self.reaches(tenant), self.scopes)
