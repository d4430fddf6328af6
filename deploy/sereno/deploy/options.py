"""What a person tells `sereno up`: flags over `SERENO_…` environment over the file named by `SERENO_CONFIG`."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from sereno.mailbox.cli.discovery import default_data_folder
from sereno.mailbox.engine.settings import Settings


class Options(Settings):
    """The settings of a process, and those of the installation."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix="SERENO_", extra="ignore", frozen=True
    )

    nats: str = Field("", description="URL of an existing NATS (>= 2.12) with JetStream; empty: run one")
    postgres: SecretStr = Field(
        SecretStr(""), description="DSN of an existing PostgreSQL (>= 15); empty: run one"
    )
    data: Path = Field(default_factory=default_data_folder, description="data folder of the installation")
