"""Open stores by name for the handlers, with embedder and settings; and fair access to threads."""

from __future__ import annotations

import weakref
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
from mnemond.memory.write import WriteRules, write_rules
from mnemond.model.outcomes import Result, WriteResult
from mnemond.recall.archive import Archives
from mnemond.store.meta import EmbedderRecord
from mnemond.store.registry import StoreRegistry
from mnemond.store.store import Store
from mnemond.text import caches
from mnemond.wire.deferred import Deferred, in_task
from mnemond.wire.dispatch import Call

R = TypeVar("R", bound=Result)

FAR_THREADS: Final = 16
"""Concurrent requests to remote embedders by the writes of all stores: each may take seconds."""

NEAR_THREADS: Final = 2
"""Long texts analysed and embedded in this process at once; kept apart from those that wait for a remote embedder."""


class Threads(NamedTuple):
    """Limiters of the threads that embed texts: in this process (`near`), or by an endpoint (`far`)."""

    near: trio.CapacityLimiter
    far: trio.CapacityLimiter


class Hold:
    """Marks a store as used for as long as an OpenStore refers to it."""

    __slots__ = ("__weakref__",)


class OpenStore(msgspec.Struct, frozen=True):
    """An open ("warm") store with its embedder, settings and threads. Who works on a store keeps its OpenStore for as
    long: without one it may be closed, see `OpenStores.unused`.

    `embed_error`: why there is no embedder; `lacks_embedder`: there should be one. `next_embedder` replaces `embedder`
    during the cut-over of a switch. `on_missing_vector` is called with the store's name after a memory was stored
    without a vector, `on_purged` after rows were purged. `archives` hold snapshots with the retired memories.
    """

    store: Store
    embedder: Embedder | None
    embed_error: str | None
    limiters: Threads
    lacks_embedder: bool = False
    config: Config = Config()
    next_embedder: Embedder | None = None
    on_missing_vector: Callable[[str], None] | None = None
    on_purged: Callable[[], None] | None = None
    archives: Archives = msgspec.field(default_factory=Archives)
    hold: Hold = msgspec.field(default_factory=Hold)

    def embedder_of(self, snapshot: Snapshot) -> Embedder | None:
        """Return the embedder that made the vectors of a snapshot, or None."""
        for embedder in (self.embedder, self.next_embedder):
            if embedder is not None and embedder.fingerprint == snapshot.made_by:
                return embedder
        return None

    @property
    def threads(self) -> trio.CapacityLimiter:
        """Limiter of the threads that analyse and embed its texts."""
        near = self.embedder is None or self.embedder.inline
        return self.limiters.near if near else self.limiters.far

    @property
    def rules(self) -> WriteRules:
        """Rules of its writes."""
        return write_rules(self.store.embedder, self.config)

    def marked(self, result: R, reason: str | None = None) -> R:
        """Return `result`, marked as degraded if the store is, or for `reason`; of a write to a shared store with the
        number of an operation that has it."""
        if isinstance(result, WriteResult) and self.store.shared is not None:
            result = msgspec.structs.replace(result, seq=self.store.shared.cursor.seq)
        reason = reason or self.degraded_reason
        if reason is None:
            return result
        return msgspec.structs.replace(result, degraded=True, degraded_reason=reason)

    @property
    def degraded_reason(self) -> str | None:
        """Reason of a degraded state: a storage fault, or an unavailable embedder."""
        return self.store.degraded_reason or (self.embed_error if self.lacks_embedder else None)


WAITING = "this store has no embedder yet; the configured one is being loaded"


