"""The engines fixture: fresh, migrated, and closed to whoever has no credentials."""

import asyncpg
import pytest

from sereno.mailbox.engine import bus
from tests.engines import Engines


async def test_each_role_reads_its_own_schemas_only(engines: Engines) -> None:
    for dsn, own, foreign in (
        (engines.control_dsn, ["control"], ["execution", "mailbox"]),
        (engines.execution_dsn, ["execution", "mailbox"], ["control"]),
        (engines.worker_dsn, [], ["control", "execution", "mailbox"]),
    ):
        connection = await asyncpg.connect(dsn)
        try:
            for schema in own:
                await connection.fetch(f"SELECT * FROM {schema}.alembic_version")
            for schema in foreign:
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.fetch(f"SELECT * FROM {schema}.alembic_version")
        finally:
            await connection.close()


async def test_streams_exist_and_are_empty(engines: Engines) -> None:
    client = await bus.connect(engines.nats, name="test", seed=engines.seed("operator"))
    try:
        for stream in (bus.INGRESS, bus.REPORTS):
            info = await client.jetstream().stream_info(stream)
            assert info.state.messages == 0
    finally:
        await client.close()
