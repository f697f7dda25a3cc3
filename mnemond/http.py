"""HTTP requests to servers of models: which addresses are allowed, and requests with a deadline and a size limit.

Plain HTTP is for this machine alone. The metadata services of clouds, which hand out keys, are refused under any form
of their address. A name that resolves there passes: these services have no certificate for it, so TLS fails.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec
import trio

from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError

if TYPE_CHECKING:
    import httpx  # noqa: ASYNC127 - see HttpClient

PORTS: Final = {"http": 80, "https": 443}
"""Default ports (RFC 9110 4.2)."""

MAX_URL: Final = 2_000
"""Maximum of characters in a URL."""

LOCALHOST: Final = ("127.0.0.1", "[::1]")
"""The addresses of `localhost` (RFC 6761 6.3), tried in this order, without a name server."""

METADATA_HOSTS: Final = frozenset({
    "metadata", "metadata.google.internal", "metadata.goog",  # cloud.google.com, Compute, About VM metadata
    "instance-data", "instance-data.ec2.internal",  # docs.aws.amazon.com, EC2, Instance metadata
    "metadata.azure.internal", "metadata.tencentyun.com", "rancher-metadata",
})  # fmt: skip
"""Names of the metadata services of clouds."""

METADATA_NETWORKS: Final = tuple(
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
"""Addresses of these services."""

IPV4_IN_IPV6: Final = tuple(
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
"""Networks of IPv6 whose addresses contain an IPv4 address that they lead to."""

_URL = re.compile(
    r"(https?)://([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?((?:/[\w.~%+-]*)*)", re.ASCII | re.IGNORECASE
)
_NAME = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Address(msgspec.Struct, frozen=True):
    """A server, and the path below which its API lies ("" or "/v1", without a slash at the end)."""

    scheme: str
    host: str
    port: int
    path: str
    loopback: bool

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host and port, as in the header `Host`."""
        return self.host if self.port == PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def targets(self) -> tuple[str, ...]:
        """Origins to connect to, in order. For TLS it is the name alone, which the certificate is for."""
        hosts = LOCALHOST if self.host == "localhost" and self.scheme == "http" else (self.host,)
        return tuple(f"{self.scheme}://{host}:{self.port}" for host in hosts)


def parse(url: str, setting: str) -> Address:
    """Parse the URL in a setting.

    Raises MnemonError(CONFIG), which names the setting and says what is wrong, without the URL: it may hold a password.
    """
    found = _URL.fullmatch(url) if len(url) <= MAX_URL else None
    if found is None:
        raise _refused(setting, "is not http(s)://host[:port][/path], without user, password, query and fragment")
    scheme, host = found[1].lower(), found[2].lower()
    port = PORTS[scheme] if found[3] is None else int(found[3])
    if not 1 <= port <= 65_535:
        raise _refused(setting, f"has the port {port}; ports are 1 … 65535")
    address = _address(host)
    if address is None and not _is_name(host):
        raise _refused(setting, "has a host that is neither a name nor an address in its usual form")
    if host in METADATA_HOSTS or (address is not None and _is_in(address, METADATA_NETWORKS)):
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
    """Return True for a host name. One whose last part is a number ("127.1", "2130706433", "0x7f.1") is an address."""
    return len(host) <= 253 and _NAME.fullmatch(host) is not None and not _NUMBER.fullmatch(host.rpartition(".")[2])


def _check_address(address: Ip, setting: str) -> None:
    """Refuse addresses of no server, and forms that would bypass the rules for IPv4. Raises MnemonError(CONFIG)."""
    if int(address) > 1 and _is_in(address, IPV4_IN_IPV6):
        raise _refused(setting, f"hides an IPv4 address in {address}; write it as four numbers")
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        raise _refused(setting, f"names {address}, which is no address of a server")


def _is_in(address: Ip, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)


def _refused(setting: str, why: str) -> MnemonError:
    return MnemonError(CONFIG, f"{setting} {why}", hint='for example "http://localhost:11434" or "https://host/v1"')


def key_of(variable: str | None, environment: Mapping[str, str], setting: str) -> str | None:
    """Return the API key that `setting` names: from the environment alone, never from a file; None without one.

    Raises MnemonError(CONFIG), without the key, for characters that no key has.
    """
    key = "" if variable is None else environment.get(variable, "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise MnemonError(
            CONFIG,
            f"the variable {variable}, which {setting} names, holds characters no key has",
            hint="printable ASCII without blanks is expected; look for a line break or a quotation mark",
        )
    return key or None


def refusal(status: int, section: str) -> tuple[str, str]:
    """Return what a status other than 200 means, and a hint; `section` is the table of the server's settings."""
    if status in (401, 403):
        return "refused the key", f"set the variable named by {section}.api_key_env"
    if status == 404:
        return "has no such address or model", f"see {section}.endpoint and {section}.model"
    if status == 429:
        return "has had too many requests", "it is asked again later"
    return "failed", "see its log"


class Deadline:
    """The end of `seconds` from now, for all steps together. `now_s` is a monotonic clock."""

    def __init__(self, now_s: Callable[[], float], seconds: float) -> None:
        self._now_s = now_s
        self._end = now_s() + seconds
        self.seconds = seconds

    def left(self) -> float:
        """Return the seconds until the end, 0 after it."""
        return max(0.0, self._end - self._now_s())


