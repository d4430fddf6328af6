"""An installation whose processes are killed at will, and the count of what came through."""

import contextlib
import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from sereno.deploy.child import Child
from sereno.deploy.options import Options
from sereno.deploy.stop_request import StopRequest
from sereno.deploy.supervision import Supervised
from sereno.deploy.up import installation
from tests.e2e.running import SECRET, SECRET_VARIABLE, Running, until

FAULT = "SERENO_FAULT"
DEATH_SECONDS = 180.0
# A message that a killed pipeline had fetched comes again after the acknowledgement time of 60 s.
REDELIVERY_SECONDS = 150.0
CLAIM = 200


@dataclass(frozen=True, slots=True)
class Plant:
    """A running installation that nobody supervises: what is killed stays dead until it is started again."""

    sereno: Running
    children: Mapping[str, Child]
    dsn: str
    engines: Mapping[str, Supervised] = field(default_factory=dict)

    def kill(self, name: str) -> None:
        """Kill a process or an engine with SIGKILL and start it again."""
        subject = self.children.get(name) or self.engines[name]
        assert subject.process is not None
        subject.process.kill()
        subject.process.wait(DEATH_SECONDS)
        subject.start()

    def start(self, name: str, *, fault: str | None = None) -> None:
        """Start a process anew; with `fault` it kills itself with SIGKILL when it first passes that point."""
        child = self.children[name]
        child.stop()
        child.environment = os.environ if fault is None else {**os.environ, FAULT: fault}
        child.start()

    def await_kill(self, name: str) -> None:
        """Wait until the process has died of its fault, and of nothing else."""
        process = self.children[name].process
        assert process is not None
        code = process.wait(DEATH_SECONDS)
        assert code == -signal.SIGKILL, f"{name} ended with {code}, see {self.children[name].log_file}"

    def await_ready(self, url: str) -> None:
        until(lambda: _ready(url), seconds=180)

    def take(self, agent: str) -> Counter[str]:
        """Claim and acknowledge everything in the agent's mailbox: how often each event is in it, by the event's id."""
        found: Counter[str] = Counter()
        path = f"/v1/mailboxes/{agent}/claim"
        while messages := self.sereno.execution("POST", path, {"max": CLAIM})["messages"]:
            found.update(envelope["id"] for message in messages for envelope in message["envelopes"])
            items = [{"token": message["lease"]["token"]} for message in messages]
            answers = self.sereno.execution("POST", "/v1/leases/ack", {"items": items})["items"]
            assert {answer["status"] for answer in answers} == {"ok"}
        return found


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", trust_env=False).is_success
    except httpx.TransportError:
        return False


@contextlib.contextmanager
def plant(folder: Path) -> Iterator[Plant]:
    """An installation in this folder on free ports; everything is stopped at the end."""
    os.environ[SECRET_VARIABLE] = SECRET
    options = Options(data=folder, control_port=0, execution_port=0)
    with installation(options, StopRequest(), lambda _: None) as running:
        sereno = Running(
            folder,
            running.control_url,
            running.execution_url,
            running.token_file.read_text(encoding="ascii").strip(),
            os.environ,
            {},
            running.probes,
        )
        children = {child.name: child for child in running.supervised if isinstance(child, Child)}
        engines = {subject.name: subject for subject in running.supervised if not isinstance(subject, Child)}
        yield Plant(sereno, children, running.postgres, engines)


def doubled_or_lost(expected: Counter[str], found: Counter[str]) -> list[str]:
    """What differs, as sentences; empty when each expected event came exactly once."""
    lost = [f"{key} was lost" for key in sorted((expected - found).keys())]
    return lost + [f"{key} came {found[key]} times" for key in sorted((found - expected).keys())]
