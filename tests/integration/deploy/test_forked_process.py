"""A forked process is one of its own: its session, its streams, its end."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, signal, subprocess, sys
from sereno.deploy.forked_process import fork

ENOUGH_SECONDS = 60.0
reading, _writing = os.pipe()

def surroundings():
    print(os.getsid(0) == os.getpid(), sorted(int(name) for name in os.listdir("/proc/self/fd")))
    return 7

def fault():
    raise ValueError("nothing works")

def wait():
    return len(os.read(0, 1))

with open(sys.argv[1], "wb") as output:
    good = fork(surroundings, reading=reading, output=output)
    assert (good.wait(ENOUGH_SECONDS), good.poll()) == (7, 7)
    assert fork(fault, reading=reading, output=output).wait(ENOUGH_SECONDS) == 1

    waiting = fork(wait, reading=reading, output=output)
    assert waiting.poll() is None
    try:
        waiting.wait(0.0)
    except subprocess.TimeoutExpired:
        waiting.terminate()
    assert waiting.wait(ENOUGH_SECONDS) == -signal.SIGTERM
    waiting.kill()  # of one that has ended: no signal to whoever has its number now
print("once")
"""


def test_a_forked_process_is_one_of_its_own(tmp_path: Path) -> None:
    # In a process of its own, since only one with a single thread may fork.
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "output")], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "once\n"), ran.stderr
    lines = (tmp_path / "output").read_text().splitlines()
    # The fourth is the listing's own.
    assert lines[0] == "True [0, 1, 2, 3]"
    assert lines[-1] == "ValueError: nothing works"