Method = Literal["GET", "POST"]


class Reply(NamedTuple):
    """A complete answer. `retry_after`: the header of this name, "" without one."""

    status: int
    body: bytes
    retry_after: str = ""


class NoAnswerError(MnemonError):
    """UNAVAILABLE because no answer came: nothing listens there, the connection broke, or the time was up."""


class HttpClient:
    """Requests to one server. `get` and `post` block, for any thread that runs no event loop; threads may share it.

    No redirects, no proxies or certificates from the environment, no cookies, no compression. Errors quote neither the
    request nor the answer.

    Every request runs in an event loop, that of the caller (`request`) or one of its own, because only there does a
    deadline hold for all of it: looking up the name, connecting, and headers or a body that arrive byte by byte. That
    costs a connection a request.
    """

    def __init__(self, address: Address, service: str, bearer: str | None = None) -> None:
        """`service` is the name of the server in errors; `bearer` is sent as the token of every request."""
        # Imported here: it takes 35 ms, and a daemon without a remote server does not need it.
        import httpx  # noqa: ASYNC127 - its successor is another package, to be changed to as a whole or not at all

        self._httpx = httpx
        self._address = address
        self.service = f"{service} {address.origin}"
        self._headers = {"Host": address.authority, "Accept": "application/json", "Accept-Encoding": "identity"}
        if bearer is not None:
            self._headers["Authorization"] = f"Bearer {bearer}"
        # Without TLS a context without authorities will do; it loads at once.
        plain = address.scheme == "http"
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else httpx.create_ssl_context(trust_env=False)

    def get(self, path: str, *, deadline: Deadline, max_bytes: int) -> Reply:
        """Send a GET request; any status is an answer. Raises NoAnswerError, or MnemonError(UNAVAILABLE)."""
        return self._send("GET", path, None, deadline, max_bytes)

    def post(self, path: str, body: bytes, *, deadline: Deadline, max_bytes: int) -> Reply:
        """Send a POST request with a JSON text; raises as `get` does."""
        return self._send("POST", path, body, deadline, max_bytes)

    def _send(self, method: Method, path: str, body: bytes | None, deadline: Deadline, max_bytes: int) -> Reply:
        return trio.run(partial(self.request, method, path, body, deadline=deadline, max_bytes=max_bytes))

    async def request(
        self, method: Method, path: str, body: bytes | None, *, deadline: Deadline, max_bytes: int
    ) -> Reply:
        """Send a request from a running event loop; raises as `get` does. May be cancelled."""
        try:
            return await self._within(method, path, body, deadline, max_bytes)
        except self._httpx.HTTPError as error:
            raise NoAnswerError(
                UNAVAILABLE, f"{self.service} cannot be reached ({_reason(error)})", hint="see that it runs"
            ) from None

    async def _within(self, method: Method, path: str, body: bytes | None, deadline: Deadline, max_bytes: int) -> Reply:
        with trio.move_on_after(deadline.left()):
            return await self._first_target(method, path, body, max_bytes)
        raise NoAnswerError(
            UNAVAILABLE,
            f"{self.service} did not answer within {deadline.seconds:.1f} s",
            hint="see that it runs and is idle",
        )

    async def _first_target(self, method: Method, path: str, body: bytes | None, max_bytes: int) -> Reply:
        """Send the request to the first target that accepts a connection."""
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        async with self._httpx.AsyncClient(verify=self._tls, trust_env=False, timeout=None) as client:
            *others, last = (
                client.build_request(method, target + path, headers=headers, content=body)
                for target in self._address.targets
            )
            for request in others:
                with contextlib.suppress(self._httpx.ConnectError):
                    return await self._exchange(client, request, max_bytes)
            return await self._exchange(client, last, max_bytes)

    async def _exchange(self, client: httpx.AsyncClient, request: httpx.Request, max_bytes: int) -> Reply:
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if response.is_redirect:
                raise self._invalid(f"answered {response.status_code}, a redirect, which is not followed")
            if response.headers.get("content-encoding", "identity") != "identity":
                raise self._invalid("answered with a compressed body, which was not asked for")
            body = await _read(response, max_bytes)
            if len(body) > max_bytes:
                raise self._invalid(f"answered with more than {max_bytes:,} bytes")
            return Reply(response.status_code, body, response.headers.get("retry-after", ""))
        finally:
            await response.aclose()

    def _invalid(self, what: str) -> MnemonError:
        return MnemonError(UNAVAILABLE, f"{self.service} {what}", hint="see that the endpoint names the right server")


async def _read(response: httpx.Response, max_bytes: int) -> bytes:
    """Read the body; a little more than `max_bytes` of it if it has more.

    Reading ends by cancellation: an async generator left half way warns when it is collected.
    """
    body = bytearray()
    with trio.CancelScope() as reading:
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > max_bytes:
                reading.cancel()
    return bytes(body)


def _reason(error: BaseException) -> str:
    """Return the reason given by the system or the TLS library, else the type of the error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return cause.reason.lower().replace("_", " ")
        if isinstance(cause, OSError) and cause.strerror:
            named = (cause.errno or 0) > 0  # the event loop puts an address into the sentence
            return (os.strerror(cause.errno or 0) if named else cause.strerror).lower()
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__ or cause.__context__
    return type(error).__name__
