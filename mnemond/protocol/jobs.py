"""Parameters and results of the methods about background jobs."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.protocol.types import Name, Params, Result, StoreName


class JobsListParams(Params, frozen=True, kw_only=True):
    """Of which store; the active one unless named."""

    store: StoreName | None = None


class JobView(msgspec.Struct, frozen=True):
    """One job of a store, and how it ran last: what never was is null.

    `outcome`: done, nothing (there was nothing to change), or stopped: it would change too much, and `detail` says how
    to let it. `changed` counts memories, lines or rows; of one that stopped, how many it would have changed. `op_id`
    is for undo. `next_run` is null while it runs. `skipped`: why it does not run although it is due; `error`: why the
    last attempt failed.
    """

    name: str
    summary: str
    every_s: float
    running: bool
    last_run: str | None
    outcome: Literal["done", "nothing", "stopped"] | None
    changed: int | None
    detail: str | None
    seconds: float | None
    op_id: str | None
    next_run: str | None
    skipped: str | None
    error: str | None


class JobsListResult(Result, frozen=True, kw_only=True):
    """Every job, in the order they run in where several are due."""

    store: str
    jobs: list[JobView]


class JobsRunParams(Params, frozen=True, kw_only=True):
    """Run one job now, whether or not the store is in use. `dry_run`: say what it would come to, and change nothing.
    `yes`: let it change as much as there is to change."""

    name: Name
    dry_run: bool = False
    yes: bool = False
    store: StoreName | None = None


class JobsRunResult(Result, frozen=True, kw_only=True):
    """What the run came to, or of a dry run would come to; the fields are those of JobView."""

    store: str
    name: str
    outcome: Literal["done", "nothing", "stopped"]
    changed: int
    detail: str
    op_id: str | None
    dry_run: bool
