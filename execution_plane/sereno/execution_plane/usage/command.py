"""`sereno usage`."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.output import print_json, print_table
from sereno.subscriptions.models.types import format_instant, parse_instant


class By(StrEnum):
    """Whose sums."""

    TENANT = "tenant"
    AGENT = "agent"
    SUBSCRIPTION = "subscription"
    MODEL = "model"


_COUNTS = ("wakes", "dead", "evaluations", "tests")
_AMOUNTS = ("reported", "reserved", "counted")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("usage")(usage)


def usage(
    *,
    by: Annotated[By, typer.Option(help="whose sums")] = By.SUBSCRIPTION,
    from_: Annotated[str | None, typer.Option("--from", help="what ended then or later")] = None,
    to: Annotated[str | None, typer.Option(help="what ended before then")] = None,
    tenant: Annotated[str | None, typer.Option(help="only this tenant")] = None,
    execution_url: Annotated[str | None, typer.Option(help="URL of the execution plane")] = None,
    token: Annotated[str | None, typer.Option(help="bearer token")] = None,
    data: Annotated[Path | None, typer.Option(help="data folder of sereno up")] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Sum up wake-ups, evaluations and tests, and what they cost, by tenant, agent, subscription or model."""
    period = {"from": _instant("--from", from_), "to": _instant("--to", to)}
    url, bearer = discover(execution_url=execution_url, token=token, data=data).execution()
    found = Client(url, bearer).get("/v1/usage", by=by.value, tenant=tenant, **period)
    if json:
        print_json(found)
        return
    columns = ("tenant", *([] if by is By.TENANT else [by.value]), *_COUNTS, "currency", *_AMOUNTS)
    print_table(columns, [row for item in found["items"] for row in _rows(item, by)])


def _rows(item: Mapping[str, Any], by: By) -> Iterator[list[Any]]:
    """One row a currency; what was counted once stands in the first."""
    who = [item["tenant"], *([] if by is By.TENANT else [item["name"] or "not reported"])]
    counts: list[Any] = [item[name] for name in _COUNTS]
    for cost in item["costs"] or [{}]:
        yield [*who, *counts, cost.get("currency"), *(cost.get(name) for name in _AMOUNTS)]
        counts = [None] * len(_COUNTS)


def _instant(flag: str, text: str | None) -> str | None:
    try:
        return None if text is None else format_instant(parse_instant(text))
    except ValueError as fault:
        raise CommandError(f"{flag}: {fault}") from None
