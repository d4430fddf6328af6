"""Tortures of the mailbox, run by `make torture-mailbox`: zombies that replay, and kills at random moments."""

import argparse
import asyncio
import random
import sys

from tests.torture.conservation import Tally, conserve
from tests.torture.crashing_postgres import crashing_postgres
from tests.torture.zombies import Replayer, replay


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=10_000, help="stale attempts, and live verbs")
    parser.add_argument("--kills", type=int, default=50, help="of workers and of PostgreSQL together")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    sys.stdout.write(f"seed {given.seed}\n")
    with crashing_postgres() as postgres:
        replayer = asyncio.run(replay(postgres, given.attempts, given.seed))
    failed = show_replay(replayer)
    with crashing_postgres() as postgres:
        tally = asyncio.run(conserve(postgres, given.kills, given.seed))
    return 1 if show_tally(tally) or failed else 0


def show_replay(replayer: Replayer) -> bool:
    sys.stdout.write(
        f"stale attempts refused {replayer.stale.total()}, accepted {replayer.accepted.total()}"
        f" ({_each(replayer.stale)})\n"
        f"live verbs accepted {replayer.alive.total()}, refused {replayer.refused.total()}"
        f" ({_each(replayer.alive)})\n"
    )
    return bool(replayer.accepted or replayer.refused)


def show_tally(tally: Tally) -> bool:
    sys.stdout.write(
        f"{tally.worker_kills} kills of workers, {tally.server_kills} of PostgreSQL\n"
        f"deposited {tally.deposited} = acked {tally.acked} + live {tally.live} + dead {tally.dead}\n"
        f"effects {tally.effects}, of different messages {tally.different}\n"
    )
    kept = tally.deposited == tally.acked + tally.live + tally.dead
    return not (kept and tally.effects == tally.different == tally.acked)


def _each(counts: "dict[str, int]") -> str:
    return ", ".join(f"{verb} {count}" for verb, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
