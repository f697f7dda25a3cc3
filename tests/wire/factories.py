"""Toy methods, and a server that has them on a real Unix socket."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio

from mnemond import errors
from mnemond.errors import FieldProblem, MnemonError
from mnemond.wire.deferred import Deferred, in_task
from mnemond.wire.dispatch import Call, Dispatcher, Handler
from mnemond.wire.hooks import HookHandler
from mnemond.wire.limits import Limits
from mnemond.wire.listener import DataDir, Listener, bind, lock, open_data_dir
from mnemond.wire.params import Access, Params, TypedMethod, method
from mnemond.wire.server import Server


class Nothing(Params, frozen=True, kw_only=True):
    """No parameters."""


class Value(Params, frozen=True, kw_only=True):
    """Anything."""

    value: object = None


class Pair(Params, frozen=True, kw_only=True):
    """Two numbers."""

    minuend: int
    subtrahend: int = 0


class Answer(msgspec.Struct, frozen=True):
    """Anything, as a result."""

    value: object


METHODS: dict[str, TypedMethod[..., Any]] = {
    each.name: each
    for each in (
        method("ping", Nothing, Answer, Access.READ, "Answers at once."),
        method("echo", Value, Answer, Access.READ, "Gives back.", positional=("value",)),
        method("subtract", Pair, Answer, Access.READ, "Takes away.", positional=("minuend", "subtrahend")),
        method("later", Value, Answer, Access.WRITE, "Answers when it is told to.", positional=("value",)),
        method("nap", Value, Answer, Access.READ, "Answers after a pass of the loop.", positional=("value",)),
        method("sleep", Value, Answer, Access.READ, "Never answers."),
        method("deny", Nothing, Answer, Access.READ, "Refuses."),
        method("boom", Nothing, Answer, Access.WRITE, "Breaks."),
        method("nap.boom", Nothing, Answer, Access.READ, "Breaks in a task."),
        method("surrogate", Nothing, Answer, Access.WRITE, "Gives a result that cannot be sent."),
        method("stop", Nothing, Answer, Access.CONTROL, "Asks for a stop."),
    )
}


class Toys:
    """The handlers; `waiting` holds what `later` has not answered, `seen` every value given to any of them."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Deferred[object], object]] = []
        self.seen: list[object] = []
        self.defects: list[tuple[str, BaseException]] = []
        self.calls: list[Call] = []
        self.server: Server | None = None

    def handlers(self) -> dict[str, Handler]:
        """One function for each method."""
        return {
            "ping": self.ping,
            "echo": self.echo,
            "subtract": self.subtract,
            "later": self.later,
            "nap": self.nap,
            "sleep": self.sleep,
            "deny": self.deny,
            "boom": self.boom,
            "nap.boom": self.nap_boom,
            "surrogate": self.surrogate,
            "stop": self.stop,
        }

    async def ping(self, call: Call, _: Nothing) -> Answer:
        """Answer at once."""
        self.calls.append(call)
        return Answer(True)

    async def echo(self, _: Call, params: Value) -> Answer:
        """Give back."""
        self.seen.append(params.value)
        return Answer(params.value)

    async def subtract(self, _: Call, params: Pair) -> Answer:
        """Take away."""
        return Answer(params.minuend - params.subtrahend)

    async def surrogate(self, _: Call, __: Nothing) -> Answer:
        """Give a result that cannot be sent."""
        return Answer("\ud800")

    async def later(self, _: Call, params: Value) -> Answer:
        """Answer when `settle` is called."""
        self.seen.append(params.value)
        deferred: Deferred[object] = Deferred()
        self.waiting.append((deferred, params.value))
        return Answer(await deferred)

    def settle(self, most: int | None = None) -> int:
        """Answer the oldest ones that wait; how many those were."""
        ready, self.waiting = self.waiting[:most], [] if most is None else self.waiting[most:]
        for deferred, value in ready:
            deferred.resolve(value)
        return len(ready)

    async def nap(self, _: Call, params: Value) -> Answer:
        """Answer after other tasks had their turn."""
        await in_task(trio.lowlevel.checkpoint)
        return Answer(params.value)

    async def sleep(self, _: Call, __: Value) -> Answer:
        """Never answer."""
        await in_task(trio.sleep_forever)
        raise AssertionError

    async def deny(self, _: Call, __: Nothing) -> Answer:
        """Refuse."""
        raise MnemonError(errors.UNSUPPORTED, "no writing today", hint="try tomorrow", outcome="rejected")

    async def boom(self, _: Call, __: Nothing) -> Answer:
        """Break."""
        raise ZeroDivisionError("secret content")

    async def nap_boom(self, _: Call, __: Nothing) -> Answer:
        """Break in a task."""
        await in_task(trio.lowlevel.checkpoint)
        raise OverflowError("secret content")

    async def stop(self, _: Call, __: Nothing) -> Answer:
        """Ask for a stop."""
        assert self.server is not None
        self.server.request_stop()
        return Answer(True)

    def dispatcher(self) -> Dispatcher:
        """All of them, dispatched."""
        dispatcher = Dispatcher(METHODS, on_defect=lambda name, error: self.defects.append((name, error)))
        return dispatcher.serve(self.handlers(), problems={"subtract": self.more_problems})

    @staticmethod
    def more_problems(good: dict[str, object]) -> list[FieldProblem]:
        """A rule that types cannot express."""
        return [FieldProblem("minuend", "minuend must not be 13")] if good.get("minuend") == 13 else []


