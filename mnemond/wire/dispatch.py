"""From a request to its reply: finds the handler, decodes, encodes, and lets no surprise through."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias, TypeVar

import msgspec

from mnemond import errors
from mnemond.clock import monotonic_s
from mnemond.errors import FieldProblem, MnemonError, Outcome, invalid
from mnemond.wire.deferred import Deferred, Spawn, in_task, run_now
from mnemond.wire.jsonrpc import NO_ID, Request, batch_pieces, encode_error, encode_result
from mnemond.wire.params import Access, Method, Params, decode_params, explain, nearest, short


class PendingRequest(msgspec.Struct):
    """A request of another protocol that is not answered yet. `withdrawn`: the client no longer wants its reply."""

    withdrawn: bool = False


class ConnectionState(msgspec.Struct):
    """What earlier requests of a connection established. `mcp`: the handshake of MCP up to 2025 was made, after which
    `ping` is the method of that protocol. `pending`: unanswered requests of other protocols by their ids, as JSON."""

    mcp: bool = False
    pending: dict[bytes, PendingRequest] = msgspec.field(default_factory=dict)


def never_gone() -> bool:
    """Whether somebody of whom nothing is known has left."""
    return False


class Call(msgspec.Struct, frozen=True):
    """One connection and the process at its other end. `peer_pid` is 0 where the system does not tell. `gone` says
    whether nobody is left there to read an answer."""

    connection: int
    peer_pid: int
    peer_uid: int
    state: ConnectionState = msgspec.field(default_factory=ConnectionState)
    gone: Callable[[], bool] = never_gone


# ---------------------------------------------------------------- the dispatcher


Result: TypeAlias = Coroutine[Any, Any, object]
"""The coroutine of a handler: awaits nothing but Deferreds, returns the result, raises MnemonError."""

Handler: TypeAlias = Callable[[Call, Any], Result]
"""Serves one method; given its decoded parameters."""

Foreigner: TypeAlias = Callable[[Call, Request], Result]
"""Serves a method of another protocol and decodes its parameters itself. May return a Verbatim."""

Invoke: TypeAlias = Callable[[str, bytes, Call], Result]
"""Runs a method of ours, given its parameters as JSON. Raises MnemonError for parameters that are refused."""

H = TypeVar("H", bound=Callable[..., Result])


class _Served(NamedTuple):
    """The wire method that a function serves, and whether it uses trio."""

    method: str
    in_task: bool


def handles(method: str, *, in_task: bool = False) -> Callable[[H], H]:
    """Register a method of a class as the handler of a wire method, for `handlers_of`.

    With `in_task` it runs in a task of its own and may use all of trio; without, it awaits nothing but Deferreds.
    """

    def mark(handler: H) -> H:
        handler.__dict__["serves"] = _Served(method, in_task)
        return handler

    return mark


def handlers_of(*groups: object) -> dict[str, Callable[..., Result]]:
    """The bound handlers of these objects, by the name of their wire method. Raises ValueError if two serve one."""
    found: dict[str, Callable[..., Result]] = {}
    for group in groups:
        for name, attribute in vars(type(group)).items():
            served: _Served | None = getattr(attribute, "serves", None)
            if served is None:
                continue
            if served.method in found:
                raise ValueError(f"two handlers serve {served.method}")
            handler = getattr(group, name)
            found[served.method] = _tasked(handler) if served.in_task else handler
    return found


def _tasked(handler: Callable[..., Result]) -> Callable[..., Result]:
    async def run(call: Call, params: object) -> object:
        return await in_task(handler, call, params)

    return run


OnDefect: TypeAlias = Callable[[str, BaseException], None]
"""Told the method's name and what escaped; must not raise."""

Problems: TypeAlias = Callable[[dict[str, object]], list[FieldProblem]]
"""What else is wrong with the fields that have the right type."""

Reply: TypeAlias = bytes | None
"""One line without its newline; None for a notification, which is never answered."""

_CONNECTION = "(connection)"


class Verbatim(msgspec.Struct, frozen=True):
    """A line that is sent as it is: a message that is no reply."""

    line: bytes


