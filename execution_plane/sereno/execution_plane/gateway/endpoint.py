"""An endpoint as the gateway uses it: whose it is, how its senders sign, and how much they may send."""

from dataclasses import dataclass
from typing import Literal

from sereno.envelope.envelope import Sensitivity
from sereno.execution_plane.gateway.signatures.github import GitHub
from sereno.execution_plane.gateway.signatures.hmac_header import HmacHeader
from sereno.execution_plane.gateway.signatures.scheme import Scheme
from sereno.subscriptions.models.endpoint import EndpointSpec

DEFAULT_HEADER = "X-Signature-256"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One declared endpoint, ready for use; `secrets` are references, never values."""

    tenant: str
    name: str
    scheme: Scheme
    format: Literal["github", "hmac"]
    secrets: tuple[str, ...]
    max_body: int
    sensitivity: Sensitivity | None = None
    retired: bool = False
    """Whether it was deleted: its senders are told so, nobody else."""

    @property
    def origin(self) -> str:
        """What the envelopes of this endpoint carry as `origin`."""
        return f"webhook/{self.name}"


def of_spec(tenant: str, name: str, spec: EndpointSpec) -> Endpoint:
    """The endpoint of a declaration. Raises ValueError for a scheme that this version does not verify."""
    secrets = tuple(str(reference) for reference in spec.secrets)
    if spec.scheme == "github":
        return Endpoint(tenant, name, GitHub(), "github", secrets, spec.max_body, spec.sensitivity)
    if spec.scheme == "hmac":
        scheme = HmacHeader(spec.header or DEFAULT_HEADER, spec.prefix or "", spec.encoding or "hex")
        return Endpoint(tenant, name, scheme, "hmac", secrets, spec.max_body, spec.sensitivity)
    raise ValueError(f"endpoint {name}: scheme {spec.scheme} cannot be verified by this version")
