"""The secrets of an installation: made once, kept a file each, read by the one process that needs them."""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from sereno.deploy import database, nats_identities, private_file
from sereno.mailbox.audit import keys

PLANES = ("control", "execution")
TOKEN_PREFIX = "srn_"  # noqa: S105 - the public prefix, no token
LEASE_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Identities:
    """The secrets in a folder; each is made at the first look at it."""

    folder: Path

    @property
    def superuser_password(self) -> str:
        """Of the embedded PostgreSQL."""
        return self._text("postgres_superuser", _password)

    @property
    def role_passwords(self) -> dict[str, str]:
        """Of the database roles, by role."""
        return {role: self._text(f"postgres_{role}", _password) for role in database.ROLES}

    def seed_file(self, process: str) -> Path:
        """The file with the nkey seed of a process."""
        return self.folder / f"nats_{process}.seed"

    @property
    def seeds(self) -> dict[str, str]:
        """The nkey seeds, by process."""
        return {
            name: self._text(self.seed_file(name).name, nats_identities.new_seed)
            for name in nats_identities.PERMISSIONS
        }

    @property
    def admin_token_file(self) -> Path:
        """The token with which a person administers the installation."""
        self._text("admin_token", lambda: TOKEN_PREFIX + secrets.token_urlsafe(32))
        return self.folder / "admin_token"

    @property
    def admin_token_sha256_file(self) -> Path:
        """All that the control plane knows of the admin token."""
        token = self.admin_token_file.read_text(encoding="ascii").strip()
        return self._derived("admin_token.sha256", hashlib.sha256(token.encode()).hexdigest())

    @property
    def lease_key_file(self) -> Path:
        """With which the execution plane authenticates lease bearers."""
        return self._file("lease.key", lambda: secrets.token_bytes(LEASE_KEY_BYTES))

    @property
    def signing_key_file(self) -> Path:
        """With which the control plane signs manifests."""
        return self._file("manifest_signing_key.pem", _signing_key)

    @property
    def manifest_keys_file(self) -> Path:
        """The keys from which the execution plane takes manifests, by key id."""
        pinned = dict(map(_pinned, (self.signing_key_file, *self._former(self.signing_key_file))))
        return self._derived("manifest_keys.json", json.dumps(pinned))

    def audit_key_file(self, plane: str) -> Path:
        """With which a plane signs the ends of its audit chains."""
        return self._file(f"audit_key_{plane}.pem", _signing_key)

    @property
    def audit_keys_file(self) -> Path:
        """The keys by which those ends count, retired ones among them."""
        path = self.folder / "audit_keys.json"
        retired = keys.trusted(path if path.exists() else None)
        current = [keys.load(self.audit_key_file(plane)) for plane in PLANES]
        known = {key.id: (key.private.public_key(), None) for key in current}
        former = {name: (key.public, key.retired_at) for name, key in retired.items() if name not in known}
        return self._derived(path.name, keys.written([*known.values(), *former.values()]).decode())

    def rotate_snapshot(self) -> None:
        """Sign manifests with a new key; those of the former are still taken until the next rotation."""
        former = self._former_file(self.signing_key_file)
        private_file.write(former, self.signing_key_file.read_bytes())
        private_file.write(self.signing_key_file, _signing_key())

    def rotate_token(self) -> None:
        """Another token for the administrator, and another key for the bearers of leases: the former ones end."""
        private_file.write(self.admin_token_file, (TOKEN_PREFIX + secrets.token_urlsafe(32)).encode())
        private_file.write(self.lease_key_file, secrets.token_bytes(LEASE_KEY_BYTES))

    def rotate_audit(self, at: str) -> None:
        """Sign the ends of audit chains with new keys; what the former signed until `at` still counts."""
        known = keys.trusted(self.audit_keys_file)
        kept = [(key.public, key.retired_at or at) for key in known.values()]
        for plane in PLANES:
            private_file.write(self.audit_key_file(plane), _signing_key())
        private_file.write(self.folder / "audit_keys.json", keys.written(kept))

    def _former(self, key: Path) -> list[Path]:
        former = self._former_file(key)
        return [former] if former.exists() else []

    def _former_file(self, key: Path) -> Path:
        return key.with_name(f"{key.stem}.former{key.suffix}")

    @property
    def sealing_key_file(self) -> Path:
        """With which the execution plane opens sealed secrets."""
        return self._file("sealing_key.pem", _sealing_key)

    @property
    def sealing_public_key_file(self) -> Path:
        """With which the control plane seals them; it cannot open what it sealed."""
        key = load_pem_private_key(self.sealing_key_file.read_bytes(), password=None)
        public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return self._derived("sealing_public_key", base64.b64encode(public).decode())

    def _text(self, name: str, make: Callable[[], str]) -> str:
        return self._file(name, lambda: make().encode()).read_text(encoding="ascii").strip()

    def _file(self, name: str, make: Callable[[], bytes]) -> Path:
        path = self.folder / name
        if not path.exists():
            private_file.write(path, make())
        return path

    def _derived(self, name: str, content: str) -> Path:
        path = self.folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            private_file.write(path, content.encode())
        return path


def _pinned(file: Path) -> tuple[str, str]:
    """A public key as the execution plane pins it, by its id."""
    public = (
        load_pem_private_key(file.read_bytes(), password=None)
        .public_key()
        .public_bytes(Encoding.Raw, PublicFormat.Raw)
    )
    return hashlib.sha256(public).hexdigest()[:16], base64.b64encode(public).decode()


def _password() -> str:
    return secrets.token_urlsafe(32)


def _signing_key() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _sealing_key() -> bytes:
    return X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
