"""Configuration of a process: flags over `SERENO_…` environment over the file named by `SERENO_CONFIG`."""

import os
from errno import ENOENT
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    JsonConfigSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from sereno.mailbox.engine import known_settings

Sources = tuple[PydanticBaseSettingsSource, ...]


class Settings(BaseSettings):
    """What a process of either plane has to know to start; secrets come as file names or masked values."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix="SERENO_", extra="ignore", frozen=True
    )

    postgres: SecretStr = Field(SecretStr(""), description="DSN of PostgreSQL (>= 15) for this process' role")
    nats: str = Field("nats://127.0.0.1:4222", description="URL of NATS (>= 2.12) with JetStream")
    nats_seed_file: Path | None = Field(None, description="file with the nkey seed of this process")
    audit_checkpoint_file: Path | None = Field(
        None,
        description="where signed ends of this plane's audit chains are appended; best on another disk",
    )
    audit_key_file: Path | None = Field(
        None, description="control plane and pipeline: Ed25519 key (PEM) that signs those ends"
    )
    audit_keys_file: Path | None = Field(
        None, description="both planes: public keys by which signed ends count, also retired ones, JSON"
    )
    # Read before the addresses that it allows.
    behind_tls: bool = Field(
        False,
        description="TLS ends before the processes, or the network is private: listen also beyond the loopback",
    )
    control_host: str = Field("127.0.0.1", description="address on which the control plane listens")
    control_port: int = Field(7700, ge=0, le=65535, description="port of the control plane")
    execution_host: str = Field("127.0.0.1", description="address on which the execution plane listens")
    execution_port: int = Field(7701, ge=0, le=65535, description="port of the execution plane")
    listeners_port: int = Field(
        0, ge=0, le=65535, description="port of the listeners' probes and metrics; 0: a free one"
    )
    pipeline_port: int = Field(
        0, ge=0, le=65535, description="port of the pipeline's probes and metrics; 0: a free one"
    )
    evaluator_port: int = Field(
        0, ge=0, le=65535, description="port of the evaluator's probes and metrics; 0: a free one"
    )
    evaluators: tuple[dict[str, Any], ...] = Field(
        (),
        description="who judges semantic conditions, in order of preference: a JSON list of mappings with `name`, "
        "`model`, `egress` (local or remote) and more",
    )
    control_url: str = Field("http://127.0.0.1:7700", description="where others reach the control plane")
    execution_url: str = Field("http://127.0.0.1:7701", description="where others reach the execution plane")
    signing_key_file: Path | None = Field(
        None, description="control plane: Ed25519 key (PEM) that signs manifests"
    )
    manifest_keys_file: Path | None = Field(
        None, description="execution plane: trusted public keys by key id, JSON"
    )
    lease_key_file: Path | None = Field(
        None, description="execution plane: 32 bytes that authenticate lease bearers"
    )
    sealing_key_file: Path | None = Field(
        None,
        description="execution plane: X25519 key (PEM) that opens sealed secrets; two while one is replaced",
    )
    sealing_public_key_file: Path | None = Field(
        None, description="control plane: the public half, 32 bytes in base64, with which it seals secrets"
    )
    admin_token_sha256_file: Path | None = Field(
        None, description="control plane: SHA-256 (hex) of the admin token"
    )
    calendar_networks: str = Field(
        "",
        description="networks, with commas, in which calendars may lie although they are closed by default, "
        "such as 10.0.0.0/8; plain http is for these alone",
    )
    connector_networks: str = Field(
        "",
        description="networks, with commas, in which servers of connectors may lie although they are closed by default, "
        "such as 10.0.0.0/8; plain http is for these alone",
    )
    calendar_folder: Path | None = Field(
        None, description="the folder in which calendar files may lie; none: anywhere the listeners can read"
    )
    json_logs: bool = Field(True, description="logs as JSON lines; false for people")

    @field_validator("control_host", "execution_host")
    @classmethod
    def _refuse_open_ports(cls, host: str, info: ValidationInfo) -> str:
        """Tokens travel as they are: beyond the loopback that takes TLS, which ends before these processes."""
        if not info.data.get("behind_tls") and not _is_loopback(host):
            raise ValueError(
                f"refusing to listen on {host} without TLS: tokens would travel in clear; listen on 127.0.0.1, or let a"
                " proxy end TLS before it and set SERENO_BEHIND_TLS=true"
            )
        return host

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> Sources:
        """Flags (given as arguments) beat the environment, which beats the file."""
        del dotenv_settings, file_secret_settings
        known_settings.check_environment(os.environ, settings_cls.model_fields)
        return init_settings, env_settings, *_file_source(settings_cls)

    def dsn(self) -> str:
        """The DSN in clear, for the driver alone."""
        return self.postgres.get_secret_value()

    def nats_seed(self) -> str | None:
        """The nkey seed of this process, or none where NATS asks for none."""
        return self.nats_seed_file.read_text(encoding="ascii").strip() if self.nats_seed_file else None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _file_source(settings_cls: type[BaseSettings]) -> Sources:
    path = os.environ.get("SERENO_CONFIG")
    if not path:
        return ()
    if not Path(path).is_file():  # the sources would take a file that is missing for one that is empty
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), path)
    kind = TomlConfigSettingsSource if path.endswith(".toml") else JsonConfigSettingsSource
    source = kind(settings_cls, Path(path))
    known_settings.check_file(path, source.init_kwargs, settings_cls.model_fields)
    return (source,)
