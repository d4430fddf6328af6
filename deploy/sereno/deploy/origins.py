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
    description: str


def effective(
    options: Options, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> Iterator[Setting]:
    """Every setting, in the order of its declaration."""
    file = environment.get("SERENO_CONFIG")
    for name, field in Options.model_fields.items():
        yield Setting(
            name,
            _shown(getattr(options, name)),
            _origin(options, name, flags, environment, file),
            field.description or "",
        )


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
