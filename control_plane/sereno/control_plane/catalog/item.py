"""One object of the catalog: its address, and its state folded from its events."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sereno.subscriptions.lifecycle import State

Kind = Literal[
    "Tenant", "Agent", "Endpoint", "Connector", "Token", "Subscription", "Principal", "Grant", "Policy"
]


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Where an object lives: tenant, kind and name are unique together, also after its deletion."""

    tenant: str
    kind: Kind
    name: str

    @property
    def stream(self) -> str:
        """The name of its event stream within the tenant."""
        return f"{self.kind.lower()}/{self.name}"

    def __str__(self) -> str:
        return f"{self.kind} {self.name} of tenant {self.tenant}"


@dataclass(frozen=True, slots=True)
class Item:
    """An object as its events made it: `version` counts the texts it had, `revision` all its events."""

    address: Address
    id: UUID
    version: int
    revision: int
    state: State
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    token_sha256: str | None
    created_by: str
    created_at: datetime
    updated_at: datetime

    @property
    def kind(self) -> str:
        """What it is."""
        return self.address.kind

    @property
    def name(self) -> str:
        """Its name within tenant and kind."""
        return self.address.name

    @property
    def live(self) -> bool:
        """Whether it exists for others: not deleted."""
        return self.state is not State.DELETED
