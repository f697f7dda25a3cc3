"""Parameters and results of the method that examines a store, and what `mnemonctl doctor` prints as JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.protocol.types import Params, Result, StoreName

State = Literal["ok", "problem", "note", "skipped"]


class VerifyParams(Params, frozen=True, kw_only=True):
    """Which store; the active one unless named. `full`: read every row, link, vector and page, which may take a second
    for each 10,000 memories."""

    full: bool = False
    store: StoreName | None = None


class ProblemView(msgspec.Struct, frozen=True):
    """What is the matter, where, and what to do next."""

    what: str
    where: str
    next: str


class CheckView(msgspec.Struct, frozen=True, kw_only=True):
    """What one check came to. `ok` is false for a problem alone; a note is something to know, and what was skipped is
    said with its reason in `detail`. `store` is null for what concerns no store."""

    name: str
    ok: bool
    state: State
    detail: str
    problems: list[ProblemView] = []
    store: str | None = None


class VerifyResult(Result, frozen=True, kw_only=True):
    """Every check, in order. `open`: the daemon has the store in memory, and memory was compared with the database; a
    store that is not open is not opened for this."""

    store: str
    open: bool
    ok: bool
    checks: list[CheckView]


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's program that is here or was set up. `installed`: something of ours stands in it; `unmodified`: all of
    it, as `mnemonctl setup` leaves it, null when nothing does. `untrusted` are hooks that the program does not run
    until its user approves them, `switched_off` settings of the program that keep ours from running, `duplicates`
    what would run them twice. `last_seen` is when it last called the daemon that runs, RFC 3339; null when it did not,
    or none runs."""

    host: str
    title: str
    installed: bool
    unmodified: bool | None = None
    untrusted: list[str] = []
    switched_off: list[str] = []
    duplicates: list[str] = []
    last_seen: str | None = None


class DoctorResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `mnemonctl doctor` found: how many problems and notes, every check, and every agent's program."""

    ok: bool
    problems: int
    notes: int
    checks: list[CheckView]
    hosts: list[HostView] = []


class SalvagedTable(msgspec.Struct, frozen=True):
    """What became of a table: rows kept, of those the ones from damaged pages (their text is the one that was stored,
    other fields may not be), rows that were left out, and places where nothing could be read."""

    table: str
    kept: int
    doubtful: int
    left_out: int
    gaps: int


class SalvageResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `mnemonctl doctor --salvage` made: the new store, of which one, and what became of each table that is not as
    it was. `whole`: nothing was lost."""

    store: str
    of: str
    path: str
    memories: int
    retired: int
    whole: bool
    tables: list[SalvagedTable]
