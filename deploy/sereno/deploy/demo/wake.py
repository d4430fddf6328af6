"""The demonstration `wake`: one webhook and one clock tick wake one agent; what must not wake it, does not."""

import secrets
import shlex
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from rich.table import Table

from sereno.deploy import private_file
from sereno.deploy.demo import github
from sereno.deploy.demo.stage import Stage, UnexpectedError, expect
from sereno.mailbox.cli.exits import CommandError

AGENT = "support-triage"
WEBHOOKS, CLOCK = "new-issues", "morning-round"
WITHOUT = ()
_TICK_SECONDS = 15
_ACCEPTED = 202


def play(stage: Stage) -> None:
    """Show every step; raises `UnexpectedError` at the first that differs."""
    secret, url = _declare(stage)
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    with stage.background("work", AGENT, "--max", "2", "--exec", _agent_command()) as worker:
        opened = github.issue(41, "Charged twice", action="opened", delivery=str(uuid.uuid4()), at=now)
        woke = _deliver(stage, "A webhook arrives, signed by its sender", url, secret, opened)
        expect(_decision(stage, woke), outcome="delivered")
        message = _acked(stage, WEBHOOKS, worker)

        again = _deliver(stage, "The same delivery arrives again", url, secret, opened)
        expect(_decision(stage, again), outcome="dropped", guard="dedup", reason="duplicate")

        second = github.issue(42, "Cannot log in", action="opened", delivery=str(uuid.uuid4()), at=now)
        cooled = _deliver(stage, "Another issue, inside the cooldown of ten minutes", url, secret, second)
        expect(_decision(stage, cooled), outcome="dropped", guard="cooldown", reason="cooldown")

        closed = github.issue(41, "Charged twice", action="closed", delivery=str(uuid.uuid4()), at=now)
        unmatched = _deliver(stage, "An issue is closed: the filter wants opened ones", url, secret, closed)
        _not_concerned(stage, unmatched)

        _title(stage, "The clock strikes")
        _acked(stage, CLOCK, worker)
    _title(stage, "Why did it wake?")
    stage.screen.print(stage.command("explain", message), markup=False, highlight=False)
    _title(stage, "Why did it not?")
    stage.screen.print(stage.command("explain", cooled), markup=False, highlight=False)


def _title(stage: Stage, text: str) -> None:
    stage.screen.print(f"\n[bold]{text}[/bold]", highlight=False)


def _declare(stage: Stage) -> tuple[str, str]:
    """Apply the documents; the endpoint's secret and its URL."""
    _title(stage, "Declare an agent, an endpoint and two subscriptions")
    secret = secrets.token_hex(20)
    secret_file = stage.folder / "github.secret"
    private_file.write(secret_file, secret.encode())
    instant = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=_TICK_SECONDS)
    text = files("sereno.deploy.demo").joinpath("wake.yaml").read_text(encoding="utf-8")
    path = stage.folder / "wake.yaml"
    path.write_text(
        Template(text).substitute(secret_file=secret_file, instant=f"{instant:%Y-%m-%dT%H:%M:%SZ}")
    )
    answer = stage.json("apply", "-f", str(path))
    table = Table("kind", "name", "version", "state", box=None, pad_edge=False)
    for known in answer["objects"]:
        table.add_row(known["kind"], known["name"], str(known["version"]), known["state"])
    stage.screen.print(table)
    urls = [known["url"] for known in answer["objects"] if known["kind"] == "Endpoint"]
    if not urls or not urls[0]:
        raise UnexpectedError("apply named no URL for the endpoint")
    return secret, urls[0]


def _agent_command() -> str:
    script = Path(str(files("sereno.deploy.demo").joinpath("agent.py")))
    return shlex.join([sys.executable, str(script)])


def _deliver(stage: Stage, title: str, url: str, secret: str, webhook: github.Webhook) -> str:
    """Send the webhook; the id of its receipt."""
    _title(stage, title)
    started = time.monotonic()
    answer = github.send(url, webhook, secret)
    if answer.status != _ACCEPTED:
        raise UnexpectedError(
            f"the endpoint answered {answer.status}: {answer.body.get('detail', answer.body)}"
        )
    receipt = str(answer.body["id"])
    took = (time.monotonic() - started) * 1000
    stage.screen.print(f"202 in {took:.0f} ms: on disk as {receipt}", highlight=False)
    return receipt


def _explained(stage: Stage, identifier: str, **query: str) -> Mapping[str, Any] | None:
    """The explanation of an event once it is decided."""
    try:
        answer: Mapping[str, Any] = stage.execution().get(f"/v1/explain/{identifier}", **query)
    except CommandError:
        return None
    return answer


def _decision(stage: Stage, receipt: str) -> Mapping[str, Any]:
    """Wait for the decision about the webhook subscription, and show it guard by guard."""

    def look() -> Mapping[str, Any] | None:
        known = _explained(stage, receipt) or {"decisions": ()}
        return next((one for one in known["decisions"] if one["subscription"] == WEBHOOKS), None)

    decision = stage.until(look, f"the decision about {receipt}")
    steps = " → ".join(f"{guard['guard']} {_mark(guard['answer'])}" for guard in decision["guards"])
    stage.screen.print(f"guards: {steps}", highlight=False)
    outcome, reason = decision["outcome"], decision["reason"]
    colour = "green" if outcome == "delivered" else "yellow"
    stage.screen.print(f"[{colour}]{outcome}[/{colour}] ({reason}): {decision['sentence']}", highlight=False)
    return decision


def _mark(answer: str) -> str:
    return {"passed": "ok", "objected": "no", "not_configured": "-", "not_reached": "-"}.get(answer, answer)


def _acked(stage: Stage, subscription: str, worker: "subprocess.Popen[bytes]") -> str:
    """Wait until the message of this subscription is acknowledged, and show its lease; the message's id."""

    def look() -> tuple[str, Mapping[str, Any]] | None:
        stage.ended_badly(worker, "work")
        listed = stage.execution().get(f"/v1/mailboxes/{AGENT}/messages")["messages"]
        for message in listed:
            known = _explained(stage, message["id"])
            for decision in known["decisions"] if known else ():
                delivery = decision["delivery"]
                if decision["subscription"] == subscription and delivery and delivery["state"] == "acked":
                    return message["id"], delivery
        return None

    identifier, delivery = stage.until(look, f"the acknowledgement of {subscription}")
    lease = delivery["holders"][-1]
    stage.screen.print(
        f"{subscription}: deposited as {identifier}, claimed by {lease['holder']} with fencing token "
        f"{lease['token']}, [green]acked[/green]",
        highlight=False,
        soft_wrap=True,
    )
    return identifier


def _not_concerned(stage: Stage, receipt: str) -> None:
    stage.until(lambda: _explained(stage, receipt), f"the decision about {receipt}")
    output = stage.command("explain", receipt, "--why-not", "--subscription", WEBHOOKS)
    stage.screen.print(output, markup=False, highlight=False)
    known = _explained(stage, receipt, why_not="true", subscription=WEBHOOKS) or {}
    if known.get("decisions") or not known.get("unmatched"):
        raise UnexpectedError(f"{receipt} was decided, although no filter of {WEBHOOKS} lets it pass")
