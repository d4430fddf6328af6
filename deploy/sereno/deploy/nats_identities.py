"""Who may do what on NATS: one nkey user per process, with the subjects it needs and no others.

Who reaches the port without a seed can neither publish nor read. Inboxes are private as well: each user
listens for answers only below a prefix that carries its own public key.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import nkeys

from sereno.mailbox.engine.bus import (
    BUCKET_STREAM,
    INGRESS,
    MANIFESTS,
    REPORTS,
    STOP_SUBJECT,
    inbox_prefix,
)

OPERATOR = "operator"
_BUCKET = BUCKET_STREAM
_API = "$JS.API"
_ANSWERED_WITHIN = "15m"


@dataclass(frozen=True, slots=True)
class Permissions:
    """The subjects that a user may publish to and subscribe to, its own inbox aside; what comes on one of `answers` it
    may answer once, in the inbox of whoever asked.
    """

    publish: tuple[str, ...]
    subscribe: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def _reads_bucket() -> tuple[str, ...]:
    return (
        f"{_API}.STREAM.INFO.{_BUCKET}",
        f"{_API}.STREAM.MSG.GET.{_BUCKET}",
        f"{_API}.DIRECT.GET.{_BUCKET}",
        f"{_API}.DIRECT.GET.{_BUCKET}.>",
        # A watch is an ephemeral consumer of the bucket's stream.
        f"{_API}.CONSUMER.CREATE.{_BUCKET}",
        f"{_API}.CONSUMER.CREATE.{_BUCKET}.>",
        f"{_API}.CONSUMER.INFO.{_BUCKET}.*",
        f"{_API}.CONSUMER.DELETE.{_BUCKET}.*",
        f"$JS.FC.{_BUCKET}.>",
    )


def _looks_for(*streams: str) -> tuple[str, ...]:
    """Whether they exist, for the readiness of a process that publishes to them."""
    return tuple(f"{_API}.STREAM.INFO.{stream}" for stream in streams)


def _consumes(stream: str) -> tuple[str, ...]:
    return (
        f"{_API}.STREAM.INFO.{stream}",
        f"{_API}.CONSUMER.CREATE.{stream}.>",
        f"{_API}.CONSUMER.DURABLE.CREATE.{stream}.*",
        f"{_API}.CONSUMER.INFO.{stream}.*",
        f"{_API}.CONSUMER.MSG.NEXT.{stream}.*",
        f"$JS.ACK.{stream}.>",
    )


PERMISSIONS: Mapping[str, Permissions] = {
    # Makes and changes streams; used by `up` and by `doctor`, never by a process that meets outsiders.
    OPERATOR: Permissions(publish=(">",), subscribe=(">",)),
    "control": Permissions(
        publish=(
            f"{_API}.INFO",
            f"$KV.{MANIFESTS}.>",
            *_reads_bucket(),
            *_consumes(REPORTS),
            "sereno.ingress.*",
            "sereno.reports.control.*",
            "sereno.ask.>",
            STOP_SUBJECT,
        ),
        subscribe=("sereno.hint.>",),
    ),
    "gateway": Permissions(
        publish=(
            f"{_API}.INFO",
            *_reads_bucket(),
            *_looks_for(INGRESS),
            "sereno.ingress.*",
            "sereno.wake.*.*",
        ),
        subscribe=("sereno.wake.>",),
        answers=(STOP_SUBJECT,),
    ),
    "listeners": Permissions(
        publish=(
            f"{_API}.INFO",
            *_reads_bucket(),
            *_looks_for(INGRESS, REPORTS),
            "sereno.ingress.*",
            "sereno.reports.execution.*",
        ),
    ),
    "evaluator": Permissions(
        publish=(f"{_API}.INFO", *_reads_bucket(), "sereno.wake.*.*"),
        answers=("sereno.ask.test.*", "sereno.ask.replay.*"),
    ),
    "pipeline": Permissions(
        publish=(f"{_API}.INFO", *_reads_bucket(), *_consumes(INGRESS), "sereno.wake.*.*"),
        answers=(STOP_SUBJECT,),
    ),
}


@dataclass(frozen=True, slots=True)
class NatsIdentity:
    """The nkey of one process; the seed is a secret."""

    name: str
    seed: str

    @property
    def public_key(self) -> str:
        """What the server knows of the user."""
        return bytes(nkeys.from_seed(self.seed.encode()).public_key).decode()


def new_seed() -> str:
    """The seed of a new nkey user."""
    return bytes(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)).decode()


def users(identities: Mapping[str, str]) -> list[dict[str, object]]:
    """The `users` of a NATS configuration for the seeds by name."""
    return [_user(NatsIdentity(name, seed)) for name, seed in sorted(identities.items())]


def _user(identity: NatsIdentity) -> dict[str, object]:
    allowed = PERMISSIONS[identity.name]
    inbox = f"{inbox_prefix(identity.seed)}.>"
    permissions: dict[str, object] = {
        "publish": {"allow": list(allowed.publish)},
        "subscribe": {"allow": [inbox, *allowed.subscribe, *allowed.answers]},
    }
    if allowed.answers:
        permissions["allow_responses"] = {"max": 1, "expires": _ANSWERED_WITHIN}
    return {"nkey": identity.public_key, "permissions": permissions}
