"""A webhook endpoint as declared."""

import re
from ipaddress import ip_network
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, StrictStr

from sereno.envelope import media_type
from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.mapping import BodyMapping
from sereno.subscriptions.models.types import ActivationRate, SecretReference, ShortText, Size, Text

# A receiver never reads more than this of one request (contract: a hard cap of 10 MB).
LARGEST_BODY = 10_000_000
_URL = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")


def _check_header(text: str) -> str:
    if _HEADER.fullmatch(text) is None:
        raise ValueError("expected the name of an HTTP header such as X-Signature")
    return text


def _check_network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError:
        raise ValueError("expected an address or a network such as 192.0.2.0/24") from None
    return text


def _check_content_type(text: str) -> str:
    found = media_type.parse(text)
    if found is None or found.essence != text:
        raise ValueError("expected a media type in lower case such as application/json")
    return text


def _check_url(text: str) -> str:
    if _URL.fullmatch(text) is None:
        raise ValueError("expected the public URL, such as https://hooks.example.com/in/TOKEN")
    return text


ContentType = Annotated[StrictStr, AfterValidator(_check_content_type)]
Network = Annotated[StrictStr, AfterValidator(_check_network)]
Header = Annotated[StrictStr, AfterValidator(_check_header)]
Preset = Literal["github", "stripe", "slack", "shopify", "twilio", "gitlab", "discord", "standard", "none"]


class EndpointSpec(Declared):
    """How senders sign, where their secrets are found (two while one is being replaced), and how much they may send."""

    needs: ClassVar = {"prefix": ("header",), "encoding": ("header",), "algorithm": ("header",)}

    scheme: Literal[
        "github",
        "hmac",
        "standard",
        "standard-webhooks",
        "svix",
        "stripe",
        "slack",
        "gitlab",
        "shopify",
        "twilio",
        "discord",
        "ed25519",
        "rfc9421",
        "bearer",
        "cloudevents",
    ]
    secrets: Annotated[tuple[SecretReference, ...], Field(min_length=1, max_length=2)]
    header: Header | None = None
    prefix: Annotated[StrictStr, Field(max_length=32)] | None = None
    encoding: Literal["hex", "base64"] | None = None
    algorithm: Literal["sha1", "sha256", "sha384", "sha512"] | None = None
    components: Annotated[tuple[Text, ...], Field(max_length=32)] = ()
    tag: ShortText | None = None
    preset: Preset | None = None
    mapping: BodyMapping | None = None
    content_types: Annotated[tuple[ContentType, ...], Field(max_length=32)] = ()
    max_body: Annotated[Size, Field(ge=1, le=LARGEST_BODY)] = 65_536
    rate: ActivationRate | None = None
    allow_ips: Annotated[tuple[Network, ...], Field(max_length=64)] = ()
    public_url: Annotated[StrictStr, AfterValidator(_check_url)] | None = None
    sensitivity: Literal["public", "internal", "confidential"] | None = None
    purpose: ShortText | None = None
