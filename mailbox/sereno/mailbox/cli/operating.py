"""What commands of operators share: they work on the database itself, also while nothing else runs."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from sereno.mailbox.cli.discovery import database_address
from sereno.mailbox.cli.exits import CommandError, Exit
from sereno.mailbox.engine.postgres import DatabaseUnreachableError

T = TypeVar("T")
Data = Annotated[Path | None, typer.Option("--data", help="Data folder of 'sereno up'.")]
Postgres = Annotated[
    str | None, typer.Option("--postgres", help="DSN of the database; better: SERENO_POSTGRES.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]


def run(work: Coroutine[None, None, T]) -> T:
    """The result of `work`; CommandError when the database does not answer."""
    try:
        return asyncio.run(work)
    except DatabaseUnreachableError as fault:
        raise CommandError(str(fault), Exit.UNREACHABLE) from fault


def address(postgres: str | None, data: Path | None) -> str:
    """The DSN of the database; CommandError when nothing says it."""
    found = postgres or database_address(data=data)
    if found is None:
        raise CommandError(
            "no database is known: set SERENO_POSTGRES, --postgres or --data", Exit.UNREACHABLE
        )
    return found
