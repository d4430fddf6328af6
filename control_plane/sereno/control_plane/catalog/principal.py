"""Principals: people, services and nodes by name. Agents are principals too, by being declared."""

import re
from collections.abc import Collection
from typing import Literal

PrincipalKind = Literal["human", "service", "node"]
ROLES = ("admin", "operator", "author", "approver", "auditor", "viewer")
# The word before the colon is the kind, so that a name cannot pretend to be another kind.
KINDS: dict[str, PrincipalKind] = {"user": "human", "service": "service", "svc": "service", "node": "node"}
_NAME = re.compile(r"(user|service|svc|node):[A-Za-z0-9][A-Za-z0-9._@+-]{0,126}")


def kind_of(name: str) -> PrincipalKind | None:
    """The kind that a name says; None when it is no name of a principal."""
    matched = _NAME.fullmatch(name)
    return KINDS[matched[1]] if matched else None


def unknown_roles(roles: Collection[str]) -> list[str]:
    """Those that there are not."""
    return sorted(set(roles) - set(ROLES))
