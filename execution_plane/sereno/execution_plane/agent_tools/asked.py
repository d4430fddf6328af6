"""The tools themselves: what each asks of the planes, and what it answers."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import orjson

from sereno.execution_plane.agent_tools.planes import Asking, RefusedError
from sereno.execution_plane.catalog import Catalog

_SHOWN = ("name", "version", "state", "waits", "spec", "suspensions", "created_by", "updated_at")
_FORBIDDEN = 403


async def my_subscriptions(asking: Asking, catalog: Catalog) -> dict[str, Any]:
    """Those that wake this agent, as the catalog has them; as this plane has them where the catalog does not say."""
    try:
        listed = (await asking.control("GET", "/v1/subscriptions", params={"limit": "10000"}))["items"]
    except RefusedError as refused:
        if refused.status not in {0, _FORBIDDEN}:
            raise
        known = [item.model_dump(mode="json") for item in catalog.subscriptions(asking.tenant)]
        return {
            "subscriptions": _own(known, asking.agent),
            "as_of": "the last manifest",
            "because": str(refused),
        }
    return {"subscriptions": _own(listed, asking.agent), "as_of": "now"}


def _own(items: Iterable[Mapping[str, Any]], agent: str) -> list[dict[str, Any]]:
    wanted = f"agent:{agent}"
    return [
        {key: item[key] for key in _SHOWN if item.get(key) is not None}
        for item in items
        if item.get("spec", {}).get("agent") == wanted and item.get("state") != "deleted"
    ]


async def request_subscription(
    asking: Asking, name: str, spec: Mapping[str, Any], reason: str | None
) -> dict[str, Any]:
    """Ask for a subscription of one's own: a person sees exactly this text, and nothing wakes before they agree."""
    me = f"agent:{asking.agent}"
    wanted = {"agent": me, **spec}
    if wanted.setdefault("owner", me) != me:
        raise RefusedError(f"owner: expected {me}: an agent asks in its own name")
    document = {
        "apiVersion": "sereno/v1",
        "kind": "Subscription",
        "metadata": {"name": name, "tenant": asking.tenant},
        "spec": wanted,
    }
    # JSON is YAML, and has one reading.
    body = {"documents": orjson.dumps(document).decode(), "reason": reason}
    [made] = (await asking.control("POST", "/v1/apply", json=body))["objects"]
    found: dict[str, Any] = {
        key: made[key] for key in ("name", "version", "state", "change", "waits") if key in made
    }
    return found


async def why_refused(asking: Asking, name: str) -> dict[str, Any]:
    """What became of a request: what it waits for, who refused it and why, or what ended it later."""
    listed = (await asking.control("GET", "/v1/approvals", params={"limit": "1000"}))["items"]
    shown = ("id", "state", "waits", "asked_at", "expires", "resolved_by", "reason", "digest")
    requests = [
        {key: one[key] for key in shown if one.get(key) is not None}
        for one in listed
        if one["kind"] == "Subscription" and one["name"] == name
    ]
    found = await asking.control("GET", f"/v1/subscriptions/{quote(name, safe='')}")
    if not _own([{**found, "state": ""}], asking.agent) and not requests:
        raise RefusedError(
            f"subscription {name} is not yours: it wakes another agent, and you did not ask for it"
        )
    return {
        "name": name,
        "state": found["state"],
        "requests": requests,
        "suspensions": found.get("suspensions", []),
    }


async def claim(
    asking: Asking, *, most: int, lease_seconds: float | None, wait_seconds: float, incarnation: str
) -> dict[str, Any]:
    """Messages of one's own mailbox, each with the token of its lease."""
    body = {"max": most, "wait_seconds": wait_seconds, "incarnation": incarnation}
    if lease_seconds is not None:
        body["lease_seconds"] = lease_seconds
    path = f"/v1/mailboxes/{quote(asking.agent, safe='')}/claim"
    answer: dict[str, Any] = await asking.execution("POST", path, json=body, params={"tenant": asking.tenant})
    return answer


async def lease(asking: Asking, verb: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """One verb for one lease; what is no longer current is refused with its status."""
    body = {"items": [{key: value for key, value in item.items() if value is not None}]}
    [answer] = (await asking.execution("POST", f"/v1/leases/{verb}", json=body))["items"]
    found: dict[str, Any] = answer
    return found


async def explain(
    asking: Asking, identifier: str, *, why_not: bool, subscription: str | None
) -> dict[str, Any]:
    """Why this woke the agent, or why not, from what was stored when it was decided."""
    params = {"why_not": "true" if why_not else None, "subscription": subscription}
    answer: dict[str, Any] = await asking.execution(
        "GET",
        f"/v1/explain/{quote(identifier, safe='')}",
        params={key: value for key, value in params.items() if value is not None},
    )
    return answer
