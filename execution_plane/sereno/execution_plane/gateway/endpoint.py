"""An endpoint as the gateway uses it: whose it is, how its senders sign, what they mean, and how much they may send."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from sereno.envelope.envelope import Sensitivity
from sereno.execution_plane.gateway import presets
from sereno.execution_plane.gateway.mapping import FieldMapping
from sereno.execution_plane.gateway.signatures import named
from sereno.execution_plane.gateway.signatures.hmac_header import DEFAULT_HEADER
from sereno.execution_plane.gateway.signatures.scheme import Scheme
from sereno.subscriptions.models.endpoint import EndpointSpec
from sereno.subscriptions.rate import Rate

_NOTHING_MAPPED = FieldMapping({})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One declared endpoint, ready for use; `secrets` are references, never values."""

    tenant: str
    name: str
    scheme: Scheme
    secrets: tuple[str, ...]
    max_body: int
    preset: str = "none"
    mapping: FieldMapping = _NOTHING_MAPPED
    content_types: frozenset[str] = frozenset()
    """Allowed besides CloudEvents; empty: JSON, and forms where the preset's senders send them."""
    rate: Rate | None = None
    allow_ips: tuple[IPv4Network | IPv6Network, ...] = ()
    public_url: str | None = None
    sensitivity: Sensitivity | None = None
    paused: bool = False
    identities: Mapping[str, str] = field(default_factory=dict)
    """The principal behind each actor that is known at this origin."""
    retired: bool = False
    """Whether it was deleted: its senders are told so, nobody else."""

    @property
    def origin(self) -> str:
        """What the envelopes of this endpoint carry as `origin`."""
        return f"webhook/{self.name}"

    @property
    def path(self) -> str:
        """What a sealed secret of this endpoint is bound to."""
        return f"{self.tenant}/{self.name}"

    def admits(self, address: str | None) -> bool:
        """Whether a sender at this address may send at all."""
        if not self.allow_ips:
            return True
        try:
            found = ip_address(address or "")
        except ValueError:
            return False
        return any(found in network for network in self.allow_ips)


def of_spec(
    tenant: str,
    name: str,
    spec: EndpointSpec,
    *,
    paused: bool = False,
    identities: Mapping[str, str] | None = None,
) -> Endpoint:
    """The endpoint of a declaration. Raises ValueError for a scheme that this version does not verify."""
    options = named.Options(
        header=spec.header or DEFAULT_HEADER,
        prefix=spec.prefix or "",
        encoding=spec.encoding or "hex",
        algorithm=spec.algorithm or "sha256",
        components=spec.components,
        tag=spec.tag,
    )
    scheme = named.scheme(spec.scheme, options)
    if scheme is None:
        raise ValueError(f"endpoint {name}: scheme {spec.scheme} cannot be verified by this version")
    preset = presets.name_for(spec.scheme, spec.preset)
    own = FieldMapping.of(spec.mapping) if spec.mapping is not None else _NOTHING_MAPPED
    return Endpoint(
        tenant=tenant,
        name=name,
        scheme=scheme,
        secrets=tuple(str(reference) for reference in spec.secrets),
        max_body=spec.max_body,
        preset=preset,
        mapping=own.over(presets.preset(preset)),
        content_types=frozenset(spec.content_types),
        rate=spec.rate,
        allow_ips=tuple(ip_network(text) for text in spec.allow_ips),
        public_url=spec.public_url,
        sensitivity=spec.sensitivity,
        paused=paused,
        identities=identities or {},
    )
