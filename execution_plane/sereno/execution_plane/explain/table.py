"""An explanation for people: the sentence, the cause, and one table of guards for each decision."""

from collections.abc import Iterable, Mapping
from typing import Any

import typer

from sereno.mailbox.cli.output import plain, print_table

_NO_NUMBERS = ("message",)


def show(explanation: Mapping[str, Any]) -> None:
    """Print the explanation on stdout."""
    typer.echo(plain(explanation["sentence"]))
    typer.echo()
    print_table(("cause", ""), _cause(explanation))
    for decision in explanation["decisions"]:
        typer.echo()
        _show_decision(decision)
    for miss in explanation["unmatched"]:
        typer.echo()
        typer.echo(f"{miss['subscription']} version {miss['version']}: not concerned (recomputed)")
        print_table(("part", "expected", "found"), [(miss["part"], miss["expected"], miss["found"])])


def _cause(explanation: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    cause = explanation["cause"]
    for name in (
        "receipt",
        "id",
        "source",
        "type",
        "subject",
        "origin",
        "occurred",
        "received",
        "decided",
        "digest",
        "same_body_as",
        "quarantined",
    ):
        if cause[name] is not None:
            yield name, cause[name]
    sender = cause["sender"]
    yield "sender", f"{sender['actor'] or 'unknown'} ({sender['trust']})"
    genealogy = explanation["genealogy"]
    yield "chain", f"{genealogy['correlationid']}, step {genealogy['hops']}"
    for ancestor in genealogy["chain"]:
        yield "caused by", f"{ancestor['message']} for {ancestor['agent']} ({ancestor['subscription']})"
    for quote in cause["evidence"]:
        yield "evidence", f"{quote['item']}: {quote['quote']} ({quote['trust']})"


def _show_decision(decision: Mapping[str, Any]) -> None:
    contract = decision["contract"]
    typer.echo(
        f"{decision['subscription']} version {contract['version']} for {contract['agent']}:"
        f" {decision['outcome']} ({decision['reason']})"
    )
    rows = [
        (guard["guard"], guard["answer"].replace("_", " "), guard["reason"], _numbers(guard["numbers"]))
        for guard in decision["guards"]
    ]
    print_table(("guard", "answer", "reason", "numbers"), rows)
    if decision["delivery"] is not None:
        _show_delivery(decision["message"], decision["delivery"])
    typer.echo(f"would have changed it: {decision['would_have_changed_it']}")
    typer.echo(f"can be done now: {decision['can_be_done_now']}")


def _show_delivery(message: str, delivery: Mapping[str, Any]) -> None:
    typer.echo(
        f"{message} is {delivery['state']} after {delivery['attempts']} of {delivery['max_attempts']} attempts"
    )
    rows = [
        (lease["token"], lease["holder"], lease["claimed"], lease["renewals"], lease["ended"])
        for lease in delivery["holders"]
    ]
    if rows:
        print_table(("token", "holder", "claimed", "renewals", "ended"), rows)


def _numbers(numbers: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value}" for name, value in numbers.items() if value is not None and name not in _NO_NUMBERS
    )
