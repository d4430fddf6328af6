"""Walking an export of `sereno audit export` without a server, both planes' chains against each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from sereno.mailbox.audit import crossing
from sereno.mailbox.audit.chain import Head, Record, verify
from sereno.mailbox.audit.checkpoint import claimed_plane
from sereno.mailbox.audit.checkpointing import Anchors, anchors
from sereno.mailbox.audit.keys import AuditKeyError, trusted
from sereno.mailbox.cli.exits import CommandError

_ONLY = "control"
"""Whose chain a line is that does not say it."""


def walk(file: Path, checkpoints: Sequence[Path], keys: Path | None) -> list[dict[str, Any]]:
    """A report for each plane in the file. Raises `CommandError` when it, or what signs it, cannot be read."""
    chains, heads = _read(file)
    signed = _signed(checkpoints, keys, chains)
    kept = [anchor for records in chains.values() for anchor in crossing.read(records)]
    return [
        _report(
            plane,
            records,
            heads.get(plane),
            signed.get(plane, Anchors()),
            [anchor.head for anchor in kept if anchor.plane == plane],
        )
        for plane, records in chains.items()
    ]


def _report(
    plane: str, records: Sequence[Record], head: Head | None, signed: Anchors, held: Sequence[Head]
) -> dict[str, Any]:
    report = verify(records, head, (*signed.heads, *held))
    faults = [{"kind": f.kind, "seq": f.seq, "message": f.message} for f in report.faults]
    faults += [{"kind": "unsigned", "seq": 0, "message": message} for message in signed.faults]
    return {
        "plane": plane,
        "whole": not faults,
        "records": report.records,
        "seq": report.head.seq,
        "hash": report.head.hash.hex(),
        "checkpoints": len(signed.heads),
        "held": len(held),
        "faults": faults,
    }


def _read(file: Path) -> tuple[dict[str, list[Record]], dict[str, Head]]:
    chains: dict[str, list[Record]] = {}
    heads: dict[str, Head] = {}
    try:
        for line in map(orjson.loads, file.read_bytes().splitlines()):
            plane = line.get("plane", _ONLY)
            if "canonical" in line:
                chains.setdefault(plane, []).append(_record(line))
            elif "head" in line:
                chains.setdefault(plane, [])
                heads[plane] = Head(line["seq"], bytes.fromhex(line["hash"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise CommandError(
            f"{file}: cannot be read as an export of 'sereno audit export': {fault}"
        ) from fault
    if not chains:
        raise CommandError(f"{file}: holds no record and no end of a chain")
    return chains, heads


def _record(line: Mapping[str, Any]) -> Record:
    content = str(line["canonical"]).encode()
    return Record(line["seq"], bytes.fromhex(line["prev"]), bytes.fromhex(line["hash"]), content)


def _signed(
    checkpoints: Sequence[Path], keys: Path | None, chains: Mapping[str, Sequence[Record]]
) -> dict[str, Anchors]:
    """What the files of checkpoints say about each plane's chain; a file is that of one plane."""
    if not checkpoints:
        return {}
    if keys is None:
        raise CommandError("--checkpoints needs --keys: the public keys by which they count")
    try:
        known = trusted(keys)
        texts = [path.read_bytes() for path in checkpoints]
    except AuditKeyError as fault:
        raise CommandError(str(fault)) from fault
    except OSError as fault:
        raise CommandError(f"{fault.filename}: cannot be read: {fault.strerror}") from fault
    found: dict[str, Anchors] = {}
    for text in texts:
        plane = _plane_of(text)
        found[plane] = anchors(text, known, plane, _tenant(chains.get(plane, ())))
    return found


def _plane_of(text: bytes) -> str:
    """The plane that the first readable line names; every line is then held to it."""
    return next((plane for line in text.splitlines() if (plane := claimed_plane(line))), _ONLY)


def _tenant(records: Sequence[Record]) -> str:
    return "" if not records else str(orjson.loads(records[0].canonical)["tenant"])
