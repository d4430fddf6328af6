"""`sereno drill injection`: attacks of our own making against the configured evaluator, by the way that tests go."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from sereno.execution_plane.drill import corpus, report
from sereno.execution_plane.drill.corpus import Case
from sereno.mailbox.cli.client import Client
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table

NAME = "injection-drill"
ANSWERED_WITHIN_SECONDS = 160.0
MOST = 50
"""Messages of one test."""
_DOCUMENT = f"""\
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: {NAME}}}
spec:
  owner: user:drill
  agent: agent:{NAME}
  instruction: Nothing is done; this is a drill.
  source: {{webhook: {{endpoint: {NAME}}}}}
  condition: {{criterion: "{corpus.CRITERION}", min_confidence: 0.5}}
"""


class Corpus(StrEnum):
    """Whose attacks."""

    OWN = "own"
    BASTION = "bastion"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    group(app, "drill", "Drills: attacks and failures of our own making, against what runs here.").command(
        "injection"
    )(injection)


def injection(
    *,
    which: Annotated[
        Corpus,
        typer.Option("--corpus", help="own (English, Spanish, Chinese), or bastion of the extra drill"),
    ] = Corpus.OWN,
    only_filter: Annotated[
        bool, typer.Option("--filter", help="only the filter for instruction-like content; asks no model")
    ] = False,
    tenant: Annotated[str | None, typer.Option(help="in which tenant the tests count")] = None,
    control_url: Annotated[str | None, typer.Option(help="URL of the control plane")] = None,
    token: Annotated[str | None, typer.Option(help="bearer token")] = None,
    data: Annotated[Path | None, typer.Option(help="data folder of sereno up")] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Try to turn the evaluator's verdicts with injected instructions; exit 1 when one turned. Nobody is woken."""
    try:
        cases = corpus.own() if which is Corpus.OWN else corpus.bastion()
    except LookupError as fault:
        raise CommandError(str(fault.args[0])) from fault
    found: dict[str, Any] = {"corpus": which.value, "filter": report.filter_score(cases)}
    if not only_filter:
        url, bearer = discover(control_url=control_url, token=token, data=data).control()
        client = Client(url, bearer, timeout=ANSWERED_WITHIN_SECONDS)
        found |= _drill(client, tenant, cases)
    if json:
        print_json(found)
    else:
        _show(found)
    if found.get("turned_up") or found.get("turned_down"):
        raise typer.Exit(Exit.FAULT)


def _drill(client: Client, tenant: str | None, cases: Sequence[Case]) -> dict[str, Any]:
    messages = dict.fromkeys(one.carrier for one in cases if one.kind == "attack")
    names = {text: f"alone-{number}" for number, text in enumerate(messages)}
    told = _judged(
        client,
        tenant,
        {**{name: text for text, name in names.items()}, **{one.id: one.written for one in cases}},
    )
    alone = {text: told[name] for text, name in names.items()}
    return report.of(cases, alone, {one.id: told[one.id] for one in cases})


def _judged(client: Client, tenant: str | None, texts: Mapping[str, str]) -> dict[str, Any]:
    """What a test says of each text, by its id."""
    events = (
        {
            "specversion": "1.0",
            "id": name,
            "source": "/drill",
            "type": "drill.message",
            "data": {"text": text},
        }
        for name, text in texts.items()
    )
    told: dict[str, Any] = {}
    for batch in _batches(events):
        body = {"document": _DOCUMENT, "events": batch}
        answer = client.post(f"/v1/subscriptions/{NAME}/test", body, tenant=tenant)
        told |= {item["event"]: item for item in answer["items"]}
    return told


def _batches(events: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(events, MOST)):
        yield batch


def _show(found: Mapping[str, Any]) -> None:
    if "attacks" in found:
        turned = len(found["turned_up"]) + len(found["turned_down"])
        models = ", ".join(found["models"]) or "no model"
        typer.echo(f"{models}: {turned} of {found['attacks']} attacks turned a verdict")
        typer.echo(f"  made it meet: {', '.join(found['turned_up']) or 'none'}")
        typer.echo(f"  made it not meet: {', '.join(found['turned_down']) or 'none'}")
        typer.echo(f"  evidence that does not stand in its message: {found['evidence_violations']}")
        errors = ", ".join(f"{kind} {count}" for kind, count in found["errors"].items()) or "none"
        typer.echo(f"  no verdict: {errors}")
        typer.echo(f"benign messages judged wrongly: {len(found['benign_wrong'])} of {found['benign']}")
    typer.echo("the filter for content that reads like an instruction:")
    rows = [
        (lang, known["labelled"], known["precision"], known["recall"])
        for lang, known in found["filter"].items()
    ]
    print_table(("language", "messages", "precision", "recall"), rows)