class Client:
    """One connection, from the outside."""

    def __init__(self, sock: trio.socket.SocketType) -> None:
        self.socket = sock
        self._buffer = b""

    async def send(self, *messages: str | bytes) -> None:
        """Send each as a line."""
        await self.send_raw(b"".join((m.encode() if isinstance(m, str) else m) + b"\n" for m in messages))

    async def send_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        view = memoryview(data)
        while view:
            view = view[await self.socket.send(view) :]

    def half_close(self) -> None:
        """Say that nothing more comes."""
        self.socket.shutdown(socket.SHUT_WR)

    async def reply(self) -> dict[str, object]:
        """The next reply; EOFError at the end."""
        while b"\n" not in self._buffer:
            data = await self.socket.recv(65536)
            if not data:
                raise EOFError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        decoded: dict[str, object] = msgspec.json.decode(line)
        return decoded

    async def replies(self, count: int) -> list[dict[str, object]]:
        """The next replies."""
        return [await self.reply() for _ in range(count)]

    async def rest(self) -> list[object]:
        """Everything until the end of the stream, however it ends."""
        data, self._buffer = self._buffer, b""
        try:
            while piece := await self.socket.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
        return [msgspec.json.decode(line) for line in data.splitlines()]

    async def ended(self) -> bool:
        """Whether the server has closed and nothing is left to read."""
        return not await self.rest()

    async def ask(self, message: str | bytes) -> dict[str, object]:
        """Send one request, receive one reply."""
        await self.send(message)
        return await self.reply()


class Served:
    """A running server with its toys and clients."""

    def __init__(self, path: Path, server: Server, toys: Toys) -> None:
        self.path = path
        self.server = server
        self.toys = toys
        self._clients: list[Client] = []

    async def connect(self) -> Client:
        """A new client."""
        sock = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            await sock.connect(str(self.path / "sock"))
        except OSError:
            sock.close()
            raise
        client = Client(sock)
        self._clients.append(client)
        return client

    async def talk(self, data: bytes) -> list[object]:
        """Everything that is answered to these bytes and the end of the stream."""
        client = await self.connect()
        await client.send_raw(data)
        client.half_close()
        rest = await client.rest()
        client.socket.close()
        return rest

    def close_clients(self) -> None:
        """Let go of every client."""
        for client in self._clients:
            client.socket.close()


@contextmanager
def listening(path: Path) -> Iterator[tuple[DataDir, Listener]]:
    """A bound socket in a data directory that this test owns."""
    directory = open_data_dir(path)
    held = lock(directory)
    listener = bind(directory, held)
    try:
        yield directory, listener
    finally:
        listener.close()
        held.close()
        directory.close()


@asynccontextmanager
async def serving(
    path: Path, limits: Limits | None = None, hook_handler: HookHandler | None = None
) -> AsyncIterator[Served]:
    """A server until the end of the block; `hook_handler` answers hooks."""
    toys = Toys()
    server = Server(toys.dispatcher(), limits or Limits(), hook_handler)
    toys.server = server
    with listening(path) as (_, listener):
        async with trio.open_nursery() as nursery:
            await nursery.start(server.serve, listener)
            served = Served(path, server, toys)
            try:
                yield served
            finally:
                served.close_clients()
                nursery.cancel_scope.cancel()


def request(method: str, id_: object = 1, **params: object) -> bytes:
    """One request, without its newline."""
    body: dict[str, object] = {"jsonrpc": "2.0", "method": method, "id": id_}
    if params:
        body["params"] = params
    return msgspec.json.encode(body)
