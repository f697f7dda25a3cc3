"""The methods about named stores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import trio

from mnemond.commands.layout import plural
from mnemond.errors import BUSY, INVALID_PARAMS, MnemonError
from mnemond.handlers.busy import refuse_busy
from mnemond.handlers.door import StoreDoor
from mnemond.handlers.embed_keeper import EmbedKeeper
from mnemond.protocol import stores
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store.names import check
from mnemond.store.registry import StoreRegistry
from mnemond.store.safekeeping import Safekeeping


class StoreHandlers:
    """store.list, store.create, store.set, store.path, store.remove."""

    def __init__(self, registry: StoreRegistry, door: StoreDoor, keeper: EmbedKeeper, safekeeping: Safekeeping) -> None:
        self._stores = registry
        self._door = door
        self._keeper = keeper
        self._safekeeping = safekeeping

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "store.list": self.list,
            "store.create": self.create,
            "store.set": self.set,
            "store.path": self.path,
            "store.remove": self.remove,
        }

    def list(self, call: Call, params: stores.StoreListParams) -> stores.StoreListResult:
        """Every store there is."""
        active, source = self._stores.active()
        entries = [stores.StoreEntry(name, name == active) for name in self._stores.names()]
        return stores.StoreListResult(stores=entries, active=active, source=source)

    async def create(self, call: Call, params: stores.StoreCreateParams) -> stores.StoreCreateResult:
        """Make a store. Raises MnemonError for a name that is not one or a directory that cannot be written."""
        path = self._stores.path(params.name)
        created = await self._stores.create(params.name)
        return stores.StoreCreateResult(name=params.name, path=str(path), created=created)

    async def set(self, call: Call, params: stores.StoreSetParams) -> stores.StoreSetResult:
        """Make a store the active one. Raises MnemonError: NOT_FOUND, STORAGE."""
        name, (previous, _) = check(params.name), self._stores.active()
        await trio.to_thread.run_sync(partial(self._stores.activate, name))
        return stores.StoreSetResult(name=name, previous=previous)

    def path(self, call: Call, params: stores.StorePathParams) -> stores.StorePathResult:
        """Where a store lies. Raises MnemonError(NOT_FOUND)."""
        name = self._stores.resolve(params.store)
        return stores.StorePathResult(name=name, path=str(self._stores.find(name)), exists=self._stores.exists(name))

    async def remove(self, call: Call, params: stores.StoreRemoveParams) -> stores.StoreRemoveResult:
        """Delete a store after a last backup. Raises MnemonError: NOT_FOUND, INVALID_PARAMS, BUSY, STORAGE."""
        name = check(params.name)
        self._stores.find(name)
        self._stores.refuse_active(name)
        refuse_busy(self._keeper, name)
        if not params.yes:
            raise await self._unsure(name)
        last = await self._safekeeping.remove(name, purge=params.purge)
        return stores.StoreRemoveResult(name=name, backup=None if last is None else last.name, purged=params.purge)

    async def _unsure(self, name: str) -> MnemonError:
        """What would go, for somebody who has not said yes."""
        try:
            holds = f" with its {plural((await self._door.open(name)).store.snapshot.live, 'memory')}"
        except MnemonError as error:
            if error.kind is BUSY:
                raise
            holds = ", which cannot be opened"
        return MnemonError(
            INVALID_PARAMS,
            f'this removes the store "{name}"{holds}; it needs yes (--yes)',
            hint="a last backup is made first, from which `mnemonctl backup restore` brings it back",
            outcome="rejected",
        )
