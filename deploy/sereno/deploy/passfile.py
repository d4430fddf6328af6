"""A DSN that names the file of its password, as libpq and asyncpg read it, instead of the password."""

from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from sereno.deploy import private_file
from sereno.deploy.faults import StartError
from sereno.mailbox.cli.exits import Exit

_MALFORMED = "The DSN of PostgreSQL is malformed: expected postgresql://user:password@host:port/database."


def parse(dsn: str) -> SplitResult:
    """The parts of a DSN. Raises `StartError` without repeating it, since it may hold a password."""
    try:
        parts = urlsplit(dsn)
        usable = parts.scheme in {"postgresql", "postgres"} and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise StartError(_MALFORMED, Exit.BAD_INPUT)
    return parts


def without_password(dsn: str, file: Path) -> str:
    """Move the password of `dsn` to `file`; the DSN that finds it there, or the same when it has none."""
    parts = parse(dsn)
    if parts.password is None:
        return dsn
    user = unquote(parts.username or "")
    entry = [parts.hostname or "localhost", str(parts.port or 5432), "*", user, unquote(parts.password)]
    private_file.write(file, (":".join(_escaped(field) for field in entry) + "\n").encode())
    query = [*parse_qsl(parts.query), ("passfile", str(file))]
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}@{host}", query=urlencode(query)))


def _escaped(field: str) -> str:
    return field.replace("\\", "\\\\").replace(":", "\\:")
