"""Sending one notice through one sink; what goes wrong is a sentence without a secret in it."""

import asyncio
import smtplib
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any
from uuid import UUID

import orjson

from sereno.control_plane.notifying.sink import AnySink, EmailSink, LogSink, NtfySink, WebhookSink
from sereno.mailbox.engine.telemetry import logger
from sereno.mailbox.outbound.addresses import Addresses
from sereno.mailbox.outbound.fetch import (
    AddressRefusedError,
    Limits,
    Outbound,
    OutboundError,
    UnansweredError,
)
from sereno.mailbox.push.credentials import Signature, resolve

TIME = timedelta(seconds=15)
_FINE = range(200, 300)
_log = logger("notices")


class NotSentError(Exception):
    """The sink did not take it; trying again later may help."""


@dataclass(frozen=True, slots=True)
class Told:
    """A notice on its way: `id` stays the same however often it is tried, `link` is where a person answers."""

    id: UUID
    notice: Mapping[str, Any]
    link: str | None = None

    @property
    def name(self) -> str:
        """By which a receiver knows a repetition."""
        return f"ntc_{self.id.hex}"

    @property
    def title(self) -> str:
        """A line of its own."""
        kind, tenant = self.notice["kind"], self.notice["tenant_id"]
        return f"Sereno: {kind} ({'all tenants' if tenant == '*' else tenant})"

    @property
    def text(self) -> str:
        """The sentence, and where to answer."""
        said = str(self.notice["text"])
        return said if self.link is None else f"{said}\n\nShow exactly what is asked, and answer: {self.link}"

    def as_json(self) -> bytes:
        """For programs."""
        notice = self.notice
        return orjson.dumps(
            {
                "type": f"sereno.notice.{notice['kind']}",
                "timestamp": notice["told_at"],
                "data": {
                    "tenant": notice["tenant_id"],
                    "cause": notice["cause"],
                    "inbox": notice["inbox"],
                    "text": notice["text"],
                    "count": notice["count"],
                    "link": self.link,
                    "more": notice["data"],
                },
            },
            option=orjson.OPT_UTC_Z,
        )


Send = Callable[[AnySink, Told], Awaitable[None]]


async def send(sink: AnySink, told: Told) -> None:
    """Send it. Raises `NotSentError`."""
    try:
        match sink:
            case LogSink():
                _log.warning(
                    "notice",
                    tenant=told.notice["tenant_id"],
                    cause=told.notice["cause"],
                    said=told.notice["text"],
                )
            case WebhookSink():
                await _webhook(sink, told)
            case NtfySink():
                await _ntfy(sink, told)
            case EmailSink():
                await asyncio.to_thread(_email, sink, told)
    except (OutboundError, AddressRefusedError, UnansweredError) as fault:
        raise NotSentError(str(fault)) from fault
    except (smtplib.SMTPException, OSError) as fault:
        # The text of the server may quote what was sent.
        raise NotSentError(f"SMTP: {type(fault).__name__}") from fault


async def _webhook(sink: WebhookSink, told: Told) -> None:
    body, at = told.as_json(), int(datetime.now(UTC).timestamp())
    references = [sink.secret, *([sink.next_secret] if sink.next_secret else [])]
    signed = _signature(sink, references)
    headers = {
        "content-type": "application/json",
        "webhook-id": told.name,
        "webhook-timestamp": str(at),
        **signed.headers(told.name, at, body),
    }
    await _post(sink, headers, body)


def _secret(sink: AnySink, reference: str) -> str:
    try:
        return resolve(reference)
    except ValueError as fault:
        raise NotSentError(f"the secret of sink {sink.name}: {fault}") from fault


def _signature(sink: WebhookSink, references: Sequence[str]) -> Signature:
    secrets = [_secret(sink, reference) for reference in references]
    try:
        return Signature.of(secrets)
    except ValueError as fault:
        raise NotSentError(f"the secret of sink {sink.name}: {fault}") from fault


async def _ntfy(sink: NtfySink, told: Told) -> None:
    headers = {"Title": told.title, "X-Message-Id": told.name}
    if told.link is not None:
        headers["Click"] = told.link
    if sink.token is not None:
        headers["Authorization"] = f"Bearer {_secret(sink, sink.token)}"
    await _post(sink, headers, told.text.encode())


async def _post(sink: WebhookSink | NtfySink, headers: Mapping[str, str], body: bytes) -> None:
    outbound = Outbound(Addresses.opening(sink.networks), Limits(time=TIME))
    try:
        answer = await outbound.fetch("POST", sink.url, headers=headers, body=body)
    finally:
        await outbound.close()
    if answer.status not in _FINE:
        raise NotSentError(f"it answered {answer.status}")


def _email(sink: EmailSink, told: Told) -> None:
    message = EmailMessage()
    message["Subject"] = told.title
    message["From"] = sink.sender
    message["To"] = ", ".join(sink.to)
    message["Date"] = format_datetime(datetime.now(UTC))
    # The same at each try, so that a mailbox can tell a repetition.
    message["Message-ID"] = f"<{told.id}@sereno>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(told.text)
    context, seconds = ssl.create_default_context(), TIME.total_seconds()
    if sink.security == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(sink.host, sink.port, timeout=seconds, context=context)
    else:
        server = smtplib.SMTP(sink.host, sink.port, timeout=seconds)
    with server:
        if sink.security == "starttls":
            server.starttls(context=context)
        if sink.user is not None and sink.password is not None:
            server.login(sink.user, _secret(sink, sink.password))
        server.send_message(message)
