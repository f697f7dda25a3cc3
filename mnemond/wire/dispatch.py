"""From a request to its reply: finds the handler, decodes, encodes, and lets no surprise through."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, ClassVar, Final, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar, cast

import msgspec
import trio

from mnemond import errors
from mnemond.clock import monotonic_s
from mnemond.errors import FieldProblem, MnemonError, Outcome, invalid
from mnemond.wire.jsonrpc import NO_ID, Request, batch_pieces, encode_error, encode_result
from mnemond.wire.params import Access, Method, Params, decode_params, explain, nearest, short

# Who asks.


class Awaited(msgspec.Struct):
    """A request of another protocol that is being worked on. `withdrawn`: nobody wants its answer any more."""

    withdrawn: bool = False


class Spoken(msgspec.Struct):
    """What a connection has said so far. `mcp`: it has shaken hands as MCP did until 2025, which makes `ping` mean that
    protocol's. `unanswered`: requests of other protocols by their ids, as they were written."""

    mcp: bool = False
    unanswered: dict[bytes, Awaited] = msgspec.field(default_factory=dict)


def never_gone() -> bool:
    """Whether somebody of whom nothing is known has left."""
    return False


class Call(msgspec.Struct, frozen=True):
    """One connection and the process at its other end. `peer_pid` is 0 where the system does not tell. `gone` says
    whether nobody is left there to read an answer."""

    connection: int
    peer_pid: int
    peer_uid: int
    spoken: Spoken = msgspec.field(default_factory=Spoken)
    gone: Callable[[], bool] = never_gone


# What other threads hand to the event loop, taken up between two requests as well as between two of its passes.
#
# A pass of the event loop reads from every client that sent something. With 32 of them that recall, it takes 30 ms,
# and a write waits for three: until its batch begins, until it is heard that it was committed, and until the reply is
# sent.


class Token(Protocol):
    """The part of trio's token that is needed."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        """Call `sync_fn` in the next pass of the event loop; callable from any thread."""
        ...


class Completions:
    """Calls in the order they came in. `run_sync_soon` is for any thread, all else for that of the event loop."""

    def __init__(self, token: Token) -> None:
        self._token = token
        self._waiting: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self._expected = False
        """Whether the event loop was asked for a pass that has not come. Whoever adds a call looks here after it: a
        pass that is expected still finds it."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        """Call `sync_fn` after the request that is being answered, in the next pass of the event loop at the latest."""
        self._waiting.append((sync_fn, args))
        if not self._expected:
            self._expected = True
            self._token.run_sync_soon(self._pass)

    def _pass(self) -> None:
        self._expected = False
        self.take_up()

    def take_up(self) -> None:
        """Make the calls that wait; those that they ask for come next time. One that raises ends the event loop, as it
        would in a pass of its own, and not the request before it."""
        waiting = self._waiting
        for _ in range(len(waiting)):
            call, arguments = waiting.popleft()
            try:
                call(*arguments)
            except Exception as error:
                self._token.run_sync_soon(_raise, error)


def _raise(error: Exception) -> None:
    raise error


# ---------------------------------------------------------------- awaiting without a task
#
# A handler is an async function that awaits nothing but Deferreds. The dispatcher runs its coroutine by itself up to
# the first Deferred that is not settled, and on from there once it is. A request that waits for nothing so costs no
# task, no channel and no cancel scope; one that waits for a commit costs a callback. What needs trio itself (a lock, a
# thread, a timer) runs in a task: `in_task`, `in_thread`.


T = TypeVar("T")

Spawn: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
"""Runs an async function in a task that outlives the caller."""


class Deferred(Generic[T]):
    """A result that is settled exactly once, on the event loop. Awaitable, in handlers and in trio tasks alike.

    Subscribers are called when it is settled, in their order, or at once; they must not raise, because they run inside
    the call that settles.
    """

    __slots__ = ("_error", "_settled", "_subscribers", "_value")

    stepping: ClassVar[bool] = False
    """True while `step` runs a coroutine, as opposed to trio."""

    def __init__(self) -> None:
        self._settled = False
        self._value: T | None = None
        self._error: Exception | None = None
        self._subscribers: list[Callable[[], None]] = []

    @property
    def settled(self) -> bool:
        """True once `result` can be called."""
        return self._settled

    def resolve(self, value: T) -> None:
        """Settle with a value. Raises RuntimeError if it is settled already."""
        self._settle(value, None)

    def fail(self, error: Exception) -> None:
        """Settle with an error: a MnemonError for the caller, anything else is a defect. Raises RuntimeError if it is
        settled already."""
        self._settle(None, error)

    def result(self) -> T:
        """Return the value or raise the error. Raises RuntimeError before it is settled."""
        if not self._settled:
            raise RuntimeError("this result is not settled yet")
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the result is there."""
        if self._settled:
            callback()
        else:
            self._subscribers.append(callback)

    def start(self, spawn: Spawn, awaiting: Coroutine[Any, Any, object]) -> None:
        """Start what settles it, if `awaiting` has to: see `_InTask`."""

    def __await__(self) -> Generator[Any, Any, T]:
        if not self._settled:
            if Deferred.stepping:
                yield self
            else:
                yield from self._wait().__await__()
        return self.result()

    async def _wait(self) -> None:
        settled = trio.Event()
        self.subscribe(settled.set)
        await settled.wait()

    def _settle(self, value: T | None, error: Exception | None) -> None:
        if self._settled:
            raise RuntimeError("a result is settled only once")
        self._settled, self._value, self._error = True, value, error
        subscribers, self._subscribers = self._subscribers, []
        for callback in subscribers:
            callback()


