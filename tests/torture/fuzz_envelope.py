"""Bent messages at the decoder for minutes: no exception, no slow answer, no growing memory.

Run by `make fuzz-envelope`; an argument is the number of seconds. Examples that failed are kept in `.hypothesis/envelope`
and tried first the next time.
"""

import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from hypothesis import HealthCheck, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.hostile_messages import Message, hold, messages

SECONDS = 600.0
EXAMPLES = 1000
SLOWEST_SECONDS = 5.0
GROWTH_BYTES = 64 << 20
WARM_UP_ROUNDS = 5
KEPT = Path(".hypothesis/envelope")


def main(arguments: Sequence[str]) -> int:
    seconds = float(arguments[0]) if arguments else SECONDS
    began, rounds, slowest, memory = time.monotonic(), 0, 0.0, 0
    tried = 0

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=DirectoryBasedExampleDatabase(KEPT),
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(messages())
    def answers(message: Message) -> None:
        nonlocal slowest, tried
        started = time.process_time()
        hold(message)
        slowest, tried = max(slowest, time.process_time() - started), tried + 1

    while time.monotonic() - began < seconds or rounds <= WARM_UP_ROUNDS:
        answers()
        rounds += 1
        if rounds == WARM_UP_ROUNDS:
            memory = _memory()
    growth = _memory() - memory
    sys.stdout.write(
        f"{tried} messages in {time.monotonic() - began:.0f} s, slowest {1000 * slowest:.0f} ms, "
        f"memory {growth / (1 << 20):+.1f} MiB after warm-up\n"
    )
    return 1 if slowest > SLOWEST_SECONDS or growth > GROWTH_BYTES else 0


def _memory() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
