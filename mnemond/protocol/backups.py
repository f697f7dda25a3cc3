"""Parameters and results of the methods about backups of stores. They name backups and stores, never files."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.protocol.types import Params, Result, StoreName

BackupName = Annotated[str, msgspec.Meta(min_length=6, max_length=64)]
"""As `backup.create` and `backup.list` give it, or the beginning of it."""


class BackupView(msgspec.Struct, frozen=True):
    """One backup: SQLite's own file format, readable by its owner only.

    `kind`: `asked` for, `scheduled`, or made because the store was about to be `replaced` or `removed`. `memories` and
    `retired` are those in recall and out of it; with `sha256` they are null when the note of them is lost.
    """

    name: str
    store: str
    kind: Literal["asked", "scheduled", "replaced", "removed"]
    created_at: str
    path: str
    bytes: int
    memories: int | None
    retired: int | None
    sha256: str | None


class BackupCreateParams(Params, frozen=True, kw_only=True):
    """Which store; the active one unless named."""

    store: StoreName | None = None


class BackupCreateResult(Result, frozen=True, kw_only=True):
    """It holds everything that was acknowledged before the request, and was verified. `dropped` are the names of the
    oldest, whose place it took."""

    backup: BackupView
    dropped: list[str]


class BackupListParams(Params, frozen=True, kw_only=True):
    """Of which store; of all unless named."""

    store: StoreName | None = None


class BackupListResult(Result, frozen=True, kw_only=True):
    """Newest first."""

    backups: list[BackupView]


class BackupVerifyParams(Params, frozen=True, kw_only=True):
    """Which backup; of which store, where several have one of that name."""

    backup: BackupName
    store: StoreName | None = None


class BackupVerifyResult(Result, frozen=True, kw_only=True):
    """Every page was read and nothing is wrong; what it holds. One that is damaged is an error."""

    backup: BackupView


class BackupRestoreParams(Params, frozen=True, kw_only=True):
    """Make a store what a backup holds: the one it was made of, or `into` another or a new one.

    `yes` is needed where a store is replaced. What it was before is a backup afterwards.
    """

    backup: BackupName
    store: StoreName | None = None
    into: StoreName | None = None
    yes: bool = False


class BackupRestoreResult(Result, frozen=True, kw_only=True):
    """The store, what is in it now, and the name of the backup of what was there before."""

    store: str
    backup: str
    memories: int
    before: str | None
