"""Names for what asyncpg hands out; its classes are generic for type checkers only."""

from typing import TypeAlias

from asyncpg import Connection, Pool, Record
from asyncpg.pool import PoolConnectionProxy

AnyConnection: TypeAlias = "Connection[Record] | PoolConnectionProxy[Record]"
"""A connection of its own, or one borrowed from a pool."""

AnyPool: TypeAlias = "Pool[Record]"
"""A pool as `engine.postgres.open_pool` opens it."""