class Dispatcher:
    """The methods of the daemon and the functions that serve them; the two must match exactly."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        handlers: Mapping[str, Handler],
        *,
        problems: Mapping[str, Problems] | None = None,
        foreigners: Mapping[str, Foreigner] | None = None,
        on_defect: OnDefect,
    ) -> None:
        """`foreigners` answer methods of other protocols. Where one is called like a method of ours, it is meant by who
        has shaken hands as in that protocol.

        Raises ValueError naming every method without handler and every handler without method.
        """
        self._foreigners = foreigners or {}
        self._methods = methods
        self._handlers = handlers
        self._problems = problems or {}
        self._on_defect = on_defect
        self.defects = 0
        astray = (methods.keys() ^ handlers.keys()) | (self._problems.keys() - methods.keys())
        if astray:
            raise ValueError(f"methods and handlers differ in: {', '.join(sorted(astray))}")

    def invoke(self, name: str, params: Params | msgspec.Raw | bytes | None, call: Call) -> Result:
        """Call the handler. `params` is the Struct, or JSON still to be decoded.

        Raises MnemonError for an unknown method and for bad parameters; the rest comes from awaiting the result.
        """
        method = self._methods.get(name)
        if method is None:
            raise self._unknown(name)
        if not isinstance(params, Params):
            params = self._decode(method, params)
        return self._handlers[name](call, params)

    def answer(self, request: Request, call: Call, spawn: Spawn) -> Reply | Deferred[Reply]:
        """Return the reply, or a Deferred of it if the request has to wait. Never raises an Exception."""
        foreigner = self._foreigners.get(request.method)
        if foreigner is None or (request.method in self._methods and not call.state.mcp):
            return run_now(self._reply(request, call), spawn)
        return run_now(self._foreign_reply(request, call, foreigner), spawn)

    async def _reply(self, request: Request, call: Call, foreigner: Foreigner | None = None) -> Reply:
        try:
            if foreigner is None:
                result = await self.invoke(request.method, request.arguments, call)
            else:
                result = await foreigner(call, request)
            return _encoded(request, result)
        except MnemonError as error:
            return self.refused(request, error)
        except Exception as error:
            return self.defect(request, error)

    async def _foreign_reply(self, request: Request, call: Call, foreigner: Foreigner) -> Reply:
        """The reply; None to a request that is withdrawn meanwhile."""
        if request.notification:
            return await self._reply(request, call, foreigner)
        key, pending, all_pending = bytes(request.id), PendingRequest(), call.state.pending
        all_pending[key] = pending
        reply = await self._reply(request, call, foreigner)
        if all_pending.get(key) is pending:  # a client may use an id twice
            del all_pending[key]
        return None if pending.withdrawn else reply

    def _decode(self, method: Method, raw: msgspec.Raw | bytes | None) -> Params:
        try:
            return decode_params(method.params, raw, method.positional)
        except MnemonError as error:
            more = self._problems.get(method.name)
            if more is None or error.kind is not errors.INVALID_PARAMS:
                raise
            good, problems = explain(method.params, raw, method.positional)
            raise invalid(problems + more(good), hint=error.hint) from None

    def _unknown(self, name: str) -> MnemonError:
        guess = nearest(name, self._methods)
        hint = f'did you mean "{guess}"?' if guess else f"methods are: {', '.join(self._methods)}"
        return MnemonError(errors.METHOD_NOT_FOUND, f"there is no method {short(name)}", hint=hint)

    def note(self, name: str, begun_s: float) -> None:
        """Something that is no method of its own has its reply, and began then (`monotonic_s`). Nobody counts here."""

    def boundary(self) -> Boundary:
        """A place where defects outside any request end: its `reply` is set when one did."""
        return Boundary(self)

    def refused(self, request: Request, error: MnemonError) -> Reply:
        """The reply to a request that failed for a reason the caller should know."""
        return None if request.notification else encode_error(request.id, error)

    def dropped(self, request: Request, sentence: str) -> Reply:
        """The reply to a request that was carried out but whose result cannot be sent."""
        error = MnemonError(errors.TOO_LARGE, sentence, hint="ask for less at once", outcome=self._outcome(request))
        return self.refused(request, error)

    def _outcome(self, request: Request) -> Outcome | None:
        """What the caller knows of a request whose result is lost."""
        reading = self._methods[request.method].access is Access.READ if request.method in self._methods else True
        return None if reading else "unknown"

    def defect(self, request: Request | None, error: BaseException) -> Reply:
        """The reply to a request that met a defect: logged in full, told without details."""
        self.defects += 1
        self._on_defect(_CONNECTION if request is None else request.method, error)
        if request is None:
            return encode_error(NO_ID, MnemonError(errors.INTERNAL, "the connection met a defect in mnemond"))
        sentence = f"{short(request.method)} met a defect in mnemond: {type(error).__name__}"
        hint = "the daemon's log has the traceback; please report it"
        return self.refused(request, MnemonError(errors.INTERNAL, sentence, hint=hint, outcome=self._outcome(request)))


def _encoded(request: Request, result: object) -> Reply:
    if request.notification:
        return None
    return result.line if isinstance(result, Verbatim) else encode_result(request.id, result)


class Boundary:
    """A context manager that logs an exception as a defect, and keeps the error `reply` for the connection.

    Cancellation and the end of the process are no Exceptions and pass through.
    """

    __slots__ = ("_dispatcher", "reply")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self.reply: Reply = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.reply = self._dispatcher.defect(None, error)
        return True


# The replies to the requests of one batch, gathered until the last is there.


LONG_REPLY_BYTES = 4096
"""A shorter reply has its place in every batch: it may be all that tells of a write."""


class Gathering:
    """What all unfinished batches of one connection hold together: no batch can be sent before its last reply, so
    these bytes wait for nobody's reading and need a bound of their own."""

    __slots__ = ("_limit", "held")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held = 0

    @property
    def full(self) -> bool:
        """Whether no further long reply has its place; the one that crossed the bound is kept."""
        return self.held >= self._limit

    def overflow(self) -> MnemonError:
        """Why a request of a batch is not carried out."""
        sentence = f"the replies to this batch have reached the limit of {self._limit} bytes"
        hint = "send the remaining requests again in smaller batches or one by one"
        return MnemonError(errors.TOO_LARGE, sentence, hint=hint, outcome="rejected")


