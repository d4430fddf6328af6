"""The page behind a one-time link: GET shows exactly what is asked and changes nothing, POST answers, once."""

from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import parse_qs

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from sereno.control_plane import approving
from sereno.control_plane.api.approvals import number
from sereno.control_plane.approving import Said
from sereno.control_plane.catalog.approval import Approval
from sereno.control_plane.catalog.caller import Caller
from sereno.control_plane.catalog.refusal import Refusal
from sereno.control_plane.minting import utc_now
from sereno.control_plane.notifying import asked, link
from sereno.control_plane.notifying.link import Link
from sereno.control_plane.store import approvals, notices
from sereno.control_plane.store.tables import USED_LINK

router = APIRouter(include_in_schema=False)
LARGEST_ANSWER = 8_192
# What a link may do, whatever else its principal may.
_SCOPES = frozenset({"approve"})
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
}
_STYLE = "body{font:16px system-ui;max-width:44em;margin:2em auto;padding:0 1em}pre{white-space:pre-wrap;background:#f3f3f3;padding:1em}button,input,select{font:inherit;padding:.6em 1em;margin:.3em 0}"


@dataclass(frozen=True, slots=True)
class Shown:
    """What waits, as a person sees it: a heading, facts, the text word for word, and how it can be answered."""

    heading: str
    facts: tuple[tuple[str, str], ...]
    text: str
    words: tuple[tuple[str, str], ...]
    options: tuple[str, ...] | None = None


@router.get("/l/{written}")
async def show(written: str, request: Request) -> HTMLResponse:
    """What is asked; a program that only looks at links changes nothing."""
    found = _read(written, request)
    shown = await _shown(request.app.state.engine, found) if found else None
    if found is None or shown is None:
        return _gone()
    return _page(shown.heading, _body(shown, found))


@router.post("/l/{written}")
async def answer(written: str, request: Request) -> HTMLResponse:
    """The person's word. The link is used up by it, also when the word is refused."""
    found = _read(written, request)
    engine = request.app.state.engine
    shown = await _shown(engine, found) if found else None
    if found is None or shown is None:
        return _gone()
    said = parse_qs((await request.body())[:LARGEST_ANSWER].decode(errors="replace"))
    word, text = said.get("word", [""])[0], said.get("answer", [""])[0].strip()
    if word not in dict(shown.words) or (word == "answered" and not text):
        return _page("Not answered", "<p>Expected one of the answers of the page.</p>", 422)
    if word == "answered" and shown.options and text not in shown.options:
        return _page("Not answered", "<p>Expected one of the options.</p>", 422)
    if not await _use(engine, found):
        return _gone()
    refusal = await _say(engine, found, word, text, said.get("reason", [""])[0].strip())
    if refusal is not None:
        return _page("Refused", f"<p>{escape(refusal.message)}</p>", 403)
    return _page(
        "Done", f"<p>{escape(shown.heading)}: <b>{escape(word)}</b>, as {escape(found.principal)}.</p>"
    )


def _read(written: str, request: Request) -> Link | None:
    key = request.app.state.link_key
    return link.read(written, key, utc_now()) if key is not None else None


async def _shown(engine: AsyncEngine, found: Link) -> Shown | None:
    """What waits still, in exactly the text of the link; None when it does not."""
    async with engine.connect() as connection:
        used = await connection.execute(USED_LINK.select().where(USED_LINK.c.nonce == found.nonce))
        if used.first() is not None:
            return None
        if found.subject.startswith(asked.APPROVAL):
            return _of_approval(await approvals.one(connection, found.tenant, number(found.subject)), found)
        notice = await notices.one(connection, found.tenant, f"waiting/{found.subject}")
    return _of_message(notice, found)


def _of_approval(known: Approval | None, found: Link) -> Shown | None:
    if known is None or known.now(utc_now()) != "pending" or known.digest != found.digest:
        return None
    return Shown(
        heading=f"{known.asked_by} asks for {known.subject.kind} {known.subject.name}",
        facts=(
            ("asked by", known.asked_by),
            ("waits because of", ", ".join(known.reasons)),
            ("until", known.expires.isoformat(timespec="minutes")),
            ("digest", known.digest),
        ),
        text=_pretty(known.document),
        words=(("approved", "Approve"), ("denied", "Deny")),
    )


def _of_message(notice: dict[str, Any] | None, found: Link) -> Shown | None:
    if notice is None or notice["done_at"] is not None or asked.digest_of(notice) != found.digest:
        return None
    data = notice["data"]
    words = (("approved", "Approve"), ("denied", "Deny"))
    question = data["waiting_for"] == "question"
    return Shown(
        heading=f"agent:{data['agent']} waits for an answer",
        facts=(("message", data["message"]), ("agent", f"agent:{data['agent']}")),
        text=str(data.get("question") or notice["text"]),
        words=(("answered", "Answer"),) if question else words,
        options=tuple(map(str, data.get("options") or ())) if question else None,
    )


async def _use(engine: AsyncEngine, found: Link) -> bool:
    """Use the link up; False when it was used before."""
    row = {
        "nonce": found.nonce,
        "tenant_id": found.tenant,
        "subject": found.subject,
        "principal": found.principal,
        "used_at": utc_now(),
    }
    async with engine.begin() as connection:
        statement = insert(USED_LINK).values(row).on_conflict_do_nothing().returning(USED_LINK.c.nonce)
        return (await connection.execute(statement)).first() is not None


async def _say(engine: AsyncEngine, found: Link, word: str, text: str, reason: str) -> Refusal | None:
    by, at = Caller(found.principal, found.tenant, _SCOPES), utc_now()
    if found.subject.startswith(asked.APPROVAL):
        said = Said(word == "approved", found.digest, reason or "answered by link")
        done = await approving.resolve(engine, found.tenant, number(found.subject), said, by=by, at=at)
        return done if isinstance(done, Refusal) else None
    told = {"outcome": word, "answer": text or None, "reason": reason or None}
    kept = {name: value for name, value in told.items() if value is not None}
    return await approving.answer(engine, found.tenant, found.subject, kept, by=by, at=at)


def _body(shown: Shown, found: Link) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in shown.facts)
    field = ""
    if shown.options is not None:
        choices = "".join(f'<option value="{escape(one)}">{escape(one)}</option>' for one in shown.options)
        field = f'<select name="answer">{choices}</select>' if choices else '<input name="answer" required>'
    buttons = " ".join(f'<button name="word" value="{word}">{label}</button>' for word, label in shown.words)
    return (
        f"<dl>{rows}</dl><pre>{escape(shown.text)}</pre>"
        f'<form method="post">{field}<p><input name="reason" placeholder="reason" maxlength="500"></p>{buttons}</form>'
        f"<p>You answer as {escape(found.principal)}. The link is good once, until"
        f" {escape(found.expires.isoformat(timespec='minutes'))}.</p>"
    )


def _pretty(document: bytes | str) -> str:
    return orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode()


def _gone() -> HTMLResponse:
    """The same for what never was, was used, was answered elsewhere, or has expired."""
    return _page("Nothing to answer here", "<p>The link is not valid any more, or it never was.</p>", 410)


def _page(title: str, body: str, status: int = 200) -> HTMLResponse:
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style><h1>{escape(title)}</h1>{body}</html>"
    )
    return HTMLResponse(text, status, _HEADERS)
