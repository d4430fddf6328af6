"""Whether the execution plane works from a manifest version yet."""

import time
from collections.abc import Mapping
from typing import Any

from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.exits import CommandError

PATIENCE_SECONDS = 5.0
_EVERY_SECONDS = 0.1


def wait(found: Discovery, wanted: Mapping[str, int]) -> str | None:
    """Wait until the execution plane reports these versions; else, after five seconds, a sentence why it does not."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        missing = _missing(found, wanted)
        if missing is None or time.monotonic() >= deadline:
            return missing
        time.sleep(_EVERY_SECONDS)


def _missing(found: Discovery, wanted: Mapping[str, int]) -> str | None:
    try:
        reported = Client(*found.execution(), timeout=PATIENCE_SECONDS).get("/v1/manifest")
    except CommandError as fault:
        return f"the execution plane cannot be asked whether it works from it yet: {fault.message}"
    behind = [tenant for tenant, version in sorted(wanted.items()) if _version(reported, tenant) < version]
    if not behind:
        return None
    return (
        f"not in force yet for {', '.join(behind)}: the execution plane has not reported it within"
        f" {PATIENCE_SECONDS:g} s; it will take it over by itself"
    )


def _version(reported: Mapping[str, Any], tenant: str) -> int:
    return int(reported.get(tenant, {}).get("version", 0))