class _InTask(Deferred[T]):
    """The result of an async function: awaited by a handler, it runs in a task of its own; by a task, in that task."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[], Coroutine[Any, Any, T]]) -> None:
        super().__init__()
        self._function = function

    def start(self, spawn: Spawn, awaiting: Coroutine[Any, Any, object]) -> None:
        """Run the function. If its task is cancelled, `awaiting` is closed: its `finally` clauses run, and it is never
        answered."""

        async def run() -> None:
            try:
                value = await self._function()
            except Exception as error:
                self.fail(error)
            except BaseException:
                awaiting.close()
                raise
            else:
                self.resolve(value)

        spawn(run)

    async def _wait(self) -> None:
        self.resolve(await self._function())


def in_task(function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> Deferred[T]:  # noqa: ANN401 - as `partial`
    """The result of `function(*args)`, which may use all of trio. It starts when it is awaited, once."""
    return _InTask(partial(function, *args))


def in_thread(
    function: Callable[..., T],
    *args: Any,  # noqa: ANN401 - as `partial`
    limiter: trio.CapacityLimiter | None = None,
    abandon_on_cancel: bool = False,
) -> Deferred[T]:
    """The result of `function(*args)`, which blocks, from a worker thread; parameters as `trio.to_thread.run_sync`."""
    return _InTask(
        partial(trio.to_thread.run_sync, function, *args, limiter=limiter, abandon_on_cancel=abandon_on_cancel)
    )


def step(coroutine: Coroutine[Any, Any, T]) -> Deferred[Any]:
    """Run a coroutine up to the next Deferred that is not settled, and return that.

    Raises StopIteration with its result when it ends, and whatever it raises.
    """
    before, Deferred.stepping = Deferred.stepping, True
    try:
        awaited: Deferred[Any] = coroutine.send(None)
    finally:
        Deferred.stepping = before
    return awaited


def run_later(coroutine: Coroutine[Any, Any, T], awaited: Deferred[Any], spawn: Spawn) -> Deferred[T]:
    """The result of a coroutine that awaits `awaited` (as `step` returned it): it goes on by itself."""
    result: Deferred[T] = Deferred()

    def go_on() -> None:
        try:
            following = step(coroutine)
        except StopIteration as finished:
            result.resolve(finished.value)
        except Exception as error:
            result.fail(error)
        else:
            wait(following)

    def wait(for_what: Deferred[Any]) -> None:
        for_what.start(spawn, coroutine)
        for_what.subscribe(go_on)

    wait(awaited)
    return result


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
        """The reply, now or later. Never raises an Exception."""
        with Boundary(self, request) as boundary:
            method = request.method
            ours = (method in self._methods and not call.spoken.mcp) or method not in self._foreigners
            result = self.invoke(method, request.arguments, call) if ours else self._foreigners[method](call, request)
            try:
                awaited = step(result)
            except StopIteration as finished:
                return _encoded(request, finished.value)
            reply = self._reply_later(request, run_later(result, awaited, spawn))
            return reply if ours else self._unless_withdrawn(request, call, reply)
        return boundary.reply

    def _unless_withdrawn(self, request: Request, call: Call, reply: Deferred[Reply]) -> Deferred[Reply]:
        """The same reply, but None to a request that is withdrawn meanwhile."""
        if request.notification:
            return reply
        number, awaited, unanswered = bytes(request.id), Awaited(), call.spoken.unanswered
        unanswered[number] = awaited
        answer: Deferred[Reply] = Deferred()

        def settle() -> None:
            if unanswered.get(number) is awaited:  # a client may give a number twice
                del unanswered[number]
            answer.resolve(None if awaited.withdrawn else reply.result())

        reply.subscribe(settle)
        return answer

    def _reply_later(self, request: Request, result: Deferred[object]) -> Deferred[Reply]:
        reply: Deferred[Reply] = Deferred()

        def settle() -> None:
            with Boundary(self, request) as boundary:
                boundary.reply = _encoded(request, result.result())
            reply.resolve(boundary.reply)

        result.subscribe(settle)
        return reply

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
        return Boundary(self, None)

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
    """Where every surprise of a request ends: what leaves the block as an exception becomes `reply`.

    A context manager, so that replies made at once, in a task and after a Deferred share this one place. Cancellation
    and the end of the process are no Exceptions and pass through.
    """

    __slots__ = ("_dispatcher", "_request", "reply")

    def __init__(self, dispatcher: Dispatcher, request: Request | None) -> None:
        self._dispatcher = dispatcher
        self._request = request
        self.reply: Reply = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, MnemonError) and self._request is not None:
            self.reply = self._dispatcher.refused(self._request, error)
        elif isinstance(error, Exception):
            self.reply = self._dispatcher.defect(self._request, error)
        else:
            return False
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
