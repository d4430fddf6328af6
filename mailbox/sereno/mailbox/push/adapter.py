"""`Push`: the handler that hands messages to an agent that has an HTTP address."""

import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sereno.mailbox import prompt
from sereno.mailbox.engine import tracing
from sereno.mailbox.outbound import AddressRefusedError, Outbound, UnansweredError
from sereno.mailbox.push.credentials import Credentials
from sereno.mailbox.push.template import Template
from sereno.mailbox.push.verdict import Again, Done, Refused, RunsOn, verdict
from sereno.mailbox.worker import Accepted, Delivery, Reject, Release, Result


@dataclass(frozen=True, slots=True)
class Push:
    """A handler that POSTs each message to one URL and ends its lease as the answer says.

    The delivery id is the message's id with the lease's token, so another attempt is never taken for a repeat,
    and it stands in `webhook-id` and `idempotency-key`. The body holds the lease's bearer: with it the agent ends
    its run at `callback`, under `mailbox_url`, when it answered that it runs on.
    """

    url: str
    mailbox_url: str
    credentials: Credentials
    outbound: Outbound
    template: Template

    async def __call__(self, delivery: Delivery) -> object:
        body = self.template.fill(values(delivery, self.mailbox_url))
        name, now = delivery_id(delivery), int(time.time())
        headers = {
            "Content-Type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(now),
            "idempotency-key": name,
            **tracing.headers(),
            **self.credentials.headers(name, now, body),
        }
        try:
            answer = await self.outbound.fetch("POST", self.url, headers=headers, body=body)
        except (UnansweredError, AddressRefusedError) as fault:
            raise Release(f"failed: {fault}") from fault
        match verdict(answer, datetime.now(UTC)):
            case Done(result, usage):
                return Result(result, usage)
            case RunsOn(said):
                raise Accepted({"accepted": said})
            case Refused(reason):
                raise Reject(reason)
            case Again(reason, retry_after):
                raise Release(reason, retry_after)


def delivery_id(delivery: Delivery) -> str:
    """The message's id and the lease's token; without a full stop, which Standard Webhooks keeps for itself."""
    return f"{delivery.id}_{delivery.token}"


def values(delivery: Delivery, mailbox_url: str) -> dict[str, Any]:
    """What the holes of a template can name."""
    document = delivery.document
    base = f"{mailbox_url.rstrip('/')}/v1/leases"
    return {
        "message": {key: value for key, value in document.items() if key != "lease"},
        "prompt": prompt.render(document, f"SERENO-{secrets.token_hex(12)}"),
        "delivery_id": delivery_id(delivery),
        "lease": document["lease"],
        "callback": {verb: f"{base}/{verb}" for verb in ("ack", "release", "renew", "park", "emit", "check")},
    }
