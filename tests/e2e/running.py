"""A whole Sereno as a person starts it, and what outsiders do with it: sign, send, ask, work."""

import contextlib
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

SECRET = "a secret for tests"
SECRET_VARIABLE = "GITHUB_WEBHOOK_SECRET"
START_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Running:
    """Both planes of one installation, and the environment in which its commands are run."""

    data: Path
    control_url: str
    execution_url: str
    token: str
    environment: Mapping[str, str]
    pids: Mapping[str, int]
    probes: Mapping[str, str]
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=30.0, trust_env=False))

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def command(self, *arguments: str, code: int = 0) -> str:
        """What `sereno ARGUMENTS` prints; its exit code must be `code`."""
        return sereno(arguments, self.environment, code=code)

    def apply(self, documents: str) -> dict[str, Any]:
        """Put documents in force, and return once the execution plane works with them."""
        answer: dict[str, Any] = self.control("POST", "/v1/apply", {"documents": documents})
        self.in_force(answer["manifest"])
        return answer

    def in_force(self, versions: Mapping[str, int]) -> None:
        """Wait until the execution plane works with these manifest versions."""

        def taken() -> bool:
            now = self.execution("GET", "/v1/manifest")
            return all(now.get(tenant, {"version": 0})["version"] >= v for tenant, v in versions.items())

        until(taken)

    def ready(self, agent: str) -> int:
        """How many messages wait in the agent's mailbox."""
        boxes = self.execution("GET", "/v1/mailboxes")["mailboxes"]
        return sum(box["ready"] for box in boxes if box["agent"] == agent)

    def control(self, method: str, path: str, body: Any = None) -> Any:
        return self._ask(method, self.control_url + path, body)

    def execution(self, method: str, path: str, body: Any = None) -> Any:
        return self._ask(method, self.execution_url + path, body)

    def _ask(self, method: str, url: str, body: Any) -> Any:
        answer = self.http.request(method, url, json=body, headers=self.bearer)
        assert answer.is_success, f"{method} {url}: {answer.status_code} {answer.text}"
        return answer.json()


def sereno(arguments: Sequence[str], environment: Mapping[str, str], *, code: int = 0) -> str:
    """What a `sereno` command prints on stdout; its exit code must be `code`."""
    run = subprocess.run(
        [sys.executable, "-m", "sereno.deploy.main", *arguments],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )
    assert run.returncode == code, (
        f"sereno {' '.join(arguments)} ended with {run.returncode}:\n{run.stdout}{run.stderr}"
    )
    return run.stdout


@contextlib.contextmanager
def running(data: Path, **variables: str) -> Iterator[Running]:
    """An installation in the folder `data`, on free ports; stopped at the end. `variables` join its environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SERENO_")}
    environment = {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
        "SERENO_DATA": str(data),
        "SERENO_CONTROL_PORT": "0",
        "SERENO_EXECUTION_PORT": "0",
        SECRET_VARIABLE: SECRET,
        **variables,
    }
    found = json.loads(sereno(["up", "--detach", "--json"], environment))
    token = Path(found["token_file"]).read_text(encoding="ascii").strip()
    try:
        yield Running(
            data,
            found["control_url"],
            found["execution_url"],
            token,
            environment,
            found["pids"],
            found["probes"],
        )
    finally:
        sereno(["down"], environment)


def until(condition: Callable[[], object], *, seconds: float = 120.0) -> None:
    """Return as soon as the condition holds; fail when it does not within the time."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, f"not so within {seconds:.0f} s"
        time.sleep(0.02)


def figures(sereno: Running, process: str) -> dict[str, float]:
    """Each series of ours that a process shows, without the labels that name the instrumentation."""
    text = sereno.http.get(f"{sereno.probes[process]}/metrics").text
    found = {}
    for name, labels, value in re.findall(r"^(sereno_\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        own = sorted(label for label in re.findall(r'\w+="[^"]*"', labels) if not label.startswith("otel_"))
        found[f"{name}{{{','.join(own)}}}" if own else name] = float(value)
    return found


def pull_request(number: int) -> bytes:
    """The body of GitHub's `pull_request` event, about 600 bytes, different for each number."""
    repository = "https://api.github.com/repos/acme/shop"
    body = {
        "action": "opened",
        "number": number,
        "pull_request": {
            "id": 10_000 + number,
            "number": number,
            "state": "open",
            "title": f"Change {number}",
            "url": f"{repository}/pulls/{number}",
            "body": "Replaces the rounding of prices. " * 6,
            "created_at": "2026-05-04T10:00:00Z",
            "updated_at": "2026-05-04T10:00:00Z",
        },
        "repository": {"id": 1, "full_name": "acme/shop", "url": repository},
        "sender": {"id": 2, "login": "octocat"},
    }
    return json.dumps(body).encode()


def github_headers(
    body: bytes, delivery: str, *, secret: str = SECRET, event: str = "pull_request"
) -> dict[str, str]:
    """The headers with which GitHub sends this body."""
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={signature}",
    }


DOCUMENTS = f"""\
apiVersion: sereno/v1
kind: Agent
metadata: {{name: reviewer}}
spec: {{owner: user:marta, adapter: pull}}
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {{name: github}}
spec: {{scheme: github, secrets: ["env:{SECRET_VARIABLE}"]}}
---
apiVersion: sereno/v1
kind: Subscription
metadata: {{name: review-pull-requests}}
spec:
  owner: user:marta
  agent: agent:reviewer
  instruction: Read the pull request and list what could break.
  source: {{webhook: {{endpoint: github}}}}
  filters: [{{exact: {{type: com.github.pull_request.opened}}}}]
"""


def endpoint_url(applied: Mapping[str, Any]) -> str:
    """Where senders post, from the answer of an apply of `DOCUMENTS`."""
    return str(next(item["url"] for item in applied["objects"] if item["kind"] == "Endpoint"))
