"""A policy set as text: the shipped defaults and what a tenant adds, checked against the schema, known by its hash."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import cedarpy

VERSION_DIGITS = 16


@dataclass(frozen=True, slots=True)
class PolicyText:
    """Cedar policies and the schema they are written against; `version` is the hash that stands with each decision."""

    policies: str
    schema: str

    @property
    def version(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 over schema and policies."""
        return _version(self.schema, self.policies)

    def adding(self, *texts: str) -> "PolicyText":
        """The same with a tenant's own policies after it."""
        return PolicyText("\n".join((self.policies, *texts)), self.schema) if texts else self


@lru_cache(maxsize=64)
def _version(schema: str, policies: str) -> str:
    return hashlib.sha256(f"{schema}\0{policies}".encode()).hexdigest()[:VERSION_DIGITS]


@lru_cache(maxsize=1)
def default() -> PolicyText:
    """The shipped policy."""
    folder = files("sereno.subscriptions.policy")
    return PolicyText(
        folder.joinpath("default.cedar").read_text(encoding="utf-8"),
        folder.joinpath("schema.cedarschema").read_text(encoding="utf-8"),
    )


def objections(text: str) -> list[str]:
    """What is wrong with a tenant's own policies: they must parse, fit the schema, and each have an `@id` of its own."""
    shipped = default()
    try:
        own = _policies(text)
    except ValueError as fault:
        return [f"expected Cedar policies: {fault}"]
    if not own:
        return ["expected at least one policy"]
    result = cedarpy.validate_policies(text, shipped.schema)
    names = result.id_annotations_by_policy_id
    found = [f"{names.get(one.policy_id, one.policy_id)}: {one.error}" for one in result.errors]
    return found + list(_naming(own, _policies(shipped.policies)))


def _naming(own: Mapping[str, Any], shipped: Mapping[str, Any]) -> Iterator[str]:
    taken = {_name(policy) for policy in shipped.values()}
    for key, policy in own.items():
        name = _name(policy)
        if name is None:
            yield f'{key}: every policy needs a name of its own, such as @id("night-forbids")'
        elif name in taken:
            yield f"{name}: another policy has this @id already"
        taken.add(name)


def widens(before: str | None, after: str | None) -> bool:
    """Whether going from one text to another could allow what was not allowed: a permit more, or a forbid less."""
    old, new = _by_effect(before), _by_effect(after)
    return bool(new["permit"] - old["permit"] or old["forbid"] - new["forbid"])


def _by_effect(text: str | None) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"permit": set(), "forbid": set()}
    for policy in _policies(text).values() if text else ():
        found[policy["effect"]].add(json.dumps(policy, sort_keys=True))
    return found


def _name(policy: Mapping[str, Any]) -> str | None:
    return (policy.get("annotations") or {}).get("id") or None


@lru_cache(maxsize=256)
def _policies(text: str) -> Mapping[str, Any]:
    parsed: Mapping[str, Any] = json.loads(cedarpy.policies_to_json_str(text))["staticPolicies"]
    return parsed
