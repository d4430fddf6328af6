"""Where the planes are and with which token to ask them: flags, then environment, then `sereno.json`."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sereno.mailbox.cli.exits import CommandError, Exit

FILE_NAME = "sereno.json"
_TEXTS = ("control_url", "execution_url", "token_file")
ROOT_DATA = Path("/var/lib/sereno")


@dataclass(frozen=True, slots=True)
class Discovery:
    """The addresses of both planes and the bearer token, as far as they are known."""

    control_url: str | None
    execution_url: str | None
    token: str | None

    def control(self) -> tuple[str, str | None]:
        """Address and token for the control plane. Raises `CommandError` when it is not known."""
        return _known(self.control_url, "control", "SERENO_CONTROL_URL"), self.token

    def execution(self) -> tuple[str, str | None]:
        """Address and token for the execution plane. Raises `CommandError` when it is not known."""
        return _known(self.execution_url, "execution", "SERENO_EXECUTION_URL"), self.token


def _known(url: str | None, plane: str, variable: str) -> str:
    if url is None:
        message = f"no {plane} plane is known: start one with 'sereno up', or set {variable} or --data"
        raise CommandError(message, Exit.UNREACHABLE)
    return url


def default_data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The data folder when none is named: `SERENO_DATA`, else by the XDG convention, `/var/lib/sereno` for root."""
    if named := environment.get("SERENO_DATA"):
        return Path(named)
    if os.geteuid() == 0 and "XDG_STATE_HOME" not in environment:
        return ROOT_DATA
    state = environment.get("XDG_STATE_HOME") or str(
        Path(environment.get("HOME", "~")).expanduser() / ".local/state"
    )
    return Path(state) / "sereno"


def discover(
    *,
    control_url: str | None = None,
    execution_url: str | None = None,
    token: str | None = None,
    data: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Discovery:
    """Flags first, then `SERENO_CONTROL_URL`, `SERENO_EXECUTION_URL`, `SERENO_TOKEN`, then the data folder's file."""
    file = _read(data or default_data_folder(environment))
    return Discovery(
        control_url or environment.get("SERENO_CONTROL_URL") or file.get("control_url"),
        execution_url or environment.get("SERENO_EXECUTION_URL") or file.get("execution_url"),
        _sendable(token or environment.get("SERENO_TOKEN") or _token(file)),
    )


def _sendable(token: str | None) -> str | None:
    """The token, if a header can carry it; it is never quoted, since it may be a true one with a slip in it."""
    if token is not None and not (token.isascii() and token.isprintable()):
        raise CommandError("the token has characters that no token has: give the text of the token file")
    return token


def database_address(*, data: Path | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The DSN of the database: `SERENO_POSTGRES`, then the data folder's file; None when neither says."""
    return environment.get("SERENO_POSTGRES") or _read(data or default_data_folder(environment)).get(
        "postgres"
    )


def _read(folder: Path) -> Mapping[str, str]:
    path = folder / FILE_NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return {}
    except ValueError as fault:
        raise CommandError(f"{path}: expected JSON as 'sereno up' writes it: {fault}") from fault
    if not isinstance(content, dict) or not all(isinstance(content.get(name, ""), str) for name in _TEXTS):
        raise CommandError(f"{path}: expected a JSON object as 'sereno up' writes it")
    return content


def _token(file: Mapping[str, str]) -> str | None:
    path = file.get("token_file")
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
