"""What every declared object says about itself."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StrictInt, StrictStr

from sereno.subscriptions.models.declared import Declared
from sereno.subscriptions.models.types import Name

DEFAULT_TENANT = "default"
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")


def _check_label(text: str) -> str:
    if _LABEL.fullmatch(text) is None:
        raise ValueError(
            "expected a label of 1 to 63 letters, digits, dots, slashes, hyphens and underscores"
        )
    return text


Label = Annotated[StrictStr, AfterValidator(_check_label)]


class Metadata(Declared):
    """Name, tenant and labels; `version`, when given, must be the current one."""

    name: Name
    tenant: Name = DEFAULT_TENANT
    labels: Annotated[dict[Label, Label], Field(max_length=64)] = Field(default_factory=dict)
    version: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None
