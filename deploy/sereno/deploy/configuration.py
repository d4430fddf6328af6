"""The configuration file of each process: its own role, its own seed, its own keys, and nobody else's."""

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sereno.deploy import database, private_file
from sereno.deploy.data_folder import DataFolder
from sereno.deploy.identities import Identities
from sereno.deploy.options import Options
from sereno.deploy.servers import Servers

PROCESSES = ("control", "gateway", "listeners", "pipeline", "evaluator")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where both planes listen."""

    control_host: str
    control_port: int
    execution_host: str
    execution_port: int
    listeners_port: int
    pipeline_port: int
    evaluator_port: int | None = None
    """None where no evaluator is configured: nothing is judged then."""

    @property
    def control_url(self) -> str:
        """Where the control plane is asked."""
        return f"http://{self.control_host}:{self.control_port}"

    @property
    def execution_url(self) -> str:
        """Where the execution plane is asked."""
        return f"http://{self.execution_host}:{self.execution_port}"

    @property
    def probes(self) -> dict[str, str]:
        """Where each process answers its probes and shows its metrics."""
        every = {
            "control": self.control_url,
            "gateway": self.execution_url,
            "listeners": f"http://{self.execution_host}:{self.listeners_port}",
            "pipeline": f"http://{self.execution_host}:{self.pipeline_port}",
        }
        if self.evaluator_port is not None:
            every["evaluator"] = f"http://{self.execution_host}:{self.evaluator_port}"
        return every


def path(folder: DataFolder, process: str) -> Path:
    """The configuration file of a process."""
    return folder.configuration / f"{process}.json"


def read_all(folder: DataFolder) -> dict[str, dict[str, Any]]:
    """What the processes were last configured with, by name; those whose file cannot be read are left out."""
    found = {}
    for name in PROCESSES:
        with contextlib.suppress(OSError, ValueError):
            found[name] = json.loads(path(folder, name).read_bytes())
    return found


def write(
    folder: DataFolder, identities: Identities, servers: Servers, addresses: Addresses, options: Options
) -> None:
    """Write the file (0600) of each process."""
    passwords = identities.role_passwords
    for name in addresses.probes:
        role = database.CONTROL if name == "control" else database.EXECUTION
        content: dict[str, Any] = {
            "postgres": database.with_login(servers.postgres, role, passwords[role]),
            "nats": servers.nats,
            "nats_seed_file": str(identities.seed_file(name)) if servers.seeds else _given_seed(options),
            "behind_tls": options.behind_tls,
            "control_host": addresses.control_host,
            "control_port": addresses.control_port,
            "control_url": addresses.control_url,
            "execution_host": addresses.execution_host,
            "execution_port": addresses.execution_port,
            "execution_url": addresses.execution_url,
            "listeners_port": addresses.listeners_port,
            "pipeline_port": addresses.pipeline_port,
            "evaluator_port": addresses.evaluator_port or 0,
            "evaluators": options.evaluators,
            "calendar_networks": options.calendar_networks,
            "connector_networks": options.connector_networks,
            "calendar_folder": str(options.calendar_folder) if options.calendar_folder else None,
            "json_logs": options.json_logs,
            **_keys(name, identities),
            **_audit(name, folder, identities, options),
        }
        private_file.write(path(folder, name), json.dumps(content, indent=2).encode())


def _audit(name: str, folder: DataFolder, identities: Identities, options: Options) -> dict[str, str]:
    """The control plane and the pipeline sign the ends of their chains; the gateway shows those of the second."""
    if name not in {"control", "pipeline", "gateway"}:
        return {}
    file = _checkpoints(folder, options)
    if name != "control":
        file = file.with_name(f"{file.stem}-execution{file.suffix}")
    said = {"audit_checkpoint_file": str(file), "audit_keys_file": str(identities.audit_keys_file)}
    if name != "gateway":
        said["audit_key_file"] = str(
            identities.audit_key_file("control" if name == "control" else "execution")
        )
    return said


def _checkpoints(folder: DataFolder, options: Options) -> Path:
    """Beside the database unless told otherwise: whoever may write there can cut both."""
    return options.audit_checkpoint_file or folder.root / "audit" / "checkpoints.jsonl"


def _given_seed(options: Options) -> str | None:
    return str(options.nats_seed_file) if options.nats_seed_file else None


def _keys(name: str, identities: Identities) -> dict[str, str]:
    if name == "control":
        return {
            "signing_key_file": str(identities.signing_key_file),
            "admin_token_sha256_file": str(identities.admin_token_sha256_file),
            "sealing_public_key_file": str(identities.sealing_public_key_file),
        }
    keys = {
        "manifest_keys_file": str(identities.manifest_keys_file),
        "lease_key_file": str(identities.lease_key_file),
    }
    # Secrets are opened where they are compared, and nowhere else.
    return keys | {"sealing_key_file": str(identities.sealing_key_file)} if name == "gateway" else keys
