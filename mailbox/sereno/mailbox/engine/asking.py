"""Asking across the planes: a question and its answer over NATS, for what needs an answer now."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from sereno.mailbox.engine.bus import token
from sereno.mailbox.engine.telemetry import logger

LARGEST_BYTES = 900_000
"""Of a question or an answer: NATS carries a megabyte."""
SIDE_BY_SIDE = 4
"""Questions of one kind that a process answers at the same time; more wait."""
_log = logger("asking")

Question = Mapping[str, Any]
Answer = dict[str, Any]
Ask = Callable[[str, str, Question], Awaitable[Answer]]
"""Asks by kind and tenant. Raises `Refused`."""


class Refused(Exception):  # noqa: N818 - the house's word
    """Why there is no answer: an HTTP status, a stable code and a sentence for people."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail


def subject(kind: str, tenant: str) -> str:
    """Where questions of this kind about a tenant are asked."""
    return f"sereno.ask.{kind}.{token(tenant)}"


async def ask(nats: Client, kind: str, tenant: str, question: Question, *, seconds: float) -> Answer:
    """The answer of whoever serves the kind. Raises `Refused`, also when nobody answers in time."""
    payload = orjson.dumps(question)
    if len(payload) > LARGEST_BYTES:
        raise Refused(413, "too_large", f"expected at most {LARGEST_BYTES:,} bytes in all")
    try:
        reply = await nats.request(subject(kind, tenant), payload, timeout=seconds)
    except NoRespondersError as fault:
        raise Refused(503, "unavailable", f"no process of the execution plane answers: {kind}") from fault
    except (NatsError, TimeoutError) as fault:
        raise Refused(503, "unavailable", f"no answer within {seconds:g} s: {kind}") from fault
    answer: Answer = orjson.loads(reply.data)
    refusal = answer.get("refused")
    if refusal is not None:
        raise Refused(refusal["status"], refusal["code"], refusal["detail"])
    return answer


async def serve(
    nats: Client, kind: str, answer: Callable[[Answer], Awaitable[Answer]], stop: asyncio.Event
) -> None:
    """Answer questions of this kind, each once over all replicas, until told to stop; what was begun is ended."""
    turns = asyncio.Semaphore(SIDE_BY_SIDE)
    async with asyncio.TaskGroup() as tasks:

        async def heard(message: Msg) -> None:
            tasks.create_task(_answer(message, answer, turns))

        subscription = await nats.subscribe(f"sereno.ask.{kind}.*", queue=f"ask-{kind}", cb=heard)
        await stop.wait()
        if nats.is_connected:
            await subscription.unsubscribe()


async def _answer(
    message: Msg, answer: Callable[[Answer], Awaitable[Answer]], turns: asyncio.Semaphore
) -> None:
    async with turns:
        try:
            told = await answer(orjson.loads(message.data))
        except Refused as refusal:
            told = {"refused": _written(refusal)}
        except Exception as fault:  # noqa: BLE001 - whoever asked is told, and the next question is answered
            _log.error("question_failed", subject=message.subject, error=type(fault).__name__)
            told = {"refused": _written(Refused(500, "fault", "an internal fault; it was logged"))}
    payload = orjson.dumps(told)
    if len(payload) > LARGEST_BYTES:
        payload = orjson.dumps({"refused": _written(Refused(413, "too_large", "the answer is too large"))})
    try:
        await message.respond(payload)
    except NatsError as fault:
        _log.warning("answer_lost", subject=message.subject, error=type(fault).__name__)


def _written(refusal: Refused) -> Answer:
    return {"status": refusal.status, "code": refusal.code, "detail": refusal.detail}
