"""The way into a store: at once when it is warm, after opening it when it is cold."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec
import trio

from mnemond.config.settings import Config
from mnemond.embed.embedder import Embedder, Supply, sentence
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.memory.calibration import WriteRules, write_rules
from mnemond.model.outcomes import Result
from mnemond.recall.archive import Archives
from mnemond.store.meta import EmbedderRecord
from mnemond.store.registry import StoreRegistry
from mnemond.store.store import Store
from mnemond.text import caches
from mnemond.wire.deferred import Deferred, in_task
from mnemond.wire.dispatch import Call

R = TypeVar("R", bound=Result)

FAR_THREADS: Final = 16
"""Texts on their way to embedders behind endpoints at once, for all writes of all stores: each may take seconds."""

NEAR_THREADS: Final = 2
"""Long texts being read and embedded in this process at once, as many as there is use for. They must not wait for an
endpoint that does not answer some other store."""


class Threads(NamedTuple):
    """Where texts are read and embedded: by the processor, or waiting for an endpoint."""

    near: trio.CapacityLimiter
    far: trio.CapacityLimiter


class OpenStore(msgspec.Struct, frozen=True):
    """A warm store with the embedder its vectors belong to, and the threads in which texts are embedded.

    `embed_error` says why there is none, `lacks_embedder` whether there should be one. `coming` is the embedder that
    takes over at any moment. `on_missing` is told the store's name when a memory was stored without a vector;
    `on_purged` is called when the rows of some were removed. `archives` has what left recall as well.
    """

    store: Store
    embedder: Embedder | None
    embed_error: str | None
    limiters: Threads
    lacks_embedder: bool = False
    config: Config = Config()
    coming: Embedder | None = None
    on_missing: Callable[[str], None] | None = None
    on_purged: Callable[[], None] | None = None
    archives: Archives = msgspec.field(default_factory=Archives)

    def embedder_of(self, snapshot: Snapshot) -> Embedder | None:
        """The embedder whose vectors may be compared with those of a snapshot of this store."""
        for embedder in (self.embedder, self.coming):
            if embedder is not None and embedder.fingerprint == snapshot.made_by:
                return embedder
        return None

    @property
    def threads(self) -> trio.CapacityLimiter:
        """In which its texts are read and embedded."""
        near = self.embedder is None or self.embedder.inline
        return self.limiters.near if near else self.limiters.far

    @property
    def rules(self) -> WriteRules:
        """The rules of its writes."""
        return write_rules(self.store.embedder, self.config)

    def marked(self, result: R, reason: str | None = None) -> R:
        """`result`, saying that the store is not fully well if it is not (or for `reason`)."""
        reason = reason or self.degraded_reason
        if reason is None:
            return result
        return msgspec.structs.replace(result, degraded=True, degraded_reason=reason)

    @property
    def degraded_reason(self) -> str | None:
        """Why the store is not fully well: a storage fault, or vectors whose embedder is not to be had."""
        return self.store.degraded_reason or (self.embed_error if self.lacks_embedder else None)


WAITING = "this store has no embedder yet; the configured one is being asked"


class StoreListener(Protocol):
    """Sees to it that every memory has a vector."""

    def attach(self, warm: OpenStore, change: Callable[..., None]) -> None:
        """A store was opened; `change` gives fields of its OpenStore another value."""
        ...

    def missing(self, name: str) -> None:
        """A memory of this store lacks its vector."""
        ...

    def detach(self, name: str) -> None:
        """This store is being closed."""
        ...


class Settings(Protocol):
    """The settings of each store."""

    def opening(self, name: str) -> None:
        """Read the settings of a store (blocking). Raises MnemonError(CONFIG)."""
        ...

    def config(self, name: str) -> Config:
        """Return the settings in force for a store."""
        ...


class OpenStores:
    """Finds, opens and remembers stores by name for the handlers. For the event loop's thread."""

    def __init__(
        self,
        stores: StoreRegistry,
        supply: Supply,
        settings: Settings | None = None,
        keeper: StoreListener | None = None,
        used: Callable[[str], None] | None = None,
    ) -> None:
        """`supply` is where embedders come from; `settings` has those of each store; `keeper` looks after the stores;
        `used` is told the name of a store that something is asked of."""
        self._used = used
        self._settings = settings
        self._stores = stores
        stores.on_closed.append(self._closed)
        self._supply = supply
        self._keeper = keeper
        self._warm: dict[str, OpenStore] = {}
        self._archives = Archives()
        self.on_forget: list[Callable[[], None]] = []
        """Told that whatever was kept of texts has to go."""
        self._loading: dict[str, trio.Lock] = {}
        self._threads = Threads(trio.CapacityLimiter(NEAR_THREADS), trio.CapacityLimiter(FAR_THREADS))

    async def use(self, name: str | None) -> OpenStore:
        """The warm store that a request names, None for the active one; opened first if it is cold.

        Awaits nothing but Deferreds. Raises MnemonError for a name that is not one, and what opening raises.
        """
        resolved = self._stores.resolve(name)
        if self._used is not None:
            self._used(resolved)
        return await self.opened(resolved)

    async def opened(self, name: str) -> OpenStore:
        """The same for a resolved name, without counting it as a use."""
        warm = self._warm.get(name)
        return await in_task(self.open, name) if warm is None else warm

    def warm(self, name: str) -> OpenStore | None:
        """The store, if it is open."""
        return self._warm.get(name)

    async def open(self, name: str) -> OpenStore:
        """The warm store. Raises MnemonError(NOT_FOUND) or MnemonError(STORAGE)."""
        while True:
            store = await self._stores.open(name)
            async with self._loading.setdefault(name, trio.Lock()):  # an embedder keeps those of its own store waiting
                if (warm := self._warm.get(name)) is None:
                    warm = await self._load(store)
            if warm is not None and warm.store is store:
                return warm  # else it was closed meanwhile

    async def _load(self, store: Store) -> OpenStore | None:
        """Make a store ready for use; None when it was closed meanwhile."""
        embedder, error = await trio.to_thread.run_sync(self._settle, store, abandon_on_cancel=True)
        if self._stores.warm(store.name) is not store:
            return None
        warm = self._warm[store.name] = self._opened(store, embedder, error)
        if self._keeper is not None:
            self._keeper.attach(warm, partial(self._change, store.name))
        return warm

    def _settle(self, store: Store) -> tuple[Embedder | None, str | None]:
        if self._settings is not None:
            self._settings.opening(store.name)
        return self._embedder_for(store.embedder)

    def _closed(self, name: str) -> None:
        """Whoever has the store now finds it closing; whoever comes waits for what becomes of it."""
        self._warm.pop(name, None)
        if self._keeper is not None:
            self._keeper.detach(name)
        self.forget_texts()

    def _opened(self, store: Store, embedder: Embedder | None, error: str | None) -> OpenStore:
        lacks = embedder is None and (store.embedder is not None or self._supply.wants)
        on_missing = None if self._keeper is None else self._keeper.missing
        return OpenStore(
            store, embedder, error, self._threads, lacks, self._config_of(store.name), archives=self._archives,
            on_missing=on_missing, on_purged=self.forget_texts,
        )  # fmt: skip

    def forget_texts(self) -> None:
        """Let go of whatever this process kept of texts to save time: nothing of a purged memory may stay."""
        self._supply.clear_cache()
        self._archives.clear()
        caches.clear_all()
        for tell in self.on_forget:
            tell()

    def apply_settings(self) -> None:
        """Give every open store its settings anew: later requests are answered by them."""
        for name in self._warm:
            self._change(name, config=self._config_of(name))

    def _config_of(self, name: str) -> Config:
        return Config() if self._settings is None else self._settings.config(name)

    def _change(self, name: str, **fields: object) -> None:
        """What is asked of the store from now on finds it changed; whoever has it already goes on with it."""
        if (warm := self._warm.get(name)) is not None:  # else it was closed
            self._warm[name] = msgspec.structs.replace(warm, **fields)

    def _embedder_for(self, record: EmbedderRecord | None) -> tuple[Embedder | None, str | None]:
        """The embedder that made a store's vectors, or why it is not to be had (blocking: it may load a model)."""
        if record is None:
            return None, self._supply.lacking or (WAITING if self._supply.wants else "this store has no embedder")
        try:
            return self._supply.of_record(record.name, record.dimension, record.fingerprint), None
        except MnemonError as error:
            return None, sentence(error)


