"""Which addresses an outbound call may reach."""

import pytest

from sereno.mailbox.outbound import Addresses, AddressRefusedError, OutboundError
from sereno.mailbox.outbound.fetch import checked


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.1.2",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.250",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001::1",
        "2001:db8::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
    ],
)
def test_an_address_that_is_not_public_is_refused_however_it_is_wrapped(address: str) -> None:
    with pytest.raises(AddressRefusedError, match="may not reach"):
        Addresses().expect_allowed(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.215.14", "172.32.0.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1"],
)
def test_a_public_address_is_allowed(address: str) -> None:
    Addresses().expect_allowed(address)


def test_a_network_is_reached_only_when_somebody_opened_it() -> None:
    opened = Addresses.opening(["127.0.0.0/8", "fd00::/8"])
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "fd00::7"):
        opened.expect_allowed(address)
    with pytest.raises(AddressRefusedError):
        opened.expect_allowed("10.0.0.1")


def test_what_is_no_network_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"expected a network such as 127\.0\.0\.0/8: .*loopback"):
        Addresses.opening(["loopback"])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://agent.example/x",
        "file:///etc/passwd",
        "agent.example",
        "http://",
        "http://a:0/",
        "http://a:99999/",
        "",
    ],
)
def test_what_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(OutboundError, match="expected a URL"):
        checked(url)


def test_a_password_in_a_url_is_refused_without_showing_it() -> None:
    with pytest.raises(OutboundError, match="without a user or password") as refused:
        checked("https://me:hunter2@agent.example/")
    assert "hunter2" not in str(refused.value)
