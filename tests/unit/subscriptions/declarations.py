"""Declared texts that the tests of this folder share."""

from typing import Any

import yaml

from sereno.subscriptions.documents import Document, parse
from sereno.subscriptions.faults import Faults

SPEC: dict[str, Any] = {
    "owner": "user:marta",
    "agent": "agent:support-triage",
    "instruction": "Draft a reply to each customer who asks for money back.",
    "source": {"webhook": {"endpoint": "zendesk"}},
}


def declared(kind: str = "Subscription", name: str = "refund-watch", **spec: Any) -> str:
    base = SPEC if kind == "Subscription" else {}
    document = {
        "apiVersion": "sereno/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {**base, **spec},
    }
    return yaml.safe_dump(document, sort_keys=False)


def accepted(text: str | bytes) -> tuple[Document, ...]:
    read = parse(text)
    assert not isinstance(read, Faults), [str(fault) for fault in read]
    return read


def refused(text: str | bytes) -> dict[str, str]:
    """The faults, by path below their document; one text a path is enough here."""
    read = parse(text)
    assert isinstance(read, Faults)
    return {fault.path.partition("].")[2] or fault.path: fault.message for fault in read}
