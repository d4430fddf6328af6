"""`sereno connectors add|list|show|pin|reload|pause|resume|lint`."""

import shlex
import time
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
import yaml

from sereno.control_plane.commands import files, in_force, listing, stepping
from sereno.control_plane.commands.call import Call, asks
from sereno.control_plane.commands.flags import Files, Json, Name, Why
from sereno.mailbox.cli.client import Client, ProblemError, segment
from sereno.mailbox.cli.discovery import Discovery
from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table
from sereno.subscriptions.documents import API_VERSION, parse
from sereno.subscriptions.faults import Faults

PATH = "/v1/connectors"
PATIENCE_SECONDS = 40.0
_EVERY_SECONDS = 0.05
_CREDENTIALS = "NAME=env:VARIABLE or NAME=file:/path; read where the listeners run"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    connectors = group(
        app, "connectors", "Connectors: servers whose tools are polled, and what of them is allowed."
    )
    for name, command in (
        ("add", add),
        ("list", list_connectors),
        ("show", show),
        ("pin", pin),
        ("reload", reload),
        ("pause", pause),
        ("resume", resume),
        ("lint", lint),
    ):
        connectors.command(name)(command)


@asks
def add(
    name: Name,
    *,
    owner: Annotated[str, typer.Option(help="Who answers for it, such as user:marta.")],
    purpose: Annotated[str, typer.Option(help="What it is read for.")],
    scope: Annotated[str, typer.Option(help="How far it reaches.")],
    retention: Annotated[str, typer.Option(help="How long what it brings is kept, such as 30d.")],
    ending: Annotated[str, typer.Option("--control", help="How a person ends it.")],
    sensitivity: Annotated[str, typer.Option(help="public or internal.")],
    egress: Annotated[str, typer.Option(help="local or remote: where what it brings may be judged.")],
    allow: Annotated[list[str], typer.Option("--allow", help="A tool that may be called; repeat it.")],
    command: Annotated[str | None, typer.Option(help="The command of a server to start.")] = None,
    url: Annotated[str | None, typer.Option(help="The URL of a server on the web.")] = None,
    credential: Annotated[list[str] | None, typer.Option(help=_CREDENTIALS)] = None,
    call: Call,
) -> None:
    """Declare a connector; its tools may be called with any arguments until `apply` says more."""
    spec = {
        "owner": owner,
        "purpose": purpose,
        "scope": scope,
        "retention": retention,
        "control": ending,
        "sensitivity": sensitivity,
        "egress": egress,
        "transport": _transport(command, url, credential or ()),
        "allow": [{"tool": tool, "arguments": {"type": "object"}} for tool in allow],
    }
    metadata = {"name": name} if call.tenant is None else {"name": name, "tenant": call.tenant}
    document = {"apiVersion": API_VERSION, "kind": "Connector", "metadata": metadata, "spec": spec}
    answer = call.client.post("/v1/apply", {"documents": yaml.safe_dump(document, sort_keys=False)})
    behind = in_force.wait(call.found, answer["manifest"])
    if call.json:
        print_json({**answer["objects"][0], "in_force": behind is None, "hint": behind})
        return
    (made,) = answer["objects"]
    typer.echo(f"{made['name']} is {made['state']} (version {made['version']}, {made['change']})")
    typer.echo(behind or "in force on the execution plane")


def _transport(command: str | None, url: str | None, credentials: Iterable[str]) -> Mapping[str, Any]:
    if (command is None) == (url is None):
        raise CommandError("expected --command or --url: a connector has one server")
    references = {}
    for text in credentials:
        variable, equals, reference = text.partition("=")
        if not equals or not variable:
            # The text is not repeated: it may be a secret.
            raise CommandError(f"--credential: expected {_CREDENTIALS}")
        references[variable] = reference
    if command is not None:
        return {"stdio": {"command": shlex.split(command), "credentials": references}}
    return {"http": {"url": url, "credentials": references}}


@asks
def list_connectors(
    *,
    call: Call,
) -> None:
    """List the declared connectors, and how their sources stand."""
    declared = list(listing.every(call.client, PATH, call.tenant))
    standing = {
        one["connector"]: one
        for one in Client(*call.found.execution()).get(PATH, tenant=call.tenant)["items"]
    }
    if call.json:
        print_json([{**one, "standing": standing.get(one["name"])} for one in declared])
        return
    rows = ([c["name"], c["version"], c["state"], *_state(standing.get(c["name"]))] for c in declared)
    print_table(("name", "version", "state", "server", "sources", "calls this hour"), rows)


def _state(standing: Mapping[str, Any] | None) -> list[Any]:
    if standing is None:
        return ["not seen yet", 0, 0]
    said = f"stopped: {standing['stopped']}" if standing["stopped"] else standing["fault"] or "ok"
    return [said, len(standing["sources"]), standing["calls"]]


