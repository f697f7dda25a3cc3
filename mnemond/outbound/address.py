"""Where a request may go: plain HTTP to this machine alone, HTTPS elsewhere, and nothing hidden in the URL."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

import msgspec

from mnemond.errors import CONFIG, MnemonError

PORTS: Final = {"http": 80, "https": 443}
"""What a URL without a port means (RFC 9110 4.2)."""

LONGEST: Final = 2_000
"""Characters of a URL that is looked at."""

LOCALHOST: Final = ("127.0.0.1", "[::1]")
"""What `localhost` stands for (RFC 6761 6.3), tried in this order: no name server has a say in it."""

_URL = re.compile(
    r"(https?)://([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?((?:/[\w.~%+-]*)*)", re.ASCII | re.IGNORECASE
)
_NAME = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


class Address(msgspec.Struct, frozen=True):
    """A server and the path below which its API lies ("" or "/v1", without a slash at the end)."""

    scheme: str
    host: str
    port: int
    path: str
    loopback: bool

    @property
    def origin(self) -> str:
        """Scheme, host and port: what people are told."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host and port, as the header `Host` has them."""
        return self.host if self.port == PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def targets(self) -> tuple[str, ...]:
        """Origins to connect to, in order. A certificate vouches for a name, so only plain HTTP needs addresses."""
        hosts = LOCALHOST if self.host == "localhost" and self.scheme == "http" else (self.host,)
        return tuple(f"{self.scheme}://{host}:{self.port}" for host in hosts)


def parse(url: str, setting: str) -> Address:
    """The address a setting names.

    Raises MnemonError(CONFIG), which names the setting and says what is wrong, without the URL: it may hold a password.
    """
    found = _URL.fullmatch(url) if len(url) <= LONGEST else None
    if found is None:
        raise _refused(setting, "is not http(s)://host[:port][/path], without user, password, query and fragment")
    scheme, host = found[1].lower(), found[2].lower()
    port = PORTS[scheme] if found[3] is None else int(found[3])
    if not 1 <= port <= 65_535:
        raise _refused(setting, f"has the port {port}; ports are 1 … 65535")
    address = _address(host)
    if address is None and not _is_name(host):
        raise _refused(setting, "has a host that is neither a name nor an address in its usual form")
    if address is not None and _is_nobody(address):
        raise _refused(setting, f"names {address}, which is no address of a server")
    loopback = host == "localhost" if address is None else address.is_loopback
    if scheme == "http" and not loopback:
        raise _refused(setting, f"sends memories to {host} unencrypted; http is for this machine alone, use https")
    return Address(scheme, host, port, found[4].rstrip("/"), loopback)


def _address(host: str) -> Ip | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _is_name(host: str) -> bool:
    """A name whose last part is a number ("127.1", "2130706433", "0x7f.1") is an address in disguise."""
    return len(host) <= 253 and _NAME.fullmatch(host) is not None and not _NUMBER.fullmatch(host.rpartition(".")[2])


def _is_nobody(address: Ip) -> bool:
    """Addresses that reach no server of one's own: 169.254.0.0/16 holds the keys of cloud machines, and an IPv4
    address written as IPv6 would slip past the rules for the other."""
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    return mapped or address.is_link_local or address.is_multicast or address.is_unspecified


def _refused(setting: str, why: str) -> MnemonError:
    return MnemonError(CONFIG, f"{setting} {why}", hint='for example "http://localhost:11434" or "https://host/v1"')
