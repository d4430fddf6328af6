"""The demonstration `approval-continue`: work waits for a person, goes on with the answer, and wakes a second agent."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sereno.deploy.demo.clockwork import declare
from sereno.deploy.demo.stage import Stage, UnexpectedError, expect

CASHIER, WRITER = "cashier", "writer"
WITHOUT = ()
_TICK_SECONDS = 15
_QUESTION = "Pay back 49.00 EUR to customer 41?"


def play(stage: Stage) -> None:
    """Show every step; raises `UnexpectedError` at the first that differs."""
    stage.title("Declare two agents: one pays refunds, one writes to customers")
    instant = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=_TICK_SECONDS)
    declare(stage, "approval_continue.yaml", {"instant": f"{instant:%Y-%m-%dT%H:%M:%SZ}"})

    stage.title("The cashier is woken, and parks its work until a person has approved it")
    first = _claim(stage, CASHIER)
    _verb(stage, "park", first, waiting_for="approval", question=_QUESTION)
    _say(stage, f"{first['id']} is parked: {_QUESTION}")
    if _claimable(stage, CASHIER):
        raise UnexpectedError("parked work could be claimed")

    stage.title("What waits for a person?")
    waiting = stage.json("approvals", "list")["parked"]
    expect({"parked": [one["id"] for one in waiting]}, parked=[first["id"]])
    _say(stage, f"{waiting[0]['id']} of agent:{waiting[0]['agent']} waits for {waiting[0]['waiting_for']}")

    stage.title("A person approves")
    stage.show("approvals", "approve", first["id"], "--reason", "charged twice indeed")
    again = _claim(stage, CASHIER)
    expect(again, id=first["id"])
    expect(again["answers"][-1]["answer"], outcome="approved", by="user:admin")
    if again["lease"]["token"] <= first["lease"]["token"]:
        raise UnexpectedError("the lease has no new token")
    _verb(stage, "ack", again, result={"paid": "49.00 EUR"})
    _say(
        stage,
        f"{again['id']} goes on under token {again['lease']['token']} with the answer, and is acknowledged",
    )

    stage.title("The decision is an event, and wakes the second agent")
    second = _claim(stage, WRITER)
    [envelope] = second["envelopes"]
    expect(envelope, type="sereno.platform.approval.resolved")
    expect(envelope["data"], message=first["id"], outcome="approved")
    _verb(stage, "ack", second, result={"told": "customer 41"})
    _say(stage, f"agent:{WRITER} has {second['id']}: {second['instruction']}")
    stage.title("Why did the second agent wake?")
    stage.show("explain", second["id"])


def _claim(stage: Stage, agent: str) -> Mapping[str, Any]:
    """The next message of an agent, as its worker would get it over HTTP."""

    def look() -> Mapping[str, Any] | None:
        return next(iter(_claimable(stage, agent)), None)

    return stage.until(look, f"a message for {agent}")


def _claimable(stage: Stage, agent: str) -> list[Mapping[str, Any]]:
    body = {"max": 1, "lease_seconds": 300, "wait_seconds": 0, "incarnation": "demo"}
    found: list[Mapping[str, Any]] = stage.execution().post(f"/v1/mailboxes/{agent}/claim", body)["messages"]
    return found


def _verb(stage: Stage, verb: str, message: Mapping[str, Any], **fields: Any) -> None:
    item = {"token": message["lease"]["token"], **fields}
    [answer] = stage.execution().post(f"/v1/leases/{verb}", {"items": [item]})["items"]
    expect(answer, status="ok")


def _say(stage: Stage, text: str) -> None:
    stage.screen.print(text, highlight=False, soft_wrap=True)
