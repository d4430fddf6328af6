"""GitLab: a signing token (`whsec_…`, signed as in Standard Webhooks), or the older token sent as it is.

Source: docs.gitlab.com, "Webhooks". A secret that begins with `whsec_` is a signing token and is never accepted as
`X-Gitlab-Token`; any other is such a token, which authenticates the sender and covers nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sereno.execution_plane.gateway.headers import single
from sereno.execution_plane.gateway.signatures import standard
from sereno.execution_plane.gateway.signatures.bearer import is_secret
from sereno.execution_plane.gateway.signatures.scheme import Failed, Request, Verified

TOKEN = "x-gitlab-token"  # noqa: S105 - the name of a header
SIGNATURE = "webhook-signature"
_SIGNING = b"whsec_"


def _is_signed(request: Request) -> bool:
    return any(name == SIGNATURE for name, _ in request.headers)


@dataclass(frozen=True, slots=True)
class GitLab:
    """The scheme of GitLab."""

    name: ClassVar[str] = "gitlab"
    signs_time: ClassVar[bool] = False
    """Only the signing token does; where it is used, its timestamp is checked."""

    def verify(self, request: Request, secrets: Sequence[bytes]) -> Verified | Failed:
        """See `Scheme.verify`."""
        signing = [secret for secret in secrets if secret.strip().startswith(_SIGNING)]
        signed = standard.verify(request, signing, "webhook")
        tokens = [secret for secret in secrets if secret not in signing]
        token = single(request.headers, TOKEN)
        shown = is_secret(token, tokens)
        if signing and (not shown or _is_signed(request)):
            # A token beside a signature proves less: it would let a captured request in for ever.
            return signed
        if shown:
            return Verified()
        return Failed("signature_missing" if token is None else "signature_mismatch")
