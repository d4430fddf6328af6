"""`sereno sub label` and `sereno sub quality`."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sereno.mailbox.cli.client import Client, segment
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

ANSWERED_WITHIN_SECONDS = 160.0
_COLUMNS = (
    "criterion",
    "version",
    "in force",
    "met",
    "not met",
    "errors",
    "labelled",
    "precision",
    "recall",
    "recheck due",
)
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Tenant = Annotated[str | None, typer.Option(help="only this tenant")]
ExecutionUrl = Annotated[str | None, typer.Option(help="URL of the execution plane")]
Token = Annotated[str | None, typer.Option(help="bearer token")]
Data = Annotated[Path | None, typer.Option(help="data folder of sereno up")]


class Word(StrEnum):
    """What is said of a verdict."""

    RIGHT = "right"
    WRONG = "wrong"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    subscriptions = group(app, "sub", "Subscriptions: what wakes whom, and within which limits.")
    subscriptions.command("label")(label)
    subscriptions.command("quality")(quality)


def label(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="rcp_…, msg_… or an event's id.")],
    word: Annotated[Word, typer.Argument(metavar="WORD", help="right or wrong: what its verdict was.")],
    *,
    subscription: Annotated[
        str | None, typer.Option(help="whose verdict, where several judged the event")
    ] = None,
    tenant: Tenant = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Say whether a verdict was right or wrong; the last word counts, and what is edited is replayed over it."""
    url, bearer = discover(execution_url=execution_url, token=token, data=data).execution()
    body = {"event": event, "label": word.value, "subscription": subscription}
    answer = Client(url, bearer).post("/v1/labels", body, tenant=tenant)
    if json:
        print_json(answer)
        return
    said = "met the criterion" if answer["met"] else "did not meet the criterion"
    typer.echo(f"{answer['event']} {said} of {answer['subscription']}: {answer['label']}")


def quality(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its metadata.name.")],
    *,
    replay: Annotated[
        bool, typer.Option("--replay", help="judge what was labelled again, with the criterion as it stands")
    ] = False,
    criterion: Annotated[
        str | None, typer.Option(help="with --replay: another criterion than the subscription's")
    ] = None,
    tenant: Tenant = None,
    control_url: Annotated[str | None, typer.Option(help="URL of the control plane")] = None,
    execution_url: ExecutionUrl = None,
    token: Token = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Count a condition's verdicts by version of the criterion, with precision and recall by what people labelled."""
    found = discover(control_url=control_url, execution_url=execution_url, token=token, data=data)
    path = f"/v1/subscriptions/{segment(name, 'NAME')}"
    if replay or criterion is not None:
        client = Client(*found.control(), timeout=ANSWERED_WITHIN_SECONDS)
        answer = client.post(f"{path}/replay", {"criterion": criterion}, tenant=tenant)
    else:
        answer = Client(*found.execution()).get(f"{path}/quality", tenant=tenant)
    if json:
        print_json(answer)
    elif replay or criterion is not None:
        _show_replay(answer)
    else:
        print_table(_COLUMNS, map(_row, answer["criteria"]))
        typer.echo("judged, not verified; precision and recall are of what people labelled")


def _row(known: Mapping[str, Any]) -> list[Any]:
    due = known["recheck_due"]
    return [
        known["criterion"],
        known["criterion_version"],
        "yes" if known["in_force"] else "no",
        *(known[name] for name in ("met", "not_met", "errors", "labelled", "precision", "recall")),
        None if due is None else due["reason"],
    ]


def _show_replay(answer: Mapping[str, Any]) -> None:
    before, after = answer["before"], answer["after"]
    typer.echo(
        f"{answer['labelled']} labelled: {before['right']} were right, {after['right']} are now"
        f" (precision {after['precision']}, recall {after['recall']}, {answer['errors']} errors)"
    )
    if answer["gone"]:
        typer.echo(f"{answer['gone']} more were labelled, whose events are not kept any more")
    for one in answer["changed"]:
        better = "right now" if one["met"] == one["meant"] else "wrong now"
        typer.echo(f"{one['event']}: {better}")
