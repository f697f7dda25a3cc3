"""Methods about stores and their backups: parameters and results."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mnemond.model.answers import Backup, LogStanding, Visibility
from mnemond.model.outcomes import Result
from mnemond.wire.params import Access, NoParams, Params, SpoolName, StoreName, StoreParams, about, method


class StoreEntry(msgspec.Struct, frozen=True):
    """One store. `visibility`: who sees it, for one that daemons share and that is open."""

    name: str
    active: bool
    visibility: Visibility | UnsetType = UNSET


class StoreListResult(Result, frozen=True, kw_only=True):
    """Every store; `source`: where the active name comes from, active-file or default."""

    stores: list[StoreEntry]
    active: str
    source: str


STORE_LIST = method("store.list", NoParams, StoreListResult, Access.READ, "List every store.")


class StoreCreateParams(Params, frozen=True, kw_only=True):
    """Name pattern: a letter or digit, then up to 63 letters, digits, "_" or "-"."""

    name: Annotated[StoreName, about("the name of the new store")]
    backend: Annotated[
        Literal["postgresql"] | None,
        about("where its log of operations is, for a store that several daemons share", metavar="BACKEND"),
    ] = None
    dsn_env: Annotated[
        Annotated[str, Meta(max_length=2000)] | None,
        about("the environment variable of the daemon that has the connection string", metavar="VARIABLE"),
    ] = None
    visibility: Annotated[
        Visibility | None,
        about("who sees a shared store: private (you), project (members of the role of its name), team", metavar="WHO"),
    ] = None


class StoreCreateResult(Result, frozen=True, kw_only=True):
    """`created` is false if the store existed already. `shared`: how far its log was loaded, null if it is not
    shared."""

    name: str
    path: str
    created: bool
    shared: LogStanding | None = None


STORE_CREATE = method(
    "store.create", StoreCreateParams, StoreCreateResult, Access.WRITE,
    "Make a new, empty store.", positional=("name",),
)  # fmt: skip


class StoreSetParams(Params, frozen=True, kw_only=True):
    """The store has to exist, except `default`. With `visibility` that is changed, and the active store stays."""

    name: Annotated[StoreName, about("the name of a store")]
    visibility: Annotated[
        Visibility | None,
        about("change who sees this shared store (private, project, team); it does not become active", metavar="WHO"),
    ] = None


class StoreSetResult(Result, frozen=True, kw_only=True):
    """The active store, and the one that was active before. With `visibility`: the store whose visibility that is now;
    the active one is `previous`."""

    name: str
    previous: str
    visibility: Visibility | None = None


STORE_SET = method(
    "store.set", StoreSetParams, StoreSetResult, Access.WRITE,
    "Choose the store that is used when none is named.", positional=("name",),
)  # fmt: skip


class StorePathResult(Result, frozen=True, kw_only=True):
    """The path of a store. A store that is made on first use need not exist yet."""

    name: str
    path: str
    exists: bool


STORE_PATH = method(
    "store.path",
    StoreParams,
    StorePathResult,
    Access.READ,
    "Show where the file of a store is.",
    positional=("store",),
)


class StoreRemoveParams(Params, frozen=True, kw_only=True):
    """The active store cannot be removed."""

    name: Annotated[StoreName, about("the name of a store")]
    yes: Annotated[bool, about("yes, remove it")] = False
    purge: Annotated[bool, about("make no last backup, and delete the earlier ones")] = False


class StoreRemoveResult(Result, frozen=True, kw_only=True):
    """`backup` is the name of the last backup, null with `purge`, and for a store that could not be read: `kept` is the
    directory in which that one is kept."""

    name: str
    backup: str | None
    purged: bool
    kept: str | None = None


STORE_REMOVE = method(
    "store.remove", StoreRemoveParams, StoreRemoveResult, Access.WRITE,
    "Delete a store, after a last backup of it; needs yes.", positional=("name",),
)  # fmt: skip


BackupName = Annotated[
    str, Meta(min_length=6, max_length=64), about("name of a backup, or the beginning of it", metavar="BACKUP")
]


MAX_RECIPIENT: Final = 4096
"""Characters of a public key: one of RSA with 16,384 bits has 2,800."""


Recipient = Annotated[str, Meta(min_length=8, max_length=MAX_RECIPIENT)]


class BackupCreateParams(StoreParams, frozen=True, kw_only=True):
    encrypt_to: Annotated[
        list[Recipient] | None,
        about("public keys for which the backup is encrypted, in place of those of the configuration", by_client=True),
    ] = None


class BackupCreateResult(Result, frozen=True, kw_only=True):
    """The backup holds everything that was acknowledged before the request, and was verified. `dropped` are the names
    of the oldest ones, removed to make room."""

    backup: Backup
    dropped: list[str]


BACKUP_CREATE = method(
    "backup.create", BackupCreateParams, BackupCreateResult, Access.WRITE,
    "Copy a store while it serves.", positional=("store",),
)  # fmt: skip


class BackupListParams(StoreParams, frozen=True, kw_only=True):
    """Of one store, or of all."""


class BackupListResult(Result, frozen=True, kw_only=True):
    """Newest first."""

    backups: list[Backup]


BACKUP_LIST = method(
    "backup.list", BackupListParams, BackupListResult, Access.READ, "List every backup.", positional=("store",)
)


class BackupVerifyParams(StoreParams, frozen=True, kw_only=True):
    """`store` tells backups of one name apart."""

    backup: BackupName


class BackupVerifyResult(Result, frozen=True, kw_only=True):
    """Every page was read and nothing is wrong. A damaged backup is an error. `read` is false for one that is
    encrypted: its bytes are those that were noted when it was made; the client can read its pages, as it has the key.
    """

    backup: Backup
    read: bool = True


BACKUP_VERIFY = method(
    "backup.verify", BackupVerifyParams, BackupVerifyResult, Access.READ,
    "Read every page of a backup.", positional=("backup",),
)  # fmt: skip


class BackupRestoreParams(StoreParams, frozen=True, kw_only=True):
    """`store` tells backups of one name apart. What a replaced store was before is a backup afterwards. Of a backup
    that is encrypted, the file `spool` has the plaintext."""

    backup: BackupName
    into: Annotated[
        StoreName | None, about("restore into this store, which may be new; the one it was made of unless given")
    ] = None
    yes: Annotated[bool, about("yes, replace the store that is there")] = False
    spool: SpoolName | None = None


class BackupRestoreResult(Result, frozen=True, kw_only=True):
    """The store, its size now, and its former contents: the name of the backup of them, or the directory in which they
    are kept because they cannot be read."""

    store: str
    backup: str
    memories: int
    before: str | None
    kept: str | None = None


BACKUP_RESTORE = method(
    "backup.restore", BackupRestoreParams, BackupRestoreResult, Access.WRITE,
    "Replace a store by a backup, or make a new one of it.", positional=("backup",),
)  # fmt: skip
