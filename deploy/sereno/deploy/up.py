"""`sereno up`: engines, schemas, identities and the processes of both planes, from start to stop."""

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from sereno.deploy import configuration, private_file, servers
from sereno.deploy.child import Child
from sereno.deploy.configuration import Addresses
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.faults import StartError
from sereno.deploy.identities import Identities
from sereno.deploy.leftovers import end_leftovers
from sereno.deploy.nats_identities import OPERATOR
from sereno.deploy.options import Options
from sereno.deploy.ports import free_port, is_free
from sereno.deploy.postgres_binaries import SHARED_CACHE
from sereno.deploy.readiness import wait_until_ready
from sereno.deploy.stop_request import StopRequest
from sereno.deploy.supervision import Supervised, supervise
from sereno.deploy.upkeep import upkeep
from sereno.mailbox.cli.exits import Exit
from sereno.mailbox.engine.bus import BusUnreachableError
from sereno.mailbox.engine.postgres import DatabaseUnreachableError

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Installation:
    """A running installation as others find it; it holds no secret, only the names of files that do."""

    control_url: str
    execution_url: str
    probes: Mapping[str, str]
    token_file: Path
    postgres: str
    nats: str
    nats_seed_file: Path | None
    supervised: tuple[Supervised, ...]

    def discovery(self) -> dict[str, Any]:
        """The content of `sereno.json`."""
        pids = {subject.name: subject.process.pid for subject in self.supervised if subject.process}
        return {
            "control_url": self.control_url,
            "execution_url": self.execution_url,
            "probes": dict(self.probes),
            "token_file": str(self.token_file),
            "postgres": self.postgres,
            "nats": self.nats,
            "nats_seed_file": str(self.nats_seed_file) if self.nats_seed_file else None,
            "pids": {"up": os.getpid(), **pids},
        }


@contextlib.contextmanager
def installation(
    options: Options,
    stop: StopRequest,
    say: Say,
    *,
    programs: Path = SHARED_CACHE,
    forking: bool = False,
    without: Collection[str] = (),
) -> Iterator[Installation]:
    """Everything started and ready, unless `stop` was set meanwhile; at the end everything is stopped.

    With `forking` the processes of the planes come from this one, which is quicker; see `Child.start_held`. Those
    named in `without` are not started: the caller does their work.
    Raises `StartError` with one sentence; nothing runs then.
    """
    folder = DataFolder(options.data.absolute().resolve())
    folder.make()
    with folder.held(), contextlib.ExitStack() as stack:
        folder.discovery.unlink(missing_ok=True)
        if ended := end_leftovers(folder):
            say(f"ended {len(ended)} processes that an earlier start left behind")
        addresses = _addresses(options)
        _run(servers.check_given(options))
        children = [child for child in _children(folder, addresses) if child.name not in without]
        stack.callback(_stop_all, children)
        for child in children:
            # Loading its code is most of a process' start, and needs no engine.
            child.start_held(forking=forking)
        identities = Identities(folder.secrets)
        engines = stack.enter_context(servers.running(folder, identities, options, programs))
        _run(servers.prepare(engines, identities, _operator_seed(engines, identities, options)))
        configuration.write(folder, identities, engines, addresses, options)
        # Once more: they are to be stopped before the engines that were started after them.
        stack.callback(_stop_all, children)
        for child in children:
            child.release()
        wait_until_ready(children, stop)
        running = Installation(
            control_url=addresses.control_url,
            execution_url=addresses.execution_url,
            probes=addresses.probes,
            token_file=identities.admin_token_file,
            postgres=engines.postgres,
            nats=engines.nats,
            nats_seed_file=identities.seed_file(OPERATOR) if engines.seeds else options.nats_seed_file,
            supervised=(*engines.owned, *children),
        )
        stack.callback(folder.discovery.unlink, missing_ok=True)
        publish(folder, running)
        yield running


def publish(folder: DataFolder, running: Installation) -> None:
    """Write `sereno.json`, by which commands find the planes."""
    private_file.write(folder.discovery, json.dumps(running.discovery(), indent=2).encode())


def keep_running(options: Options, running: Installation, stop: StopRequest, say: Say) -> None:
    """Start again what ends, and make again what is deleted on NATS, until `stop` is set."""
    folder = DataFolder(options.data.absolute().resolve())
    seed = running.nats_seed_file.read_text(encoding="ascii").strip() if running.nats_seed_file else None
    with upkeep(running.nats, seed, say):
        supervise(running.supervised, stop, say=say, changed=lambda: publish(folder, running))


def _addresses(options: Options) -> Addresses:
    """The ports to listen on, 0 taking a free one. Raises `StartError` when one is taken."""
    for flag, host, port in (
        ("--control-port", options.control_host, options.control_port),
        ("--execution-port", options.execution_host, options.execution_port),
        ("SERENO_LISTENERS_PORT", options.execution_host, options.listeners_port),
        ("SERENO_PIPELINE_PORT", options.execution_host, options.pipeline_port),
        ("SERENO_EVALUATOR_PORT", options.execution_host, options.evaluator_port),
    ):
        if port and not is_free(port, host):
            raise StartError(
                f"Port {port} on {host} is in use by another program: choose another with "
                f"{flag}, 0 taking a free one.",
                Exit.REFUSED,
            )
    if options.control_port and options.control_port == options.execution_port:
        raise StartError(
            "Both planes cannot listen on one port: choose another --execution-port.", Exit.BAD_INPUT
        )
    return Addresses(
        options.control_host,
        options.control_port or free_port(),
        options.execution_host,
        options.execution_port or free_port(),
        options.listeners_port or free_port(),
        options.pipeline_port or free_port(),
        (options.evaluator_port or free_port()) if options.evaluators else None,
    )


def _operator_seed(engines: servers.Servers, identities: Identities, options: Options) -> str | None:
    return identities.seeds[OPERATOR] if engines.seeds else options.nats_seed()


def _run(work: Coroutine[object, object, None]) -> None:
    """Run what speaks with the engines; what they do not answer, or refuse, is one sentence."""
    try:
        asyncio.run(work)
    except BaseExceptionGroup as group:
        raise _sentence(_first(group)) from group
    except (DatabaseUnreachableError, BusUnreachableError, asyncpg.PostgresError) as fault:
        raise _sentence(fault) from fault


def _first(fault: BaseException) -> BaseException:
    return _first(fault.exceptions[0]) if isinstance(fault, BaseExceptionGroup) else fault


def _sentence(fault: BaseException) -> BaseException:
    if isinstance(fault, DatabaseUnreachableError | BusUnreachableError):
        return StartError(f"{fault}.", Exit.UNREACHABLE)
    if isinstance(fault, asyncpg.PostgresError):
        return StartError(f"PostgreSQL refused to prepare the database: {fault}.")
    return fault


def _children(folder: DataFolder, addresses: Addresses) -> list[Child]:
    return [
        Child(name, configuration.path(folder, name), folder.log(name), url)
        for name, url in addresses.probes.items()
    ]


def _stop_all(children: Sequence[Child]) -> None:
    for child in children:
        child.ask_to_stop()
    for child in reversed(children):
        child.stop()
