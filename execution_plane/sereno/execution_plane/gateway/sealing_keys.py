"""The key pairs with which this plane opens sealed secrets: the current one, and one that is being replaced."""

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from sereno.mailbox.cli.exits import CommandError
from sereno.mailbox.engine.settings import Settings
from sereno.subscriptions.sealed import key_id

_END = b"-----END PRIVATE KEY-----"


def configured(settings: Settings) -> Mapping[str, X25519PrivateKey]:
    """The keys in the configured file by id; none where none is configured. Raises `CommandError`."""
    path = settings.sealing_key_file
    if path is None:
        return {}
    try:
        blocks = [block + _END for block in path.read_bytes().split(_END) if block.strip()]
        keys = [load_pem_private_key(block, password=None) for block in blocks]
    except OSError as fault:
        raise CommandError(f"the sealing key in {path} cannot be read: {fault.strerror}") from fault
    except (ValueError, TypeError) as fault:
        raise CommandError(f"{path}: expected X25519 private keys in PEM") from fault
    found = {key_id(key.public_key()): key for key in keys if isinstance(key, X25519PrivateKey)}
    if len(found) != len(blocks):
        raise CommandError(f"{path}: expected X25519 private keys in PEM")
    return found
