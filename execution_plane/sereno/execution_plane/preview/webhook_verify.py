"""`sereno webhook verify`: whether a request is authentic, without a server."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from sereno.execution_plane.gateway import verification
from sereno.execution_plane.gateway.signatures import named
from sereno.execution_plane.gateway.signatures.scheme import Request
from sereno.execution_plane.gateway.verification import BadQuestionError, Question
from sereno.execution_plane.preview.lines import answer_lines, refusal
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.cli.output import print_line

_WORDS = {
    "secret_missing": "no secret is given, or a blank one",
    "secret_malformed": "the secret is not of the kind that the scheme uses",
    "signature_missing": "the signature is missing, or its header stands twice",
    "signature_malformed": "the signature cannot be read",
    "signature_mismatch": "the signature is not that of this body under this secret",
    "timestamp_missing": "the timestamp is missing, or its header stands twice",
    "timestamp_malformed": "the timestamp is not a whole number of seconds",
    "too_old": "it was signed more than 300 seconds before now",
    "too_new": "it was signed more than 300 seconds after now",
    "expired": "the signature has expired",
    "body_not_covered": "the signature holds, but it does not cover the body",
    "digest_mismatch": "the digest is not that of this body",
}


def answer(question: Any) -> dict[str, Any]:
    """The answer to one question in JSON."""
    try:
        return verification.answer(verification.read(question))
    except BadQuestionError as fault:
        return refusal("bad_input", str(fault))


def verify(
    *,
    scheme: Annotated[str | None, typer.Option(help=f"one of {', '.join(named.SCHEMES)}")] = None,
    secret: Annotated[
        list[str] | None, typer.Option(help="env:NAME or file:PATH of a secret; may be given twice")
    ] = None,
    header: Annotated[list[str] | None, typer.Option("--header", "-H", help="'Name: value'")] = None,
    body: Annotated[Path | None, typer.Option(help="file with the raw body; - for standard input")] = None,
    url: Annotated[str, typer.Option(help="URL to which it was sent, where the scheme signs it")] = "",
    method: Annotated[str, typer.Option(help="HTTP method")] = "POST",
    now: Annotated[
        float | None, typer.Option(help="seconds since 1970 to judge the time by; now, if not given")
    ] = None,
    signature_header: Annotated[str | None, typer.Option(help="hmac: the header that holds it")] = None,
    prefix: Annotated[str, typer.Option(help="hmac: what stands before it")] = "",
    encoding: Annotated[str, typer.Option(help="hmac: hex or base64")] = "hex",
    algorithm: Annotated[str, typer.Option(help="hmac: sha1, sha256, sha384 or sha512")] = "sha256",
    policy: Annotated[str, typer.Option(help="endpoint, or crypto: the signature alone")] = "endpoint",
    json: Annotated[bool, typer.Option("--json", help="JSON; without --scheme, one question a line")] = False,
) -> None:
    """Say whether a webhook is authentic, and by which key it would be known; no server is needed."""
    if scheme is None:
        if not json:
            raise CommandError("expected --scheme, or --json and one question a line on standard input")
        answer_lines(sys.stdin.buffer, sys.stdout.buffer, answer)
        return
    written = {
        "scheme": scheme,
        "header": signature_header,
        "prefix": prefix,
        "encoding": encoding,
        "algorithm": algorithm,
        "url": url,
        "method": method,
        "policy": policy,
        "now": time.time() if now is None else now,
    }
    found = verification.answer(_question(written, secret or [], header or [], body))
    if json:
        print_line(found)
    else:
        _show(found)
    if not found["valid"]:
        raise typer.Exit(Exit.REFUSED)


def _question(written: dict[str, Any], secrets: list[str], headers: list[str], body: Path | None) -> Question:
    try:
        plain = verification.read(written)
        request = Request(
            verification.headers_of(headers), _bytes(body), plain.request.url, plain.request.method
        )
    except BadQuestionError as fault:
        raise CommandError(str(fault)) from None
    known = tuple(_secret(reference) for reference in secrets)
    return Question(plain.scheme, known, request, plain.now, plain.policy)


def _secret(reference: str) -> bytes:
    """The secret behind a reference; one on the command line would stand in the list of processes."""
    kind, _, place = reference.partition(":")
    if kind == "env":
        return os.environ.get(place, "").encode()
    if kind != "file":
        raise CommandError("--secret: expected env:NAME or file:PATH, never the secret itself")
    return _bytes(Path(place)).rstrip(b"\r\n")


def _bytes(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as fault:
        raise CommandError(f"{path}: cannot be read: {fault.strerror}") from None


def _show(found: dict[str, Any]) -> None:
    if found["valid"]:
        typer.echo(f"valid; known as {found['dedup_key']}; time: {found['freshness'].replace('_', ' ')}")
    else:
        reason = found["reason"]
        typer.echo(f"not valid: {_WORDS.get(reason, reason.replace('_', ' '))} ({reason})")
