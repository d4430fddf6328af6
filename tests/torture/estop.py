"""The emergency stop under load, run by `make torture-estop`: eight workers and a flood, and nothing after it returned."""

import argparse
import asyncio
import sys

from sereno.mailbox.engine.postgres import open_pool
from tests.flooding import Flood, flood
from tests.torture.crashing_postgres import CrashingPostgres, crashing_postgres


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stops", type=int, default=200)
    given = parser.parse_args()
    with crashing_postgres() as postgres:
        found = asyncio.run(_run(postgres, given.stops))
    sys.stdout.write(f"{found.sentence}\n")
    return 1 if found.late else 0


async def _run(postgres: CrashingPostgres, stops: int) -> Flood:
    pool = await open_pool(postgres.execution, application_name="torture", max_size=20)
    try:
        return await flood(pool, stops=stops)
    finally:
        await pool.close()


if __name__ == "__main__":
    sys.exit(main())
