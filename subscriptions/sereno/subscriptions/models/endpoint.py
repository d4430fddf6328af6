"""A webhook endpoint as declared."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, StrictStr

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.types import SecretReference, ShortText, Size

# A receiver never reads more than this of one request (contract: a hard cap of 10 MB).
LARGEST_BODY = 10_000_000
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")


def _check_header(text: str) -> str:
    if _HEADER.fullmatch(text) is None:
        raise ValueError("expected the name of an HTTP header such as X-Signature")
    return text


class EndpointSpec(Declared):
    """How senders sign, where their secrets are found (two while one is being replaced), and how much they may send."""

    needs: ClassVar = {"prefix": ("header",), "encoding": ("header",)}

    scheme: Literal[
        "github",
        "hmac",
        "standard",
        "stripe",
        "slack",
        "gitlab",
        "shopify",
        "twilio",
        "discord",
        "cloudevents",
    ]
    secrets: Annotated[tuple[SecretReference, ...], Field(min_length=1, max_length=2)]
    header: Annotated[StrictStr, AfterValidator(_check_header)] | None = None
    prefix: Annotated[StrictStr, Field(max_length=32)] | None = None
    encoding: Literal["hex", "base64"] | None = None
    max_body: Annotated[Size, Field(ge=1, le=LARGEST_BODY)] = 65_536
    sensitivity: Literal["public", "internal", "confidential"] | None = None
    purpose: ShortText | None = None
