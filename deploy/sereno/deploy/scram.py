"""A password as PostgreSQL stores it, computed here so that the password itself never reaches a server's log."""

import base64
import hashlib
import hmac

ITERATIONS = 4096


def verifier(password: str, salt: bytes, iterations: int = ITERATIONS) -> str:
    """The SCRAM-SHA-256 verifier (RFC 5803) of an ASCII password."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    stored_key = hashlib.sha256(client_key).digest()
    return f"SCRAM-SHA-256${iterations}:{_text(salt)}${_text(stored_key)}:{_text(server_key)}"


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
