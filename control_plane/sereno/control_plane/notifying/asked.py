"""What a notice asks a person: the thing that waits, and the digest of exactly what they are shown."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

APPROVAL, MESSAGE = "apr_", "msg_"


def subject_of(notice: Mapping[str, Any]) -> str | None:
    """The approval or the message that waits; None for what only wants to be known."""
    found = notice["data"].get({"approval": "approval", "waiting": "message"}.get(notice["kind"], ""))
    return found if isinstance(found, str) and found.startswith((APPROVAL, MESSAGE)) else None


def digest_of(notice: Mapping[str, Any]) -> str:
    """Of an approval the digest of its document; of parked work that of its question and options."""
    told = notice["data"].get("digest")
    if isinstance(told, str):
        return told
    data = notice["data"]
    shown = [data.get("message"), data.get("waiting_for"), data.get("question"), data.get("options")]
    return hashlib.sha256(orjson.dumps(shown)).hexdigest()
