"""The methods about backups of stores."""

from __future__ import annotations

from collections.abc import Mapping

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.handlers.busy import refuse_busy
from mnemond.handlers.door import StoreDoor
from mnemond.handlers.embed_keeper import EmbedKeeper
from mnemond.protocol import backups
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store.backups import Backup
from mnemond.store.names import check
from mnemond.store.registry import StoreRegistry
from mnemond.store.safekeeping import Safekeeping
from mnemond.store.verified_copy import Facts


class BackupHandlers:
    """backup.create, backup.list, backup.verify, backup.restore."""

    def __init__(self, registry: StoreRegistry, door: StoreDoor, keeper: EmbedKeeper, safekeeping: Safekeeping) -> None:
        self._stores = registry
        self._door = door
        self._keeper = keeper
        self._safekeeping = safekeeping

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "backup.create": self.create,
            "backup.list": self.list,
            "backup.verify": self.verify,
            "backup.restore": self.restore,
        }

    async def create(self, call: Call, params: backups.BackupCreateParams) -> backups.BackupCreateResult:
        """Copy a store while it serves. Raises MnemonError: NOT_FOUND, STORAGE."""
        name = self._stores.resolve(params.store)
        warm = await self._door.open(name)
        made = await self._safekeeping.back_up(name)
        result = backups.BackupCreateResult(backup=view(made.backup), dropped=made.dropped)
        return warm.marked(result)

    async def list(self, call: Call, params: backups.BackupListParams) -> backups.BackupListResult:
        """What there is, newest first."""
        found = await self._safekeeping.list(_checked(params.store))
        return backups.BackupListResult(backups=[view(each) for each in found])

    async def verify(self, call: Call, params: backups.BackupVerifyParams) -> backups.BackupVerifyResult:
        """Read every page of a backup. Raises MnemonError: NOT_FOUND, AMBIGUOUS, STORAGE, UNSUPPORTED."""
        backup = await self._safekeeping.find(params.backup, _checked(params.store))
        facts = await self._safekeeping.verify(backup)
        return backups.BackupVerifyResult(backup=view(backup, facts))

    async def restore(self, call: Call, params: backups.BackupRestoreParams) -> backups.BackupRestoreResult:
        """Make a store what a backup holds.

        Raises MnemonError: NOT_FOUND, AMBIGUOUS, INVALID_PARAMS, BUSY, STORAGE, UNSUPPORTED.
        """
        backup = await self._safekeeping.find(params.backup, _checked(params.store))
        into = check(params.into or backup.store)
        refuse_busy(self._keeper, into)
        if self._stores.exists(into) and not params.yes:
            raise MnemonError(
                INVALID_PARAMS,
                f'this replaces the store "{into}" by what it was at {backup.created_at}; it needs yes (--yes)',
                hint="what it is now becomes a backup first; or name another store with into (--into)",
                outcome="rejected",
            )
        done = await self._safekeeping.restore(backup, into)
        await self._door.open(into)
        return backups.BackupRestoreResult(
            store=into,
            backup=backup.name,
            memories=done.memories,
            before=None if done.before is None else done.before.name,
        )


def view(backup: Backup, facts: Facts | None = None) -> backups.BackupView:
    """A backup as the wire has it, with what is known of it, or what was found in it just now."""
    known = facts or backup.facts
    return backups.BackupView(
        name=backup.name,
        store=backup.store,
        kind=backup.kind,
        created_at=backup.created_at,
        path=str(backup.path),
        bytes=backup.bytes,
        memories=None if known is None else known.memories,
        retired=None if known is None else known.retired,
        sha256=None if known is None else known.sha256,
    )


def _checked(name: str | None) -> str | None:
    return None if name is None else check(name)