class Batch:
    """Replies come in the order they are finished; a request's id says whose they are (JSON-RPC 2.0, section 6)."""

    __slots__ = ("_bytes", "_gathering", "_replies", "_waiting")

    def __init__(self, requests: int, gathering: Gathering) -> None:
        self._waiting = requests
        self._gathering = gathering
        self._replies: list[bytes] = []
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether what is left of the batch is refused."""
        return self._gathering.full

    def refusal(self) -> MnemonError:
        """Why it is."""
        return self._gathering.overflow()

    def has_room(self, reply: Reply) -> bool:
        """Whether a reply can be added as it is."""
        return reply is None or len(reply) <= LONG_REPLY_BYTES or not self._gathering.full

    def add(self, reply: Reply) -> list[bytes]:
        """The pieces of the reply to the whole batch once its last request is answered; nothing before that, and for
        a batch of nothing but notifications."""
        self._waiting -= 1
        if reply is not None:
            self._replies.append(reply)
            self._bytes += len(reply)
            self._gathering.held += len(reply)
        if self._waiting or not self._replies:
            return []
        self._gathering.held -= self._bytes
        return batch_pieces(self._replies)


# How long each method takes, as counts in buckets: noting one costs a few tenths of a microsecond and no memory.


BUCKETS: Final = 72
"""The last one holds whatever took 2³⁵·⁵ µs, nine hours, or longer."""

UNKNOWN: Final = "(unknown)"
"""Requests for methods that there are not: their names are the caller's, and must not pile up."""


def bucket_of(seconds: float) -> int:
    """Bucket b holds what took from 2^((b-1)/2) to 2^(b/2) µs; 0 what took less than one."""
    us = int(seconds * 1e6)
    return min((us * us).bit_length(), BUCKETS - 1)


def quantile_ms(counts: Sequence[int], share: float) -> float | None:
    """The middle of the bucket that this share of all lies not above, in milliseconds: off by a fifth at most.

    None when nothing was counted.
    """
    wanted = share * sum(counts)
    seen = 0
    for bucket, count in enumerate(counts):
        seen += count
        if count and seen >= wanted:
            return float(2.0 ** ((bucket - 0.5) / 2) / 1e3) if bucket else 0.0005
    return None


class Latencies:
    """Counts by method and bucket since the daemon started."""

    def __init__(self, methods: Iterable[str]) -> None:
        """For these methods, and one more for whatever is none of them."""
        self._counts = {method: [0] * BUCKETS for method in (*methods, UNKNOWN)}
        self._unknown = self._counts[UNKNOWN]

    def follow(self, methods: Iterable[str]) -> None:
        """Count these by their own names as well."""
        for method in methods:
            self._counts.setdefault(method, [0] * BUCKETS)

    def note(self, method: str, begun_s: float) -> None:
        """A request that began then (`monotonic_s`) has its reply."""
        us = int((monotonic_s() - begun_s) * 1e6)
        try:
            self._counts.get(method, self._unknown)[(us * us).bit_length()] += 1  # `bucket_of`, without a call
        except IndexError:
            self._counts.get(method, self._unknown)[-1] += 1

    def counts(self) -> Mapping[str, list[int]]:
        """A copy, of the methods that were asked for."""
        return {method: list(counts) for method, counts in self._counts.items() if any(counts)}


class TimedDispatcher(Dispatcher):
    """Notes how long requests take, from the parsed message to the encoded reply: below a microsecond of work each."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        handlers: Mapping[str, Handler],
        *,
        problems: Mapping[str, Problems] | None = None,
        foreigners: Mapping[str, Foreigner] | None = None,
        on_defect: OnDefect,
        latencies: Latencies,
    ) -> None:
        """As a Dispatcher; `latencies` is where it notes them."""
        super().__init__(methods, handlers, problems=problems, foreigners=foreigners, on_defect=on_defect)
        self._latencies = latencies
        latencies.follow(foreigners or ())
        self._note = latencies.note

    def note(self, name: str, begun_s: float) -> None:
        """Counted among the methods."""
        self._latencies.follow((name,))
        self._note(name, begun_s)

    def answer(self, request: Request, call: Call, spawn: Spawn) -> Reply | Deferred[Reply]:
        """The same reply."""
        begun_s = monotonic_s()
        reply = Dispatcher.answer(self, request, call, spawn)
        if isinstance(reply, Deferred):
            reply.subscribe(partial(self._note, request.method, begun_s))
        else:
            self._note(request.method, begun_s)
        return reply
