"""A DSN that names the file of its password, as libpq and asyncpg read it, instead of the password."""

from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from sereno.deploy import private_file
from sereno.deploy.faults import StartError
from sereno.mailbox.cli.exits import Exit


def without_password(dsn: str, file: Path) -> str:
    """Move the password of `dsn` to `file`; the DSN that finds it there, or the same when it has none."""
    try:
        parts = urlsplit(dsn)
        port = parts.port or 5432
    except ValueError as fault:
        raise StartError(
            "The DSN of PostgreSQL is malformed: expected postgresql://user:password@host:port/database.",
            Exit.BAD_INPUT,
        ) from fault
    if parts.scheme not in {"postgresql", "postgres"}:
        raise StartError(
            "The DSN of PostgreSQL is malformed: expected postgresql://user:password@host:port/database.",
            Exit.BAD_INPUT,
        )
    if parts.password is None:
        return dsn
    entry = [
        parts.hostname or "localhost",
        str(port),
        "*",
        unquote(parts.username or ""),
        unquote(parts.password),
    ]
    private_file.write(file, (":".join(_escaped(field) for field in entry) + "\n").encode())
    query = [*parse_qsl(parts.query), ("passfile", str(file))]
    host = parts.netloc.rpartition("@")[2]
    user = quote(unquote(parts.username or ""), safe="")
    return urlunsplit(parts._replace(netloc=f"{user}@{host}", query=urlencode(query)))


def _escaped(field: str) -> str:
    return field.replace("\\", "\\\\").replace(":", "\\:")
