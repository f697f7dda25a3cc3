"""Parameters and results of the methods about named stores."""

from __future__ import annotations

import msgspec

from mnemond.protocol.types import Params, Result, StoreName


class StoreListParams(Params, frozen=True, kw_only=True):
    """Nothing."""


class StoreEntry(msgspec.Struct, frozen=True):
    """One store."""

    name: str
    active: bool


class StoreListResult(Result, frozen=True, kw_only=True):
    """Every store; `source` says where the active name comes from: active-file or default."""

    stores: list[StoreEntry]
    active: str
    source: str


class StoreCreateParams(Params, frozen=True, kw_only=True):
    """Name pattern: a letter or digit, then up to 63 letters, digits, "_" or "-"."""

    name: StoreName


class StoreCreateResult(Result, frozen=True, kw_only=True):
    """`created` is false when the store was there already."""

    name: str
    path: str
    created: bool


class StoreSetParams(Params, frozen=True, kw_only=True):
    """Which store is used from now on when none is named. It has to exist, except `default`."""

    name: StoreName


class StoreSetResult(Result, frozen=True, kw_only=True):
    """The active store, and the one that was active before."""

    name: str
    previous: str


class StorePathParams(Params, frozen=True, kw_only=True):
    """Which store; the active one unless named."""

    store: StoreName | None = None


class StorePathResult(Result, frozen=True, kw_only=True):
    """Where a store lies. A store that is made on first use need not exist yet."""

    name: str
    path: str
    exists: bool


class StoreRemoveParams(Params, frozen=True, kw_only=True):
    """Delete a store; not the active one, and only with `yes`. A last backup of it is made before.

    `purge`: no last backup, and its earlier ones are deleted as well.
    """

    name: StoreName
    yes: bool = False
    purge: bool = False


class StoreRemoveResult(Result, frozen=True, kw_only=True):
    """`backup` is the name of the last backup, null with `purge`."""

    name: str
    backup: str | None
    purged: bool