class StoreListener(Protocol):
    """Notified when stores are opened and closed."""

    def attach(self, warm: OpenStore, change: Callable[..., None]) -> None:
        """A store was opened; `change` replaces fields of its OpenStore."""
        ...

    def request_backfill(self, name: str) -> None:
        """A memory of the store has no vector."""
        ...

    def set_embedder(self, name: str, embedder: Embedder | None) -> None:
        """Another daemon gave a shared store another embedder; None: this one does not have it."""
        ...

    def is_busy(self, name: str) -> bool:
        """Return True if something works on the store that must not be interrupted."""
        ...

    def detach(self, name: str) -> None:
        """The store is being closed."""
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
    """Opens stores by name and keeps them for the handlers. For the event loop's thread."""

    def __init__(
        self,
        stores: StoreRegistry,
        supply: Supply,
        settings: Settings | None = None,
        listener: StoreListener | None = None,
        used: Callable[[str], None] | None = None,
    ) -> None:
        """`supply` provides embedders; `used` is called with the name of the store of every request."""
        self._used = used
        self._settings = settings
        self._stores = stores
        stores.on_closed.append(self._closed)
        stores.on_exclusive.append(lambda _: self.clear_caches())
        stores.unused = self.unused
        self._supply = supply
        self._listener = listener
        self._warm: OrderedDict[str, OpenStore] = OrderedDict()
        """The one least recently used first."""
        self._holds: dict[str, list[weakref.ref[Hold]]] = {}
        """Of OpenStores that were given away, by the name of the store."""
        self._archives = Archives()
        self.on_clear_caches: list[Callable[[], None]] = []
        """Called to clear other caches of texts."""
        self._loading: dict[str, trio.Lock] = {}
        self._threads = Threads(trio.CapacityLimiter(NEAR_THREADS), trio.CapacityLimiter(FAR_THREADS))

    async def use(self, name: str | None) -> OpenStore:
        """Return the store that a request names (None: the active one), opened if need be.

        Awaits only Deferreds. Raises MnemonError for an invalid name, and the errors of opening.
        """
        resolved = self._stores.resolve(name)
        if self._used is not None:
            self._used(resolved)
        return await self.opened(resolved)

    async def opened(self, name: str) -> OpenStore:
        """Return the store of a resolved name, without counting a use."""
        warm = self._warm.get(name)
        if warm is None:
            return await in_task(self.open, name)
        self._warm.move_to_end(name)
        return warm

    async def open_for_job(self, name: str) -> None:
        """Open a store for its jobs: no request uses it, so that it is closed first. Raises MnemonError."""
        await self.open(name)
        self._warm.move_to_end(name, last=False)

    def unused(self) -> Iterator[str]:
        """Yield the names of the open stores that are not in use, the one least recently used first."""
        for store in self._stores.open_stores():
            loading = self._loading.get(store.name)
            if store.name not in self._warm and not (loading and loading.locked()):
                yield store.name  # it was created, or its settings were refused
        for name in list(self._warm):
            if not ((self._listener is not None and self._listener.is_busy(name)) or self._is_held(name)):
                yield name

    def _is_held(self, name: str) -> bool:
        warm = self._warm[name]
        holds = [*self._holds.pop(name, ()), weakref.ref(warm.hold)]
        self._warm[name] = msgspec.structs.replace(warm, hold=Hold())
        del warm
        if held := [each for each in holds if each() is not None]:
            self._holds[name] = held
        return bool(held)

    async def open(self, name: str) -> OpenStore:
        """Open a store, or wait until it is. Raises MnemonError(NOT_FOUND) or MnemonError(STORAGE)."""
        while True:
            store = await self._stores.open(name)
            async with self._loading.setdefault(
                name, trio.Lock()
            ):  # loading an embedder delays requests to its own store only
                if (warm := self._warm.get(name)) is None:
                    warm = await self._load(store)
            if warm is not None and warm.store is store:
                return warm  # otherwise it was closed meanwhile

    async def _load(self, store: Store) -> OpenStore | None:
        """Load settings and embedder of a store. Returns None if it was closed meanwhile."""
        embedder, error = await trio.to_thread.run_sync(self._settle, store, abandon_on_cancel=True)
        if self._stores.warm(store.name) is not store:
            return None
        warm = self._warm[store.name] = self._opened(store, embedder, error)
        if self._listener is not None:
            self._listener.attach(warm, partial(self._change, store.name))
        return warm

    def _settle(self, store: Store) -> tuple[Embedder | None, str | None]:
        if self._settings is not None:
            self._settings.opening(store.name)
        return self._embedder_for(store.embedder)

    def _closed(self, name: str) -> None:
        for of_store in (self._warm, self._holds, self._loading):
            of_store.pop(name, None)
        if self._listener is not None:
            self._listener.detach(name)

    def _opened(self, store: Store, embedder: Embedder | None, error: str | None) -> OpenStore:
        lacks = embedder is None and (store.embedder is not None or self._supply.wants)
        on_missing_vector = None if self._listener is None else self._listener.request_backfill
        return OpenStore(
            store, embedder, error, self._threads, lacks, self._config_of(store.name), archives=self._archives,
            on_missing_vector=on_missing_vector, on_purged=self.clear_caches,
        )  # fmt: skip

    def clear_caches(self) -> None:
        """Clear all caches of texts, so that the process keeps nothing of a purged memory."""
        self._supply.clear_cache()
        self._archives.clear()
        caches.clear_all()
        for clear in self.on_clear_caches:
            clear()

    async def reload_embedder(self, name: str) -> None:
        """Another daemon may have given a shared store another embedder: find the one of its vectors."""
        while (record := self._record_without_embedder(name)) is not None:
            embedder, error = await trio.to_thread.run_sync(self._embedder_for, record, abandon_on_cancel=True)
            if self._record_without_embedder(name) != record:
                continue  # it was changed again meanwhile
            self._change(
                name, embedder=embedder, embed_error=error, lacks_embedder=embedder is None, next_embedder=None
            )
            if self._listener is not None:
                self._listener.set_embedder(name, embedder)
            return

    def _record_without_embedder(self, name: str) -> EmbedderRecord | None:
        """Return the record of a store's embedder if another one is in use for it."""
        warm = self._warm.get(name)
        record = None if warm is None else warm.store.embedder
        in_use = None if warm is None or warm.embedder is None else warm.embedder.fingerprint
        return None if record is None or record.fingerprint == in_use else record

    def apply_settings(self) -> None:
        """Apply the settings in force to every open store, for later requests."""
        for name in self._warm:
            self._change(name, config=self._config_of(name))

    def _config_of(self, name: str) -> Config:
        return Config() if self._settings is None else self._settings.config(name)

    def _change(self, name: str, **fields: object) -> None:
        """Replace fields of an open store for later requests; requests under way keep the earlier values."""
        if (warm := self._warm.get(name)) is not None:
            self._warm[name] = msgspec.structs.replace(warm, **fields)

    def _embedder_for(self, record: EmbedderRecord | None) -> tuple[Embedder | None, str | None]:
        """Return the embedder of a store's vectors, or why it is unavailable (blocking: it may load a model)."""
        if record is None:
            return None, self._supply.lacking or (WAITING if self._supply.wants else "this store has no embedder")
        try:
            return self._supply.of_record(record.name, record.dimension, record.fingerprint), None
        except MnemonError as error:
            return None, sentence(error)


# Fair access to threads.

CLIENT_LEFT: Final = "the client has disconnected; the request was not processed"


class FairLimiter:
    """A limiter of `places` that serves connections round-robin, and the requests of one connection in order.

    A connection with a hundred requests delays another by no more than one of them. For the event loop's thread.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[int, deque[_Waiter]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a place."""
        return sum(map(len, self._waiting.values()))

    async def slot(self, call: Call) -> AbstractContextManager[None]:
        """Wait for a place; the returned context manager holds it.

        Raises MnemonError(UNAVAILABLE) if the client has disconnected meanwhile.
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
            raise MnemonError(UNAVAILABLE, CLIENT_LEFT, outcome="rejected")
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
    __slots__ = ("call", "has_place", "woken")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.woken: Deferred[None] = Deferred()
        self.has_place = False
