"""Reading objects of the catalog for people and for programs."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import yaml

from sereno.mailbox.cli.client import Client, segment


def every(client: Client, path: str, tenant: str | None) -> Iterator[Mapping[str, Any]]:
    """All objects of a collection, page by page."""
    after: str | None = None
    while True:
        page = client.get(path, tenant=tenant, after=after)
        yield from page["items"]
        after = page["next"]
        if after is None:
            return


def one(client: Client, path: str, name: str, tenant: str | None, *more: str) -> Any:
    """One object of a collection, or what lies below it."""
    return client.get("/".join((path, segment(name, "NAME"), *more)), tenant=tenant)


def local(time: str | None) -> str | None:
    """A time in the reader's own zone, to the second."""
    return datetime.fromisoformat(time).astimezone().isoformat(sep=" ", timespec="seconds") if time else None


def as_yaml(value: Any) -> str:
    """The same as YAML, which people read more easily."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100).rstrip()
