"""Identifiers: UUIDv7 inside, prefixed hexadecimal text to people."""

from typing import Literal, get_args
from uuid import UUID, SafeUUID

Prefix = Literal["rcp", "msg", "run", "sus", "dlv", "apr"]
PREFIXES: frozenset[str] = frozenset(get_args(Prefix))
RANDOM_BYTES = 10
_VERSION = 7
_MAX_MILLIS = (1 << 48) - 1
_RAND_B = (1 << 62) - 1
_VARIANT = {digit: "89ab"[int(digit, 16) & 0b11] for digit in "0123456789abcdef"}
# The constructor reads its six forms one after the other; these are thousands a second, and always the integer.
_new = object.__new__
_put_int, _put_is_safe = vars(UUID)["int"].__set__, vars(UUID)["is_safe"].__set__


def uuid7(unix_millis: int, randomness: bytes) -> UUID:
    """The UUIDv7 (RFC 9562) of a moment in Unix milliseconds and ten random bytes; ValueError on other sizes."""
    if not 0 <= unix_millis <= _MAX_MILLIS:
        raise ValueError(f"a UUIDv7 holds 48 bits of milliseconds; {unix_millis} does not fit")
    if len(randomness) != RANDOM_BYTES:
        raise ValueError(f"a UUIDv7 needs {RANDOM_BYTES} random bytes, not {len(randomness)}")
    tail = int.from_bytes(randomness, "big")
    rand_a = tail >> 68 & 0xFFF
    rand_b = tail & _RAND_B
    identifier = _new(UUID)
    _put_int(identifier, unix_millis << 80 | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b)
    _put_is_safe(identifier, SafeUUID.unknown)
    return identifier


def unix_millis(identifier: UUID) -> int | None:
    """The moment that a UUIDv7 holds, in Unix milliseconds; None for a UUID of another version."""
    return identifier.int >> 80 if identifier.version == _VERSION else None


def uuid7_text(unix_millis: int, randomness: bytes) -> str:
    """The same as `str(uuid7(...))` for what is written far more often than it is read."""
    if not 0 <= unix_millis <= _MAX_MILLIS or len(randomness) != RANDOM_BYTES:
        return str(uuid7(unix_millis, randomness))
    moment, tail = f"{unix_millis:012x}", randomness.hex()
    return f"{moment[:8]}-{moment[8:]}-7{tail[:3]}-{_VARIANT[tail[4]]}{tail[5:8]}-{tail[8:]}"


def to_people(prefix: Prefix, identifier: UUID | str) -> str:
    """How people see an identifier: `rcp_`, `msg_`, `run_`, `sus_`, `dlv_` or `apr_` and 32 hexadecimal digits."""
    if prefix not in PREFIXES:
        raise ValueError(f"unknown prefix {prefix!r}; expected one of {', '.join(sorted(PREFIXES))}")
    return f"{prefix}_{UUID(str(identifier)).hex}"


def shown(prefix: Prefix, text: str) -> str:
    """The same as `to_people` for an identifier that `uuid7_text` made."""
    return f"{prefix}_{text.replace('-', '')}"


def from_people(text: str) -> tuple[str, UUID]:
    """The prefix and identifier of what people typed; the prefix of a bare UUID is empty; ValueError otherwise."""
    prefix, separator, digits = text.strip().rpartition("_")
    if separator and prefix not in PREFIXES:
        raise ValueError(f"{text!r} is not an identifier; expected {', '.join(sorted(PREFIXES))}_… or a UUID")
    try:
        return prefix, UUID(digits)
    except ValueError:
        raise ValueError(f"{text!r} is not an identifier; expected 32 hexadecimal digits or a UUID") from None
