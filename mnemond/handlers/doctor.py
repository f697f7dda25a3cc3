"""verify: whether what must always be true of a store is true. Nothing stored is changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final, Literal

import trio

from mnemond.clock import Clock
from mnemond.errors import BUSY, NOT_FOUND, MnemonError
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.embed_views import counted
from mnemond.protocol.doctor import CheckView, ProblemView, VerifyParams, VerifyResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store import exchanges
from mnemond.store.files import log_bytes
from mnemond.store.invariants.check import Tier
from mnemond.store.invariants.consequences import heed
from mnemond.store.invariants.examination import Examiner, Finding, closed
from mnemond.store.registry import StoreRegistry

THREADS: Final = 1
"""Stores being examined at once, because somebody asked: it must not fight the event loop for the interpreter."""


STUCK_US: Final = 86_400_000_000
"""How long an exchange may wait: what fails is tried for an hour, and a store that is never left alone is read every
ten minutes."""


class VerifyHandlers:
    """verify."""

    def __init__(self, stores: StoreRegistry, door: StoreDoor, examiner: Examiner, clock: Clock) -> None:
        self._stores = stores
        self._door = door
        self._examiner = examiner
        self._clock = clock
        self._threads = trio.CapacityLimiter(THREADS)

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {"verify": self.verify}

    async def verify(self, call: Call, params: VerifyParams) -> VerifyResult:
        """Every check about a store. Raises MnemonError: NOT_FOUND, STORAGE when it cannot be read, BUSY."""
        name = self._stores.resolve(params.store)
        tier: Tier = "full" if params.full else "fast"
        if not self._stores.exists(name):
            raise MnemonError(NOT_FOUND, f'there is no store "{name}" yet', hint="`mnemonctl store list` shows all")
        if self._stores.warm(name) is None:
            return await self._closed(name, tier)
        return await self._open(await self._door.open(name), tier)

    async def _open(self, warm: OpenStore, tier: Tier) -> VerifyResult:
        found = await self._examiner.examine(warm.store, tier, self._clock.now_us(), self._threads)
        await heed(warm.store, found, tier)
        views = [*map(partial(view, warm.store.name), found), *await self._others(warm)]
        return warm.marked(_result(warm.store.name, views, is_open=True))

    async def _others(self, warm: OpenStore) -> list[CheckView]:
        """What only the daemon that has it open can tell."""
        said = await _exchanges(warm, self._clock.now_us())
        return [_standing(warm), await _embedder(warm), _capacity(warm), said]

    async def _closed(self, name: str, tier: Tier) -> VerifyResult:
        path = self._stores.path(name)
        found = await trio.to_thread.run_sync(closed, path, tier, self._clock.now_us(), limiter=self._threads)
        if self._stores.warm(name) is not None or log_bytes(path):
            raise MnemonError(BUSY, f'the store "{name}" was opened while it was looked at', hint="repeat")
        return _result(name, list(map(partial(view, name), found)), is_open=False)


def _result(name: str, views: list[CheckView], *, is_open: bool) -> VerifyResult:
    return VerifyResult(store=name, open=is_open, ok=all(each.ok for each in views), checks=views)


def view(store: str, finding: Finding) -> CheckView:
    """What a check came to, as it is told."""
    check = finding.check
    if finding.skipped is not None:
        return CheckView(name=check.name, ok=True, state="skipped", detail=finding.skipped, store=store)
    if not finding.problems:
        return CheckView(name=check.name, ok=True, state="ok", detail=check.says, store=store)
    problems = [ProblemView(each.what, each.where, each.next) for each in finding.problems]
    return CheckView(
        name=check.name, ok=False, state="problem", detail=problems[0].what, problems=problems, store=store
    )


def _standing(warm: OpenStore) -> CheckView:
    name, reason = warm.store.name, warm.store.degraded_reason
    if reason is None:
        return CheckView(name="storage", ok=True, state="ok", detail="it can be read and written", store=name)
    problem = ProblemView(reason, str(warm.store.path), "mend that; then: mnemonctl daemon restart")
    return CheckView(name="storage", ok=False, state="problem", detail=reason, problems=[problem], store=name)


async def _embedder(warm: OpenStore) -> CheckView:
    name, snapshot = warm.store.name, warm.store.snapshot
    if warm.lacks_embedder:
        problem = ProblemView(
            warm.embed_error or "there is no embedder", str(warm.store.path), "mnemonctl embed --status says more"
        )
        return CheckView(
            name="embedder", ok=False, state="problem", detail=problem.what, problems=[problem], store=name
        )
    counts = await warm.store.read(counted)
    model = "no embedder" if warm.embedder is None else warm.embedder.name
    detail = f"{model}, vectors of {snapshot.embedded:,} of {snapshot.live:,} memories"
    if counts.stale:
        detail += f"; {counts.stale:,} vectors are of another model: mnemonctl embed --all"
    return CheckView(name="embedder", ok=True, state="note" if counts.stale else "ok", detail=detail, store=name)


def _capacity(warm: OpenStore) -> CheckView:
    live, most = warm.store.snapshot.live, warm.policy.lifecycle.max_insights
    over = 0 < most < live
    detail = f"memories: {live:,} of at most {most:,}" if most else f"memories: {live:,}, no limit"
    if over:
        detail += ": the next prune lets some go (mnemonctl jobs run prune --dry-run)"
    return CheckView(name="capacity", ok=True, state="note" if over else "ok", detail=detail, store=warm.store.name)


async def _exchanges(warm: OpenStore, now_us: int) -> CheckView:
    """What was said in agents' sessions is read soon, or set aside; neither piles up."""
    name = warm.store.name
    backlog, stuck, why, let_go = await warm.store.read(
        lambda it: (
            exchanges.backlog(it),
            exchanges.count_queued_before(it, now_us - STUCK_US),
            exchanges.last_error(it),
            exchanges.let_go(it),
        )
    )
    unread = f"; let go of unread, ever: {let_go:,}" if let_go else ""
    if not warm.policy.extraction.enabled and not backlog.failed:
        detail = f"extraction.enabled is false; exchanges that wait: {backlog.pending:,}{unread}"
        state: Literal["note", "ok"] = "note" if backlog.pending or let_go else "ok"
        return CheckView(name="exchanges", ok=True, state=state, detail=detail, store=name)
    if not (backlog.failed or stuck):
        detail = f"exchanges to be read: {backlog.pending:,}{unread}"
        return CheckView(name="exchanges", ok=True, state="note" if let_go else "ok", detail=detail, store=name)
    what = f"exchanges that could not be read: {backlog.failed:,}; that wait longer than a day: {stuck:,}{unread}"
    problem = ProblemView(
        f"{what} ({why})" if why else what,
        str(warm.store.path),
        "mnemonctl jobs run extract --yes tries them again; if that fails, please report it with the daemon's log",
    )
    return CheckView(name="exchanges", ok=False, state="problem", detail=what, problems=[problem], store=name)
