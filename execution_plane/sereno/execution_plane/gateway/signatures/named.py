"""Every scheme by the name under which it is declared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sereno.execution_plane.gateway.signatures.bearer import Bearer
from sereno.execution_plane.gateway.signatures.discord import Discord
from sereno.execution_plane.gateway.signatures.ed25519 import Ed25519
from sereno.execution_plane.gateway.signatures.github import GitHub
from sereno.execution_plane.gateway.signatures.gitlab import GitLab
from sereno.execution_plane.gateway.signatures.hmac_header import (
    DEFAULT_HEADER,
    Algorithm,
    Encoding,
    HmacHeader,
)
from sereno.execution_plane.gateway.signatures.message_signatures import MessageSignatures
from sereno.execution_plane.gateway.signatures.scheme import Scheme
from sereno.execution_plane.gateway.signatures.shopify import Shopify
from sereno.execution_plane.gateway.signatures.slack import Slack
from sereno.execution_plane.gateway.signatures.standard import Standard, Svix
from sereno.execution_plane.gateway.signatures.stripe import Stripe
from sereno.execution_plane.gateway.signatures.twilio import Twilio


@dataclass(frozen=True, slots=True)
class Options:
    """What a declaration says beside the scheme's name; the first four belong to `hmac`, the others to `rfc9421`."""

    header: str = DEFAULT_HEADER
    prefix: str = ""
    encoding: Encoding = "hex"
    algorithm: Algorithm = "sha256"
    components: tuple[str, ...] = ()
    tag: str | None = None


SCHEMES: Mapping[str, Callable[[Options], Scheme]] = {
    "github": lambda _: GitHub(),
    "hmac": lambda o: HmacHeader(o.header, o.prefix, o.encoding, o.algorithm),
    "standard": lambda _: Standard(),
    "standard-webhooks": lambda _: Standard(),
    "svix": lambda _: Svix(),
    "stripe": lambda _: Stripe(),
    "slack": lambda _: Slack(),
    "gitlab": lambda _: GitLab(),
    "shopify": lambda _: Shopify(),
    "twilio": lambda _: Twilio(),
    "discord": lambda _: Discord(),
    "ed25519": lambda _: Ed25519(),
    "rfc9421": lambda o: MessageSignatures(o.components, o.tag),
    "bearer": lambda _: Bearer(),
    "cloudevents": lambda _: Bearer(),
}


def scheme(name: str, options: Options | None = None) -> Scheme | None:
    """The scheme of that name, or None where there is none."""
    make = SCHEMES.get(name)
    return None if make is None else make(options or Options())
