"""Which addresses the site sends to: a name that leads into its own network is refused."""

from __future__ import annotations

import ipaddress
from functools import partial

import pytest
from pytest_django import Settings

from core.errors import Refusal
from webhooks.receiver_address import LOOPBACK, checked_addresses, read_receiver

PUBLIC = ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946")
NOT_PUBLIC = (
    *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),  # noqa: S104
    *("100.64.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1"),
    *("::1", "::", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2001:0::1"),
)


def test_public_addresses_are_reached_in_their_order() -> None:
    receiver = read_receiver("https://hooks.example/gauntlet?room=7")
    found = checked_addresses(receiver, allowed=(), resolve=lambda host: PUBLIC if host == "hooks.example" else ())
    assert [str(each) for each in found] == list(PUBLIC)
    assert (receiver.port, receiver.target, receiver.host_header) == (443, "/gauntlet?room=7", "hooks.example")
    assert read_receiver("https://hooks.example:8443").host_header == "hooks.example:8443"


def _answer(addresses: list[str], host: str) -> list[str]:
    return addresses


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_it_rejects_a_name_with_an_address_that_is_not_public(address: str) -> None:
    receiver = read_receiver("https://hooks.example/")
    for answer in ([address], [PUBLIC[0], address]):
        with pytest.raises(Refusal, match=r"not public|translated"):
            checked_addresses(receiver, allowed=(), resolve=partial(_answer, answer))


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_it_rejects_the_address_itself(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Refusal, match=r"is not public|is translated"):
        read_receiver(f"https://{host}/")


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "017700000001", "127.1"])
def test_it_rejects_other_spellings_of_this_host(host: str) -> None:
    with pytest.raises(Refusal):
        checked_addresses(read_receiver(f"https://{host}/"), allowed=())


def test_it_rejects_the_site_itself_by_name_and_by_address(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["arena.example", ".arenas.example"]

    def resolve(host: str) -> list[str]:
        return [PUBLIC[0] if host in {"arena.example", "other.example"} else PUBLIC[1]]

    for host in ("arena.example", "ARENA.example.", "x.arenas.example", "other.example"):
        with pytest.raises(Refusal, match="host of this site"):
            checked_addresses(read_receiver(f"https://{host}/"), allowed=(), resolve=resolve)


def test_an_allowed_network_is_reached_and_no_other() -> None:
    receiver = read_receiver("https://hooks.example/")
    ten = [ipaddress.ip_network("10.0.0.0/8")]
    assert checked_addresses(receiver, allowed=ten, resolve=lambda host: ["10.0.0.9"])
    with pytest.raises(Refusal, match=r"192\.168\.0\.9, which is not public"):
        checked_addresses(receiver, allowed=ten, resolve=lambda host: ["10.0.0.9", "192.168.0.9"])


def test_it_rejects_a_name_without_addresses() -> None:
    def none(host: str) -> list[str]:
        raise OSError(host)

    with pytest.raises(Refusal, match="cannot be resolved"):
        checked_addresses(read_receiver("https://hooks.example/"), allowed=(), resolve=none)


@pytest.mark.parametrize(
    "address",
    [
        *("http://hooks.example/", "ftp://hooks.example/", "hooks.example", "https://", "//hooks.example/"),
        *("https://me:secret@hooks.example/", "https://@hooks.example/", "https://hooks.example/#part"),
        *("https://hooks.example:22/", "https://hooks.example:99999/", "https://hooks.example:0/"),
        *("https://hooks.example/a b", "https://hooks.example/\r\nX: 1", "https://hö.example/", "https://[::1/"),
        "https://hooks.example/" + "a" * 500,
    ],
)
def test_it_rejects_other_addresses(address: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_receiver(address)
    assert refused.value.fix


def test_only_a_site_under_development_sends_without_tls_and_only_to_its_host(settings: Settings) -> None:
    settings.DEBUG, settings.WEBHOOK_NETWORKS = True, list(LOOPBACK)
    receiver = read_receiver("http://localhost:8080/")
    assert checked_addresses(receiver, allowed=LOOPBACK, resolve=lambda host: ["127.0.0.1"])
    with pytest.raises(Refusal, match="without TLS"):
        checked_addresses(read_receiver("http://h.example/"), allowed=LOOPBACK, resolve=lambda host: [PUBLIC[0]])
