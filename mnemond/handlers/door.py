"""The way into a store: at once when it is warm, after opening it when it is cold."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

import msgspec
import trio

from mnemond.embed.embedder import Embedder
from mnemond.embed.registry import create
from mnemond.errors import MnemonError
from mnemond.protocol.types import Result
from mnemond.server.deferred import Deferred
from mnemond.store.meta import EmbedderRecord
from mnemond.store.registry import StoreRegistry
from mnemond.store.store import Store

R = TypeVar("R", bound=Result)


class OpenStore(msgspec.Struct, frozen=True):
    """A warm store with the embedder its vectors belong to.

    `embed_error` says why there is none, `lacks_embedder` whether there should be one.
    """

    store: Store
    embedder: Embedder | None
    embed_error: str | None
    lacks_embedder: bool = False

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


Use = Callable[[OpenStore], object]


class StoreDoor:
    """Finds, opens and remembers stores by name for the handlers. For the event loop's thread."""

    def __init__(self, stores: StoreRegistry, preferred: Embedder | None, lacking: str | None = None) -> None:
        """`preferred` is the embedder of new stores; `lacking` says why the configured one is not to be had."""
        self._stores = stores
        self._preferred = preferred
        self._lacking = lacking
        self._warm: dict[str, OpenStore] = {}
        self._loading = trio.Lock()

    def through(self, name: str | None, use: Use) -> object:
        """`use(store)` now when the store is warm, else a coroutine that opens it first.

        Raises MnemonError for a name that is not one; the coroutine raises what opening raises.
        """
        resolved = self._stores.resolve(name)
        warm = self._warm.get(resolved)
        return self._open_then(resolved, use) if warm is None else use(warm)

    async def open(self, name: str) -> OpenStore:
        """The warm store. Raises MnemonError(NOT_FOUND) or MnemonError(STORAGE)."""
        store = await self._stores.open(name)
        async with self._loading:
            if (warm := self._warm.get(name)) is None:
                embedder, error = await trio.to_thread.run_sync(self._embedder_for, store.embedder)
                wanted = store.embedder is not None or self._lacking is not None
                warm = self._warm[name] = OpenStore(store, embedder, error, embedder is None and wanted)
        return warm

    async def _open_then(self, name: str, use: Use) -> object:
        return await settle(use(await self.open(name)))

    def _embedder_for(self, record: EmbedderRecord | None) -> tuple[Embedder | None, str | None]:
        """The embedder that made a store's vectors, or why it is not to be had (blocking: it may load a model)."""
        if record is None:
            return None, self._lacking or "this store was made without an embedder"
        candidate = self._preferred
        if candidate is None or candidate.name != record.name:
            try:
                candidate = create(record.name)
            except MnemonError as error:
                return None, f"this store's embedder is not available: {error.message}"
        if candidate.fingerprint != record.fingerprint:
            return None, f"this store's vectors were made by another build of {record.name}"
        return candidate, None


async def settle(value: object) -> object:
    """The final value behind whatever a handler returned. Raises MnemonError when that is how it ends."""
    while True:
        if isinstance(value, Deferred):
            settled = trio.Event()
            value.subscribe(settled.set)
            await settled.wait()
            value = value.result()
        elif inspect.isawaitable(value):
            value = await value
        else:
            return value
