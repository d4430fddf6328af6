"""Schedulers to be killed: time listeners on the clock that lies in a table.

Each line on standard input starts one more and is the fault at which it kills itself, perhaps none; the answer is its
process id. They are forked, since a start from nothing takes seconds on a busy machine.
"""

import asyncio
import importlib
import os
import select
import signal
import sys
import traceback

from sereno.execution_plane.listeners.time_listener import TimeListener
from sereno.mailbox.engine import faults
from sereno.mailbox.engine.postgres import open_pool

FAULT = "SERENO_FAULT"
_POLL_SECONDS = 0.05


async def schedule(dsn: str) -> None:
    """Look again and again at what is due by the clock of the table."""
    pool = await open_pool(dsn, application_name="torture", max_size=2)
    listener = TimeListener(pool, os.urandom)
    while True:
        await listener.observe(await pool.fetchval("select now from execution.torture_clock"))


def fork(dsn: str, fault: str) -> int:
    """Start one more; its process id."""
    child = os.fork()
    if child:
        return child
    os.environ[FAULT] = fault
    importlib.reload(faults)
    try:
        asyncio.run(schedule(dsn))
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as its parent
        traceback.print_exc()
    os._exit(1)


def reap() -> None:
    """Take note of the dead; one that was not killed is a fault."""
    try:
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
                sys.exit(f"scheduler {child} ended with {os.waitstatus_to_exitcode(status)}")
    except ChildProcessError:
        return


def main(dsn: str) -> None:
    """Start what is asked for until standard input ends; then nobody is left."""
    children = []
    while True:
        reap()
        if not select.select([sys.stdin], [], [], _POLL_SECONDS)[0]:
            continue
        line = sys.stdin.readline()
        if not line:
            break
        children.append(fork(dsn, line.strip()))
        sys.stdout.write(f"{children[-1]}\n")
        sys.stdout.flush()
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main(sys.argv[1])
