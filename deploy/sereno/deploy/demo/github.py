"""A sender that speaks like GitHub: the body of an `issues` event, signed over its raw bytes, posted over HTTP."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

_TIMEOUT_SECONDS = 10.0
_API = "https://api.github.com/repos/acme/shop"
_WEB = "https://github.com/acme/shop"


@dataclass(frozen=True, slots=True)
class Webhook:
    """One delivery as it goes over the wire: the same twice is the same delivery."""

    delivery: str
    body: bytes
    event: str = "issues"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the endpoint answered."""

    status: int
    body: dict[str, Any]


def issue(number: int, title: str, *, action: str, delivery: str, at: str) -> Webhook:
    """An `issues` webhook in GitHub's shape; `at` is the time of the issue in RFC 3339."""
    reporter = {
        "login": "octocat",
        "id": 583231,
        "type": "User",
        "url": "https://api.github.com/users/octocat",
    }
    body = {
        "action": action,
        "issue": {
            "url": f"{_API}/issues/{number}",
            "html_url": f"{_WEB}/issues/{number}",
            "id": 2_900_000_000 + number,
            "number": number,
            "title": title,
            "user": reporter,
            "labels": [],
            "state": "closed" if action == "closed" else "open",
            "comments": 0,
            "created_at": at,
            "updated_at": at,
            "body": "It happens with every order since this morning.",
        },
        "repository": {
            "id": 730_000_001,
            "name": "shop",
            "full_name": "acme/shop",
            "private": True,
            "url": _API,
            "html_url": _WEB,
        },
        "sender": reporter,
    }
    return Webhook(delivery, json.dumps(body, separators=(",", ":")).encode())


def signature(body: bytes, secret: str) -> str:
    """The value of `X-Hub-Signature-256` (docs.github.com, "Validating webhook deliveries")."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def send(url: str, webhook: Webhook, secret: str) -> Answer:
    """Post the delivery to an endpoint. Raises `OSError` when nothing answers."""
    address = urlsplit(url)
    connection = HTTPConnection(address.netloc, timeout=_TIMEOUT_SECONDS)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/sereno-demo",
        "X-GitHub-Event": webhook.event,
        "X-GitHub-Delivery": webhook.delivery,
        "X-Hub-Signature-256": signature(webhook.body, secret),
    }
    try:
        connection.request("POST", address.path, webhook.body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, json.loads(answer.read() or b"{}"))
    finally:
        connection.close()
