"""Addresses of receivers: which the site sends requests to, so that nobody reaches through it what is not public.

A name is resolved once for each attempt, every address of it is checked, and the connection goes to one of these
(`webhooks.delivery_request`): a second answer of the name server changes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.http.request import validate_host

from core.errors import Refusal

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver: TypeAlias = Callable[[str], Iterable[str]]

LONGEST = 500
LOOPBACK: Sequence[IpNetwork] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))

_EMBEDDING = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""Addresses that a router translates into ones of IPv4 (NAT64)."""


@dataclass(frozen=True)
class Receiver:
    """An address of a webhook in its parts; `target` is path and query."""

    secure: bool
    host: str
    port: int
    target: str

    @property
    def host_header(self) -> str:
        """Host and port as the request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def read_receiver(address: str) -> Receiver:
    """Return the parts of an address. Raise `Refusal` for one that the site never sends to."""
    if len(address) > LONGEST or not address.isascii() or not address.isprintable() or " " in address:
        raise Refusal(
            "the address of the webhook is not valid", fix=f"give at most {LONGEST} ASCII characters without spaces"
        )
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise Refusal(f"the address of the webhook is not valid: {error}", fix=_EXAMPLE) from error
    secure = parts.scheme == "https"
    if not secure and not (settings.DEBUG and parts.scheme == "http"):
        raise Refusal("a webhook needs an address that begins with https://", fix=_EXAMPLE)
    if not host or "@" in parts.netloc or parts.fragment:
        raise Refusal("the address of the webhook has no host, or has a user or a fragment", fix=_EXAMPLE)
    chosen = (443 if secure else 80) if port is None else port
    if chosen != 443 and chosen < 1024 and secure:
        raise Refusal(f"webhooks are not sent to port {chosen}", fix="use port 443, or one from 1024")
    found = Receiver(secure, host, chosen, _target(parts))
    if (own := _literal(host)) is not None and (why := _refused(own, settings.WEBHOOK_NETWORKS)):
        raise Refusal(f"{host} is {why}", fix="use an address that everybody on the internet can reach")
    return found


_EXAMPLE = "use an address such as https://bot.example/gauntlet"


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def host_of(address: str) -> str:
    """Return the host of a webhook, for the event log: the rest of an address may be a secret of its owner."""
    return urlsplit(address).hostname or ""


def system_resolver(host: str) -> list[str]:
    """Return the addresses of a host as the system knows them. Raise `OSError` without any."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def checked_addresses(
    receiver: Receiver, *, allowed: Sequence[IpNetwork], resolve: Resolver = system_resolver
) -> list[IpAddress]:
    """Return the addresses to connect to, in order. Raise `Refusal` if one may not be reached, or there is none.

    Those in the networks `allowed` may always be reached; without TLS, only loopback addresses.
    """
    try:
        found = [ipaddress.ip_address(text) for text in resolve(receiver.host)]
    except (OSError, ValueError) as error:  # ValueError: a scope, or a name that cannot be encoded
        raise Refusal(f"the name {receiver.host} cannot be resolved") from error
    if not found:
        raise Refusal(f"the name {receiver.host} has no address")
    for each in found:
        if not receiver.secure and not _within(each, LOOPBACK):
            raise Refusal(f"{receiver.host} is not this host, and only that is reached without TLS")
        if why := _refused(each, allowed):
            raise Refusal(f"{receiver.host} has the address {each}, which is {why}")
    others = {each for each in found if not _within(each, allowed)}
    if others and (_is_own_name(receiver.host) or others & _own_addresses(resolve)):
        raise Refusal(f"{receiver.host} is a host of this site")
    return found


def _refused(address: IpAddress, allowed: Sequence[IpNetwork]) -> str:
    """Return why an address may not be reached, "" if it may."""
    if _within(address, allowed):
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return _refused(address.ipv4_mapped, allowed)
        if address.sixtofour is not None or address.teredo is not None or _within(address, _EMBEDDING):
            return "translated into another one"
        if address.is_site_local:
            return "not public"
    return "not public" if address.is_multicast or not address.is_global else ""


def _within(address: IpAddress, networks: Iterable[IpNetwork]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _literal(host: str) -> IpAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _own_names() -> list[str]:
    return [name for name in settings.ALLOWED_HOSTS if name != "*"]


def _is_own_name(host: str) -> bool:
    return validate_host(host.rstrip("."), _own_names())


def _own_addresses(resolve: Resolver) -> set[IpAddress]:
    """Return the addresses of the site's own names. One that cannot be resolved here adds none."""
    found: set[IpAddress] = set()
    for name in _own_names():
        try:
            found |= {ipaddress.ip_address(text) for text in resolve(name.strip("[]").lstrip("."))}
        except (OSError, ValueError):
            continue
    return found
