"""Where a request may go: plain HTTP to this machine alone, HTTPS elsewhere, and nothing hidden in the URL.

Nor to where cloud machines keep their keys, under whatever form of address. A name that only its name server leads
there passes: those services speak no TLS with a certificate for it, so all they get is the hello.
"""

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

KEEPER_NAMES: Final = frozenset({
    "metadata", "metadata.google.internal", "metadata.goog",  # cloud.google.com, Compute, About VM metadata
    "instance-data", "instance-data.ec2.internal",  # docs.aws.amazon.com, EC2, Instance metadata
    "metadata.azure.internal", "metadata.tencentyun.com", "rancher-metadata",
})  # fmt: skip
"""Names that cloud machines resolve to the service that hands out their keys."""

KEEPERS: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.0.0/16",  # RFC 3927, link-local; 169.254.169.254 at most providers, 169.254.170.2 for AWS containers
        "100.100.100.200/32",  # alibabacloud.com/help, ECS, Instance metadata
        "168.63.129.16/32",  # learn.microsoft.com, What is IP address 168.63.129.16
        "192.0.0.192/32",  # Oracle Cloud Infrastructure Classic
        "fd00:ec2::/32",  # docs.aws.amazon.com: ::254 instance metadata, ::23 pod identity
        "fd20:ce::254/128",  # cloud.google.com, metadata server of machines with IPv6 alone
        "fd00:c1::a9fe:a9fe/128",  # docs.oracle.com, Instance metadata service, IPv6
        "fd00:42::42/128",  # Scaleway
        "fd00:a9fe:a9fe::1/128",  # Akamai
        "fd00:100::100:200/128",  # alibabacloud.com/help, the same over IPv6
    )
)
"""Addresses of those services."""

CARRIERS_OF_IPV4: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "::/96",  # RFC 4291, 2.5.5.1, IPv4-compatible; :: and ::1 are none
        "::ffff:0:0/96",  # RFC 4291, 2.5.5.2, IPv4-mapped
        "::ffff:0:0:0/96",  # RFC 2765, IPv4-translated
        "64:ff9b::/96",  # RFC 6052, NAT64
        "64:ff9b:1::/48",  # RFC 8215, NAT64 of one's own network
        "2002::/16",  # RFC 3056, 6to4
        "2001::/32",  # RFC 4380, Teredo
    )
)
"""Networks of IPv6 whose addresses lead to the IPv4 address inside them."""

_URL = re.compile(
    r"(https?)://([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?((?:/[\w.~%+-]*)*)", re.ASCII | re.IGNORECASE
)
_NAME = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


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
    if host in KEEPER_NAMES or (address is not None and _is_in(address, KEEPERS)):
        raise _refused(setting, f"names {host}, where the keys of cloud machines are kept")
    if address is not None:
        _check_address(address, setting)
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


def _check_address(address: Ip, setting: str) -> None:
    """Refuses what reaches no server of one's own, and forms that would slip past the rules for IPv4."""
    if int(address) > 1 and _is_in(address, CARRIERS_OF_IPV4):
        raise _refused(setting, f"hides an IPv4 address in {address}; write it as four numbers")
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        raise _refused(setting, f"names {address}, which is no address of a server")


def _is_in(address: Ip, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)


def _refused(setting: str, why: str) -> MnemonError:
    return MnemonError(CONFIG, f"{setting} {why}", hint='for example "http://localhost:11434" or "https://host/v1"')
