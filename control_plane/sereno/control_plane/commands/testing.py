"""`sereno sub test`: what a condition says now, without waking anybody."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sereno.control_plane.commands import files
from sereno.control_plane.commands.flags import ControlUrl, Data, Json, Tenant, Token, planes
from sereno.mailbox.cli.client import Client, ProblemError, segment
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.output import print_json, print_table

ANSWERED_WITHIN_SECONDS = 160.0
_COLUMNS = ("event", "concerned", "meets", "confidence", "evidence or why not")
LARGEST_BYTES = 900_000


def register(group: typer.Typer) -> None:
    """Add the command to the group `sub`."""
    group.command("test")(judge_now)


def judge_now(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Its metadata.name.")] = None,
    *,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A file with the subscription as it might be.")
    ] = None,
    criterion: Annotated[str | None, typer.Option(help="Another criterion than the subscription's.")] = None,
    event: Annotated[
        Path | None,
        typer.Option(help="Events to judge: CloudEvents JSON, one, a list, or one a line; - for stdin."),
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, max=50, help="How many of the events that came last, without --event.")
    ] = 10,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Judge events with a subscription's condition exactly as live: nobody is woken, nothing is written."""
    if name is None and file is None:
        raise CommandError("expected NAME, or -f FILE with the subscription")
    read = None if file is None else files.read(file)
    name = name or _only_name(read)
    body = {
        "document": None if read is None else read.text,
        "criterion": criterion,
        "events": None if event is None else events_in(event),
        "most": most,
    }
    url, bearer = planes(control_url, None, token, data).control()
    client = Client(url, bearer, timeout=ANSWERED_WITHIN_SECONDS)
    try:
        answer = client.post(f"/v1/subscriptions/{segment(name, 'NAME')}/test", body, tenant=tenant)
    except ProblemError as refusal:
        raise (read.explained(refusal) if read is not None else refusal) from refusal
    if json:
        print_json(answer)
    else:
        _show(answer)


def _only_name(read: files.Files | None) -> str:
    # Slow to import, and only this way of asking needs it.
    from sereno.subscriptions import yaml_text  # noqa: PLC0415

    trees, _ = yaml_text.read("" if read is None else read.text)
    found = [tree.value for tree in trees if isinstance(tree.value, dict)]
    names = [
        one["metadata"]["name"]
        for one in found
        if one.get("kind") == "Subscription"
        and isinstance(one.get("metadata"), dict)
        and "name" in one["metadata"]
    ]
    if len(names) != 1:
        raise CommandError(f"-f: expected one subscription, found {len(names)}; say NAME to choose")
    return str(names[0])


def events_in(path: Path) -> list[Mapping[str, Any]]:
    """The events of a file: one JSON object, a list of them, or one a line. Raises `CommandError`."""
    import orjson  # noqa: PLC0415 - only this command reads events

    content = files.content(path, LARGEST_BYTES)
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        try:
            found = [orjson.loads(line) for line in content.splitlines() if line.strip()]
        except orjson.JSONDecodeError as fault:
            raise CommandError(f"{path}: expected JSON: {fault}") from None
    events = found if isinstance(found, list) else [found]
    if not events or not all(isinstance(one, dict) for one in events):
        raise CommandError(f"{path}: expected CloudEvents as JSON objects")
    return events


def _show(answer: Mapping[str, Any]) -> None:
    typer.echo(f"{answer['criterion']}  ({answer['criterion_version']})")
    if not answer["items"]:
        typer.echo("nothing came from its source yet; give an event with --event FILE")
        return
    print_table(_COLUMNS, map(_row, answer["items"]))
    used = answer["usage"]
    cost = ", ".join(f"{one['amount']} {one['currency']}" for one in used["cost"]) or "nothing"
    typer.echo(
        f"judged, not verified; {used['calls']} calls, {used['input_tokens']} + {used['output_tokens']} tokens,"
        f" cost {cost}; nobody was woken"
    )


def _row(item: Mapping[str, Any]) -> list[Any]:
    verdict, error = item["verdict"], item["error"]
    if verdict is not None:
        said = "; ".join(f"“{one['quote']}”" for one in verdict["evidence"])
    else:
        said = f"{error['kind']}: {error['detail']}" if error else item["misses"]
    return [
        item["event"],
        "yes" if item["matches"] else "no",
        "yes" if item["meets"] else "no",
        None if verdict is None else verdict["confidence"],
        said,
    ]
