"""Processes of an installation that outlived their `sereno up`, and their end.

A process is known by what it is, never by a stored number: its program and the configuration file or the
cluster folder of this very installation. A reused process id is therefore never taken for one of ours.
"""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil

from sereno.deploy.data_folder import DataFolder

STOP_SECONDS = 20.0
CONFIG_FLAG = "--config"


def end_leftovers(folder: DataFolder) -> list[str]:
    """End the planes' processes, then NATS, then PostgreSQL of an earlier start; the names of what was ended."""
    found = list(_ours(folder))
    ended: list[str] = []
    for kind in ("serve", "nats", "postgres"):
        group = [process for name, process in found if name == kind]
        for process in group:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGINT if kind == "postgres" else signal.SIGTERM)
        _, alive = psutil.wait_procs(group, STOP_SECONDS)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGQUIT if kind == "postgres" else signal.SIGKILL)
        psutil.wait_procs(alive, STOP_SECONDS)
        ended += [kind] * len(group)
    return ended


def _ours(folder: DataFolder) -> Iterator[tuple[str, psutil.Process]]:
    configurations = str(folder.configuration)
    for process in psutil.process_iter():
        try:
            arguments = process.cmdline()
            kind = _kind(arguments, str(folder.nats / "nats.conf"), configurations)
            if kind is None and _is_postmaster(process, arguments, folder.postgres / "data"):
                kind = "postgres"
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
        if kind is not None:
            yield kind, process


def _kind(arguments: list[str], nats: str, configurations: str) -> str | None:
    if CONFIG_FLAG not in arguments:
        return None
    # The file comes last; a forked process shows one text, in which a blank of its name separates words too.
    named = " ".join(arguments[arguments.index(CONFIG_FLAG) + 1 :])
    if named == nats:
        return "nats"
    return "serve" if "serve" in arguments and str(Path(named).parent) == configurations else None


def _is_postmaster(process: psutil.Process, arguments: list[str], data: Path) -> bool:
    """The postmaster works in its cluster's folder; its children do too, and end with it."""
    if not arguments or Path(arguments[0]).name != "postgres" or "-D" not in arguments:
        return False
    return process.cwd() == str(data)
