"""`sereno policy show|test`."""

from typing import Annotated

import typer

from sereno.control_plane.commands import files
from sereno.control_plane.commands.flags import ControlUrl, Data, Files, Json, Tenant, Token, control, planes
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.group import group
from sereno.mailbox.cli.output import print_json, print_table
from sereno.subscriptions.documents import parse
from sereno.subscriptions.faults import Faults
from sereno.subscriptions.models.policy import PolicySpec
from sereno.subscriptions.policy.text import default
from sereno.subscriptions.policy.trial import Trial, trials


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    policy_group = group(app, "policy", "Policies: the rules that decide.")
    policy_group.command("show")(show)
    policy_group.command("test")(run_tests)


def show(
    *,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="Only the policies that come with this release; asks no server.")
    ] = False,
    tenant: Tenant = None,
    json: Json = False,
    control_url: ControlUrl = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Show the policies that decide, and their version."""
    if shipped:
        policy = default()
        answer = {"version": policy.version, "policies": policy.policies, "schema_text": policy.schema}
    else:
        answer = control(planes(control_url, None, token, data)).get("/v1/policy", tenant=tenant)
    if json:
        print_json(answer)
    else:
        typer.echo(f"// version {answer['version']}")
        typer.echo(answer["policies"])


def run_tests(file: Files = None, *, json: Json = False) -> None:
    """Ask the tests of the policies in the files; needs no server. Exit 1 when one answers otherwise than expected."""
    read = files.read(file)
    documents = parse(read.text)
    if isinstance(documents, Faults):
        raise CommandError("\n".join(str(fault) for fault in documents))
    specs = [(d.metadata.name, d.spec) for d in documents if isinstance(d.spec, PolicySpec)]
    if not specs:
        raise CommandError("expected at least one document of kind: Policy", Exit.BAD_INPUT)
    found = trials(specs)
    failed = [trial for trial in found if not trial.passed]
    if json:
        print_json(
            {"passed": len(found) - len(failed), "failed": len(failed), "tests": [t.shown() for t in found]}
        )
    else:
        _show(found)
        typer.echo(f"{len(found) - len(failed)} passed, {len(failed)} failed")
    if failed:
        raise typer.Exit(Exit.FAULT)


def _show(found: list[Trial]) -> None:
    rows = ([t.name, t.question, t.expected, t.answer, "ok" if t.passed else "FAILED"] for t in found)
    print_table(("policy", "question", "expected", "answer", ""), rows)
