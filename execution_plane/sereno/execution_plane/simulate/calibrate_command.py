"""`sereno calibrate`: limits for a subscription from its own history, and what they would have changed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import orjson
import typer

from sereno.execution_plane.simulate import history
from sereno.execution_plane.simulate.calibration import Calibration, TooFewError, calibrate
from sereno.execution_plane.simulate.compare import Comparison
from sereno.execution_plane.simulate.lines import Line, Received
from sereno.execution_plane.simulate.rehearsal import rehearse_lines
from sereno.mailbox.cli.client import Client, segment
from sereno.mailbox.cli.discovery import discover
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.output import print_json, print_table
from sereno.subscriptions import documents
from sereno.subscriptions.documents import API_VERSION, Document
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.models.metadata import DEFAULT_TENANT
from sereno.subscriptions.models.types import parse_instant

Numbered = Sequence[tuple[int, Line]]
# What waits or is dropped because of these says how it is limited now, not how often there is something to wake for.
_PROPOSED = ("cooldown", "batch", "storm", "budget", "quiet_hours", "when_busy", "max_occurrences")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("calibrate")(calibrate_subscription)


def calibrate_subscription(
    name: Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="name of the subscription")],
    *,
    against_history: Annotated[
        bool, typer.Option("--against-history", help="from what the execution plane received")
    ] = False,
    from_: Annotated[str | None, typer.Option("--from", help="what was received then or later")] = None,
    to: Annotated[str | None, typer.Option(help="what was received then or earlier")] = None,
    zone: Annotated[str, typer.Option(help="zone whose days are counted")] = "UTC",
    tenant: Annotated[str, typer.Option(help="its tenant")] = DEFAULT_TENANT,
    control_url: Annotated[str | None, typer.Option(help="URL of the control plane")] = None,
    execution_url: Annotated[str | None, typer.Option(help="URL of the execution plane")] = None,
    token: Annotated[str | None, typer.Option(help="bearer token")] = None,
    data: Annotated[Path | None, typer.Option(help="data folder of sereno up")] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Propose cooldown, batch, storm and budget of a subscription from its own events, and simulate the difference."""
    if not against_history:
        raise CommandError("expected --against-history: limits are proposed from nothing else")
    first, last, days = _instant("--from", from_), _instant("--to", to), _zone(zone)
    found = discover(control_url=control_url, execution_url=execution_url, token=token, data=data)
    url, bearer = found.control()
    entry = Client(url, bearer).get(f"/v1/subscriptions/{segment(name, 'SUBSCRIPTION')}", tenant=tenant)
    url, bearer = found.execution()
    past = history.read(Client(url, bearer), [tenant], first, last)
    try:
        told = proposal(tenant, name, entry["spec"], past, days)
    except TooFewError as fault:
        raise CommandError(f"{name}: {fault}", Exit.REFUSED) from None
    if json:
        print_json(told)
    else:
        _show(told)


def proposal(
    tenant: str, name: str, spec: Mapping[str, Any], past: Numbered, zone: ZoneInfo
) -> dict[str, Any]:
    """Percentiles, proposed limits, and the sums of a simulation without and with them. Raises TooFewError."""
    limits = spec.get("limits", {})
    bare = {key: value for key, value in limits.items() if key not in _PROPOSED}
    found = calibrate(_wanted(document(tenant, name, {**spec, "limits": bare}), past), zone)
    after = document(tenant, name, {**spec, "limits": {**limits, **found.limits}})
    before = document(tenant, name, spec)
    compared = Comparison.of(rehearse_lines([before], past), rehearse_lines([after], past))
    [total] = compared.totals()
    return {
        "subscription": name,
        **_told(found),
        "simulated": {side: total[side] for side in ("before", "after")},
    }


def document(tenant: str, name: str, spec: Mapping[str, Any]) -> Document:
    """The declared subscription. Raises CommandError when its specification is none."""
    written = {
        "apiVersion": API_VERSION,
        "kind": "Subscription",
        "metadata": {"name": name, "tenant": tenant},
        "spec": spec,
    }
    read = documents.parse(orjson.dumps(written), simulated=True)
    if isinstance(read, Faults):
        raise CommandError("\n".join(f"{name}: {fault}" for fault in read))
    return read[0]


def _wanted(declared: Document, past: Numbered) -> list[datetime]:
    """When the events were received that would have woken it if nothing limited it."""
    received = {
        line.envelope.id: line.envelope.recordedtime for _, line in past if isinstance(line, Received)
    }
    return [
        received.get(said["event"], parse_instant(said["at"]))
        for said in rehearse_lines([declared], past)
        if said["kind"] == "decision" and said["outcome"] in ("delivered", "awaiting_verdict")
    ]


def _told(found: Calibration) -> dict[str, Any]:
    told = asdict(found)
    return {
        "n": told["events"],
        "first": found.first.isoformat(),
        "last": found.last.isoformat(),
        "percentiles": told["percentiles"],
        "limits": told["limits"],
    }


def _show(told: Mapping[str, Any]) -> None:
    typer.echo(f"{told['subscription']}: {told['n']} events from {told['first']} to {told['last']}")
    shares = next(iter(told["percentiles"].values()))
    rows = [(what, *(f"{one:g}" for one in values.values())) for what, values in told["percentiles"].items()]
    print_table(("percentile", *shares), rows)
    typer.echo("proposed limits:")
    for limit, values in told["limits"].items():
        typer.echo(f"  {limit}: {{{', '.join(f'{key}: {value}' for key, value in values.items())}}}")
    before, after = told["simulated"]["before"], told["simulated"]["after"]
    names = dict.fromkeys((*before, *after))
    print_table(("simulated", "now", "proposed"), [(n, before.get(n, 0), after.get(n, 0)) for n in names])


def _instant(flag: str, text: str | None) -> datetime | None:
    try:
        return None if text is None else parse_instant(text)
    except ValueError as fault:
        raise CommandError(f"{flag}: {fault}") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise CommandError("--zone: expected an IANA time zone such as Europe/Madrid, or UTC") from None