# ---------------------------------------------------------------- fair turns


LEFT: Final = "whoever asked has left; nothing was looked for"


class FairLimiter:
    """A limiter of `places` that serves connections in turn.

    A place that becomes free goes to the connection that has waited longest for its turn, and within one to the request
    that came first. So a connection with a hundred requests delays another by no more than one of them. For the event
    loop's thread.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[int, deque[_Waiter]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a place."""
        return sum(map(len, self._waiting.values()))

    async def slot(self, call: Call) -> AbstractContextManager[None]:
        """Wait for a place; the result holds it for the time of a `with` block.

        Raises MnemonError(UNAVAILABLE) if the client has left by the time there is one.
        """
        if self._free and not self._waiting:
            self._free -= 1
            return self._held()
        waiter = _Waiter(call)
        self._waiting.setdefault(call.connection, deque()).append(waiter)
        try:
            await waiter.woken
        except BaseException:  # cancelled, or closed at a stop
            self._withdraw(waiter)
            raise
        if not waiter.has_place:
            raise MnemonError(UNAVAILABLE, LEFT, outcome="rejected")
        return self._held()

    @contextmanager
    def _held(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._free += 1
            self._grant_next()

    def _withdraw(self, waiter: _Waiter) -> None:
        if waiter.has_place:
            self._free += 1
            self._grant_next()
            return
        connection = waiter.call.connection
        if waiter in (others := self._waiting.get(connection, deque())):
            others.remove(waiter)
            if not others:
                del self._waiting[connection]

    def _grant_next(self) -> None:
        while self._free and self._waiting:
            connection, others = self._waiting.popitem(last=False)
            waiter = others.popleft()
            if others:
                self._waiting[connection] = others  # behind all other connections
            if not waiter.call.gone():
                waiter.has_place = True
                self._free -= 1
            waiter.woken.resolve(None)


class _Waiter:
    """One request that waits."""

    __slots__ = ("call", "has_place", "woken")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.woken: Deferred[None] = Deferred()
        self.has_place = False
