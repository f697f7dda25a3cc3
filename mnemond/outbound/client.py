"""One HTTP request at a time, with an end: a deadline for the whole of it and a limit to what is read.

No redirects, no proxies or certificates from the environment, no cookies, no compression. What was sent and what came
back never enter an error.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from typing import TYPE_CHECKING, Literal, NamedTuple

import trio

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.outbound.address import Address
from mnemond.outbound.deadline import Deadline

if TYPE_CHECKING:
    import httpx  # noqa: ASYNC127 - as below

Method = Literal["GET", "POST"]


class Reply(NamedTuple):
    """A whole answer."""

    status: int
    body: bytes


class NoAnswerError(MnemonError):
    """UNAVAILABLE because no answer came: nothing listens there, the line broke, or the time was up."""


class HttpClient:
    """Requests to one server. Blocking, for any thread that runs no event loop; threads may share it.

    Every request runs in an event loop of its own, because only there does a deadline hold for all of it: looking up
    the name, connecting, and headers or a body that arrive byte by byte. That costs a connection a request.
    """

    def __init__(self, address: Address, service: str, bearer: str | None = None) -> None:
        """`service` is what errors call the server; `bearer` is sent as the token of every request."""
        # Here, because a daemon without a remote service need not pay 35 ms for it.
        import httpx  # noqa: ASYNC127 - its successor is another package, to be changed to as a whole or not at all

        self._httpx = httpx
        self._address = address
        self._service = f"{service} {address.origin}"
        self._headers = {"Host": address.authority, "Accept": "application/json", "Accept-Encoding": "identity"}
        if bearer is not None:
            self._headers["Authorization"] = f"Bearer {bearer}"
        # A context without authorities trusts nobody, which is right where there is no TLS, and loads at once.
        plain = address.scheme == "http"
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else httpx.create_ssl_context(trust_env=False)

    @property
    def service(self) -> str:
        """What errors call the server, with its address."""
        return self._service

    def get(self, path: str, *, deadline: Deadline, max_bytes: int) -> Reply:
        """The answer to GET, whatever its status. Raises NoAnswerError, or MnemonError(UNAVAILABLE) if not taken."""
        return self._send("GET", path, None, deadline, max_bytes)

    def post(self, path: str, body: bytes, *, deadline: Deadline, max_bytes: int) -> Reply:
        """The answer to POST of a JSON text, whatever its status; raises as `get` does."""
        return self._send("POST", path, body, deadline, max_bytes)

    def _send(self, method: Method, path: str, body: bytes | None, deadline: Deadline, max_bytes: int) -> Reply:
        try:
            return trio.run(self._within, method, path, body, deadline, max_bytes)
        except self._httpx.HTTPError as error:
            raise NoAnswerError(
                UNAVAILABLE, f"{self._service} cannot be reached ({_reason(error)})", hint="see that it runs"
            ) from None

    async def _within(self, method: Method, path: str, body: bytes | None, deadline: Deadline, max_bytes: int) -> Reply:
        with trio.move_on_after(deadline.left()):
            return await self._first_target(method, path, body, max_bytes)
        raise NoAnswerError(
            UNAVAILABLE,
            f"{self._service} did not answer within {deadline.seconds:.1f} s",
            hint="see that it runs and is idle",
        )

    async def _first_target(self, method: Method, path: str, body: bytes | None, max_bytes: int) -> Reply:
        """The answer of the first target that takes a connection."""
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
                raise self._not_taken(f"answered {response.status_code}, a redirect, which is not followed")
            if response.headers.get("content-encoding", "identity") != "identity":
                raise self._not_taken("answered with a compressed body, which was not asked for")
            body = await _read(response, max_bytes)
            if len(body) > max_bytes:
                raise self._not_taken(f"answered with more than {max_bytes:,} bytes")
            return Reply(response.status_code, body)
        finally:
            await response.aclose()

    def _not_taken(self, what: str) -> MnemonError:
        return MnemonError(UNAVAILABLE, f"{self._service} {what}", hint="see that the endpoint names the right server")


async def _read(response: httpx.Response, max_bytes: int) -> bytes:
    """The body; a little more than `max_bytes` of it when it has more.

    Reading ends by cancellation, because generators that are left half way complain when they are collected.
    """
    body = bytearray()
    with trio.CancelScope() as reading:
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > max_bytes:
                reading.cancel()
    return bytes(body)


def _reason(error: BaseException) -> str:
    """What the system or the TLS library says is the matter; the kind of error where neither says a thing."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return cause.reason.lower().replace("_", " ")
        if isinstance(cause, OSError) and cause.strerror:
            named = (cause.errno or 0) > 0  # the event loop puts an address into the sentence
            return (os.strerror(cause.errno or 0) if named else cause.strerror).lower()
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__ or cause.__context__
    return type(error).__name__