@asks
def show(
    name: Name,
    *,
    call: Call,
) -> None:
    """Show one connector: its text, the definitions of its tools, and its sources."""
    declared = listing.one(call.client, PATH, name, call.tenant)
    shown = {**declared, "standing": _standing(call.found, name, call.tenant)}
    if call.json:
        print_json(shown)
    else:
        typer.echo(listing.as_yaml(shown))


def _standing(found: Discovery, name: str, tenant: str | None) -> Mapping[str, Any] | None:
    try:
        standing: Mapping[str, Any] = listing.one(Client(*found.execution()), PATH, name, tenant)
    except ProblemError:
        return None
    return standing


@asks
def pin(
    name: Name,
    *,
    reason: Why,
    tool: Annotated[str | None, typer.Option(help="Only this tool; all, if not given.")] = None,
    call: Call,
) -> None:
    """Accept the definitions of tools as they were met last; a connector that they stopped goes on."""
    client = Client(*call.found.execution())
    answer = client.post(_path(name, "pin"), {"tool": tool, "reason": reason}, tenant=call.tenant)
    if call.json:
        print_json(answer)
        return
    for each, sha256 in answer["pinned"].items():
        typer.echo(f"{each}: {sha256}")
    typer.echo(
        f"{len(answer['pinned'])} pinned" if answer["pinned"] else "nothing was changed: all is as pinned"
    )


@asks
def reload(
    name: Name,
    *,
    call: Call,
) -> None:
    """Connect anew, without losing a poll: the connection in use stays until the new one is good."""
    client = Client(*call.found.execution())
    began = time.monotonic()
    wanted = client.post(_path(name, "reload"), tenant=call.tenant)["reload"]
    while (standing := client.get(f"{PATH}/{segment(name, 'NAME')}", tenant=call.tenant))["loaded"] < wanted:
        if standing["paused"] or standing["stopped"]:
            raise CommandError(f"{name} is not asked: {standing['stopped_why'] or 'it is paused'}")
        if time.monotonic() - began > PATIENCE_SECONDS:
            raise CommandError(
                f"{name} has not been connected anew within {PATIENCE_SECONDS:g} s; see sereno logs"
            )
        time.sleep(_EVERY_SECONDS)
    seconds = round(time.monotonic() - began, 3)
    if standing["fault"]:
        raise CommandError(
            f"{name} could not be connected anew: {standing['fault']}; what was in use goes on"
        )
    if call.json:
        print_json({"connector": name, "reload": wanted, "seconds": seconds})
        return
    typer.echo(f"{name} is connected anew ({seconds:.2f} s)")


@asks
def pause(
    name: Name,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Ask nothing of a connector's server for a while; how far its sources were read is kept."""
    answer = stepping.step(call.found, PATH, name, "pause", call.tenant, reason)
    stepping.told(call.found, answer, stepping.state(answer), json=call.json)


@asks
def resume(
    name: Name,
    *,
    reason: Why,
    call: Call,
) -> None:
    """Let a paused connector go on, from where its sources were read to."""
    answer = stepping.step(call.found, PATH, name, "resume", call.tenant, reason)
    stepping.told(call.found, answer, stepping.state(answer), json=call.json)


def lint(file: Files = None, *, json: Json = False) -> None:
    """Check declared connectors without a server: every fault, and what is open wider than it needs to be."""
    read = files.read(file)
    # Whether a condition can be judged is not what is asked.
    documents = parse(read.text, judged=True)
    if isinstance(documents, Faults):
        raise CommandError("\n".join(str(fault) for fault in documents))
    connectors = [one for one in documents if one.kind == "Connector"]
    hints = [
        {"connector": one.metadata.name, "hint": hint}
        for one in connectors
        for hint in _hints(one.canonical())
    ]
    if json:
        print_json({"connectors": [one.metadata.name for one in connectors], "hints": hints})
        return
    for one in hints:
        typer.echo(f"{one['connector']}: {one['hint']}")
    typer.echo(f"{len(connectors)} connectors are well declared, {len(hints)} hints")


def _hints(spec: Mapping[str, Any]) -> Iterable[str]:
    for entry in spec["allow"]:
        if set(entry["arguments"]) == {"type"}:
            yield f"allow {entry['tool']}: any argument is allowed; name them in its schema"
        if "sha256" not in entry:
            yield f"allow {entry['tool']}: the definition that is met first is pinned; sha256 says which it has to be"
    if "account" not in spec:
        yield "account: nothing says as whom the server has to know us"


def _path(name: str, verb: str) -> str:
    return f"{PATH}/{segment(name, 'NAME')}/{verb}"
