"""The lease bearer: a credential that is good for one lease and nothing else, checked without a look-up."""

import hashlib
import hmac

PREFIX = "srnl_"


class LeaseBearers:
    """Issues and reads `srnl_<token>_<HMAC-SHA256 of the token, hexadecimal>` under one key of 32 bytes.

    Raises ValueError for a shorter key. Whether the lease is still live is for the verbs to say.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) < 32:  # noqa: PLR2004 - the size of the hash
            raise ValueError(f"the lease key needs 32 bytes, not {len(key)}")
        self._key = key

    def issue(self, token: int) -> str:
        """The bearer of the lease that this token names."""
        return f"{PREFIX}{token}_{self._seal(str(token))}"

    def token_of(self, bearer: str) -> int | None:
        """The token inside a bearer of ours; None for anything else."""
        digits, _, seal = bearer.removeprefix(PREFIX).partition("_")
        if not bearer.startswith(PREFIX) or not (digits.isascii() and digits.isdigit()):
            return None
        genuine = hmac.compare_digest(self._seal(digits).encode(), seal.encode())
        return int(digits) if genuine and len(digits) <= 19 else None  # noqa: PLR2004 - digits of a bigint

    def _seal(self, digits: str) -> str:
        return hmac.new(self._key, b"sereno-lease:" + digits.encode(), hashlib.sha256).hexdigest()
