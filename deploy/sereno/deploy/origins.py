"""The effective configuration of a process and where each value comes from, secrets masked."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from sereno.deploy.options import Options

_MASK = "**********"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it is in force."""

    name: str
    value: str
    origin: str
    running: str
    """With which value the processes run now; empty when none runs or none uses it."""
    description: str


def effective(
    options: Options,
    flags: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    *,
    processes: Mapping[str, Mapping[str, Any]],
) -> Iterator[Setting]:
    """Every setting, in the order of its declaration; `processes` are the configurations of those that run, by name."""
    file = environment.get("SERENO_CONFIG")
    for name, field in Options.model_fields.items():
        yield Setting(
            name,
            _shown(getattr(options, name)),
            _origin(options, name, flags, environment, file),
            _running(name, field.annotation is SecretStr, processes),
            field.description or "",
        )


def _running(name: str, secret: bool, processes: Mapping[str, Mapping[str, Any]]) -> str:
    values = {process: kept[name] for process, kept in processes.items() if kept.get(name) not in (None, "")}
    if secret and values:
        return _MASK
    different = sorted(set(map(_shown, values.values())))
    if len(different) <= 1:
        return "".join(different)
    return ", ".join(f"{process}: {_shown(value)}" for process, value in values.items())


def _shown(value: object) -> str:
    if isinstance(value, SecretStr):
        return _MASK if value.get_secret_value() else ""
    return "" if value is None else str(value)


def _origin(
    options: Options, name: str, flags: Mapping[str, Any], environment: Mapping[str, str], file: str | None
) -> str:
    if flags.get(name) is not None:
        return f"--{name.replace('_', '-')}"
    variable = f"SERENO_{name.upper()}"
    if variable in environment:
        return variable
    return file if file and name in options.model_fields_set else "default"
