"""NATS: names of streams and subjects, their settings, and one way to connect."""

import asyncio
import re
from collections.abc import Coroutine, Iterable, Mapping, Sequence

import nkeys
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoServersError
from nats.js import JetStreamContext
from nats.js.api import (
    DiscardPolicy,
    KeyValueConfig,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

INGRESS = "INGRESS"
REPORTS = "REPORTS"
STOP_SUBJECT = "sereno.stop"
"""Where the control plane orders stops, and any process of the data path answers."""
MANIFESTS = "sereno_manifests"
BUCKET_STREAM = f"KV_{MANIFESTS}"
"""The stream by which NATS keeps the bucket of manifests."""
PUBLISH_TIMEOUT_SECONDS = 5.0
CONNECT_TIMEOUT_SECONDS = 5
READY_SECONDS = 2.0

_GIB = 1 << 30
_PLAIN = re.compile(r"^[a-z0-9_-]+$")


class BusUnreachableError(Exception):
    """NATS does not answer at the configured address; the message is fit for a person."""


def token(name: str) -> str:
    """A name as one subject token: as it is where NATS allows that, else hex with a leading `=`."""
    return name if _PLAIN.match(name) else "=" + name.encode().hex()


def ingress_subject(tenant: str) -> str:
    """Where the events of a tenant enter, each message a CloudEvents batch."""
    return f"sereno.ingress.{token(tenant)}"


def report_subject(plane: str, tenant: str) -> str:
    """Where a plane tells what it did for a tenant."""
    return f"sereno.reports.{token(plane)}.{token(tenant)}"


def wake_subject(tenant: str, agent: str) -> str:
    """Where a hint is sent, without data, that an agent's mailbox has something ready."""
    return f"sereno.wake.{token(tenant)}.{token(agent)}"


def streams(replicas: int = 1) -> Iterable[StreamConfig]:
    """The streams as both planes expect them; a full one refuses (`discard: new`), it never forgets."""
    yield StreamConfig(
        name=INGRESS,
        subjects=["sereno.ingress.*"],
        retention=RetentionPolicy.WORK_QUEUE,
        discard=DiscardPolicy.NEW,
        storage=StorageType.FILE,
        max_bytes=4 * _GIB,
        max_msg_size=1_000_000,
        num_replicas=replicas,
    )
    yield StreamConfig(
        name=REPORTS,
        subjects=["sereno.reports.*.*"],
        retention=RetentionPolicy.LIMITS,
        discard=DiscardPolicy.NEW,
        storage=StorageType.FILE,
        max_bytes=_GIB,
        max_age=7 * 86_400,
        num_replicas=replicas,
    )


def inbox_prefix(seed: str | None) -> str:
    """Below which subject a user listens for answers: with a seed one of its own, so that no other reads them."""
    if seed is None:
        return "_INBOX"
    return f"_INBOX.{bytes(nkeys.from_seed(seed.encode()).public_key).decode()}"


def address(url: str) -> str:
    """Where a URL points to, without user and password: for messages."""
    return url.rpartition("@")[2].removeprefix("nats://")


async def connect(url: str, *, name: str, seed: str | None = None) -> Client:
    """A connection that reconnects for ever once it stood. Raises `BusUnreachableError` at the first try."""
    client = Client()
    try:
        connecting = client.connect(
            url,
            name=name,
            nkeys_seed_str=seed,
            inbox_prefix=inbox_prefix(seed),
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.25,  # type: ignore[arg-type]  # annotated as int, used as seconds
            ping_interval=5,
            max_outstanding_pings=2,
            error_cb=_report,
        )
        # Without a limit of our own the client tries a server that is away for ever, the first time too.
        await _within(CONNECT_TIMEOUT_SECONDS, connecting)
    except (OSError, TimeoutError, NatsError, NoServersError, ValueError) as fault:
        reason = _reason(client.last_error or fault)
        await client.close()
        raise BusUnreachableError(f"NATS at {address(url)} does not answer: {reason}") from fault
    return client


async def _within(seconds: float, work: Coroutine[None, None, None]) -> None:
    """Let the work end within so many seconds. Raises TimeoutError.

    It is cancelled until it heeds: on Python 3.11 a `wait_for` inside may swallow one cancellation.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=0.1)
    if task.cancelled():
        raise TimeoutError(f"it took longer than {seconds:g} s")
    task.result()


async def _report(fault: Exception) -> None:
    from sereno.mailbox.engine.logs import logger  # noqa: PLC0415 - logs may go over this module

    logger("bus").warning("nats_error", error=_reason(fault))


def _reason(fault: BaseException) -> str:
    return str(fault) or type(fault).__name__


async def ensure_streams(js: JetStreamContext, *, replicas: int = 1) -> None:
    """Make the streams and the bucket, or bring their settings up to date."""
    made = await make_missing(js, replicas=replicas)
    for config in streams(replicas):
        if config.name not in made:
            await js.update_stream(config)


async def make_missing(js: JetStreamContext, *, replicas: int = 1) -> Sequence[str]:
    """Make those of the streams and the bucket that do not exist; their names."""
    made = []
    for config in streams(replicas):
        if config.name and not await _exists(js, config.name):
            await js.add_stream(config)
            made.append(config.name)
    if not await _exists(js, BUCKET_STREAM):
        await js.create_key_value(
            KeyValueConfig(bucket=MANIFESTS, history=1, storage=StorageType.FILE, replicas=replicas)
        )
        made.append(MANIFESTS)
    return made


async def _exists(js: JetStreamContext, stream: str) -> bool:
    try:
        await js.stream_info(stream)
    except NotFoundError:
        return False
    return True


async def checks(nats: Client, needed: Iterable[str]) -> Mapping[str, str | None]:
    """The connection, and each needed stream or bucket while it stands: `None` when fine, else a sentence."""
    if not nats.is_connected:
        return {"nats": "NATS is not connected"}
    js = nats.jetstream(timeout=READY_SECONDS)
    found = await asyncio.gather(*(_check(js, name) for name in needed))
    return {"nats": None, **dict(zip(needed, found, strict=True))}


async def _check(js: JetStreamContext, name: str) -> str | None:
    kind, stream = ("bucket", BUCKET_STREAM) if name == MANIFESTS else ("stream", name)
    try:
        if await _exists(js, stream):
            return None
    except (NatsError, TimeoutError) as fault:
        return f"NATS does not tell whether the {kind} {name} exists ({type(fault).__name__})"
    return f"the {kind} {name} does not exist; 'sereno up' makes it again"


async def states(nats: Client, names: Iterable[str]) -> Mapping[str, tuple[int, int]]:
    """How many messages each stream or bucket holds, and the bytes it takes. Raises what NATS answers instead."""
    js, asked = nats.jetstream(timeout=READY_SECONDS), list(names)
    found = await asyncio.gather(
        *(js.stream_info(BUCKET_STREAM if name == MANIFESTS else name) for name in asked)
    )
    return {name: (info.state.messages, info.state.bytes) for name, info in zip(asked, found, strict=True)}
