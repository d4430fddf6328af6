"""Which addresses an outbound call may reach: a deny list of our own, and what a person opened in it.

Python's `is_global` answers true for multicast and for a private address inside a NAT64 prefix, so it is not asked.
Source of the list: IANA's special-purpose address registries (RFC 6890 and its updates).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

DENIED: tuple[IpNetwork, ...] = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "::/96",
            "64:ff9b:1::/48",
            "100::/64",
            "100:0:0:1::/64",
            "2001::/23",
            "2001:db8::/32",
            "2620:4f:8000::/48",
            "3fff::/20",
            "5f00::/16",
            "fc00::/7",
            "fe80::/10",
            "fec0::/10",
            "ff00::/8",
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")


class AddressRefusedError(Exception):
    """The address is one that outbound calls may not reach; the sentence says which setting would open it."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The deny list, less the networks that a person `opened`."""

    opened: Sequence[IpNetwork] = ()

    @classmethod
    def opening(cls, networks: Sequence[str]) -> "Addresses":
        """Open these networks, such as 127.0.0.0/8. Raises ValueError naming the one that is none."""
        try:
            return cls(tuple(ip_network(network) for network in networks))
        except ValueError as fault:
            raise ValueError(f"expected a network such as 127.0.0.0/8: {fault}") from fault

    def expect_allowed(self, text: str) -> None:
        """Raises `AddressRefusedError` for an address on the deny list, however it is wrapped."""
        address = unwrapped(ip_address(text.partition("%")[0]))
        if any(address in network for network in self.opened):
            return
        for network in DENIED:
            if address in network:
                raise AddressRefusedError(
                    f"{text} is in {network}, which outbound calls may not reach unless that network is opened"
                )


def unwrapped(address: IpAddress) -> IpAddress:
    """The IPv4 address inside a mapped, NAT64 or 6to4 one, where the packets would go; else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFF_FFFF)
    return address
