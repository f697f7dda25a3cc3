"""Methods about core summaries: core.show, update, history, diff and set."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import msgspec
import trio

from mnemond.api.requests import Identities, is_person, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_core import (
    CoreDiffParams,
    CoreDiffResult,
    CoreHistoryParams,
    CoreHistoryResult,
    CoreLineView,
    CoreSetParams,
    CoreShowParams,
    CoreShowResult,
    CoreUpdateParams,
    CoreVersionView,
)
from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.extract.orders import is_attack, is_instruction
from mnemond.jobs.core_summary import CoreDeps, made, stored
from mnemond.memory.core_summary import Draft, entity_of, propose
from mnemond.memory.draft import clean_text, problems_of, with_op_id
from mnemond.model.core import BY_HAND, NOTHING_KNOWN, CoreLine, CoreSummary, ids_of
from mnemond.model.outcomes import CoreResult
from mnemond.recall.core_text import eligible, given_lines, shown
from mnemond.store import core_summaries
from mnemond.store.connection import Connection
from mnemond.store.relations import DEFAULT_USER
from mnemond.text.tokens import word_count
from mnemond.wire.dispatch import Call, handles

T = TypeVar("T")

THREADS = 1
"""Summaries computed at once: more would compete with the event loop for the interpreter."""


class CoreHandlers:
    """core.show, core.update, core.history, core.diff, core.set."""

    def __init__(self, open_stores: OpenStores, identities: Identities, means: CoreDeps) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._means = means
        self._threads = trio.CapacityLimiter(THREADS)

    async def _think(self, function: object, *arguments: object) -> object:
        return await trio.to_thread.run_sync(function, *arguments, limiter=self._threads)  # type: ignore[arg-type]

    @handles("core.show", in_task=True)
    async def show(self, call: Call, params: CoreShowParams) -> CoreShowResult:
        """Return a version. Raises MnemonError(NOT_FOUND) for a number that there is not."""
        warm = await self._open_stores.use(params.store)
        current = warm.store.core_summaries.get(entity_of(params.user_id))
        if params.version is None:
            return warm.marked(_shown(warm, params.user_id, current))
        found = await _version(warm, params.user_id, params.version)
        it = _view(warm, params.user_id, found, found.lines, found.text, current)
        return warm.marked(it)

    @handles("core.update", in_task=True)
    async def update(self, call: Call, params: CoreUpdateParams) -> CoreResult:
        """Make a version anew. Raises MnemonError."""
        if problems := with_op_id(problems_of({"user_id": params.user_id}), params.op_id):
            raise invalid(problems, hint="nothing was written")
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params)
        draft = await made(warm.store, params.user_id, self._means, identity.now_us, self._think)
        return warm.marked(await stored(warm.store, draft, identity, "core.update"))

    @handles("core.set", in_task=True)
    async def set(self, call: Call, params: CoreSetParams) -> CoreResult:
        """Give a version a text. Raises MnemonError(INVALID_PARAMS): too long, with a secret, or with orders that no
        person at a terminal gives. The text stands in front of every session."""
        warm = await self._open_stores.use(params.store)
        most = warm.config.core_summary.max_words
        problems = problems_of({"content": params.text, "user_id": params.user_id})
        if (words := word_count(params.text)) > most:
            problems.append(FieldProblem("text", f"text has {words:,} words; core_summary.max_words is {most}"))
        if not words:
            problems.append(FieldProblem("text", "text has no word"))
        if clean_text(params.text, allow_secret=False)[1]:
            problems.append(FieldProblem("text", "text looks like it has a secret, which is not kept"))
        if any(is_attack(each) or is_instruction(each) for each in params.text.splitlines()) and not is_person(call):
            sentence = "text gives orders to a program, and such is taken from a person at a terminal only"
            problems.append(FieldProblem("text", sentence))
        if problems := with_op_id(problems, params.op_id):
            raise invalid(problems, hint="nothing was written")
        identity = self._identities.of(warm, params)
        upto = await warm.store.read(core_summaries.last_number)
        snapshot = warm.store.snapshot
        rows = await trio.to_thread.run_sync(eligible, snapshot, params.user_id, identity.now_us, limiter=self._threads)
        lines = await trio.to_thread.run_sync(given_lines, params.text, snapshot, rows, limiter=self._threads)
        draft = Draft(user=params.user_id, lines=lines, generator=BY_HAND, upto=upto)
        return await submitted(warm, propose(draft, identity, "core.set"), CoreResult)

    @handles("core.history", in_task=True)
    async def history(self, call: Call, params: CoreHistoryParams) -> CoreHistoryResult:
        """Return the versions of a user without their texts."""
        warm = await self._open_stores.use(params.store)
        entity = entity_of(params.user_id)
        found = await warm.store.read(lambda it: core_summaries.versions(it, entity, params.limit))
        current = warm.store.core_summaries.get(entity)
        return warm.marked(
            CoreHistoryResult(
                store=warm.store.name,
                user=params.user_id or DEFAULT_USER,
                versions=[
                    CoreVersionView(
                        it.version, it.created_at, it.generator, it.reason, _words(it.text), len(it.source_ids),
                        it.op_id, current is not None and current.id == it.id, it.expired_at,
                    )
                    for it in found
                ],
            )
        )  # fmt: skip

    @handles("core.diff", in_task=True)
    async def diff(self, call: Call, params: CoreDiffParams) -> CoreDiffResult:
        """Compare two versions. Raises MnemonError(NOT_FOUND) if there are not two."""
        warm = await self._open_stores.use(params.store)
        newer, older = await warm.store.read(partial(_two, params=params))
        before, after = _lines(older), _lines(newer)
        had, has = {each.text for each in before}, {each.text for each in after}
        return warm.marked(
            CoreDiffResult(
                store=warm.store.name,
                user=params.user_id or DEFAULT_USER,
                older=older.version,
                newer=newer.version,
                added=[_line(each) for each in after if each.text not in had],
                removed=[_line(each) for each in before if each.text not in has],
                same=len(had & has),
            )
        )


def _shown(warm: OpenStore, user: str | None, core: CoreSummary | None) -> CoreShowResult:
    found = shown(core, warm.store.snapshot)
    text = found.text or (NOTHING_KNOWN if core is not None else "")
    view = _view(warm, user, core, found.lines, text, core)
    kept = {each for line in view.lines for each in line.memory_ids}
    scores = [each for each in view.scores if each.id in kept]
    return msgspec.structs.replace(view, left_out=found.left_out, scores=scores)


def _view(
    warm: OpenStore,
    user: str | None,
    core: CoreSummary | None,
    lines: tuple[CoreLine, ...],
    text: str,
    current: CoreSummary | None,
) -> CoreShowResult:
    return CoreShowResult(
        store=warm.store.name,
        user=user or DEFAULT_USER,
        version=0 if core is None else core.version,
        text=text,
        words=_words(text),
        lines=list(map(_line, lines)),
        left_out=0,
        generator="" if core is None else core.generator,
        reason="" if core is None else core.reason,
        scores=[] if core is None else list(core.scores),
        op_id="" if core is None else core.op_id,
        created_at=None if core is None else core.created_at,
        taken_back_at=None if core is None else core.expired_at,
        current=core is not None and current is not None and core.id == current.id,
    )


def _words(text: str) -> int:
    return 0 if text == NOTHING_KNOWN else word_count(text)


def _line(it: CoreLine) -> CoreLineView:
    return CoreLineView(it.text, it.section, ids_of([it]))


def _lines(it: CoreSummary) -> list[CoreLine]:
    """Return the lines of a version, those of a model's text as they are."""
    if not it.by_model:
        return list(it.lines)
    return [CoreLine(each) for each in it.text.splitlines()]


async def _version(warm: OpenStore, user: str | None, number: int) -> CoreSummary:
    found = await warm.store.read(lambda it: core_summaries.version(it, entity_of(user), number))
    if found is None:
        raise _no_version(number)
    return found


def _two(connection: Connection, params: CoreDiffParams) -> tuple[CoreSummary, CoreSummary]:
    """Return the newer and the older version meant. Raises MnemonError(NOT_FOUND)."""
    entity = entity_of(params.user_id)

    def named(number: int) -> CoreSummary:
        found = core_summaries.version(connection, entity, number)
        if found is None:
            raise _no_version(number)
        return found

    every = core_summaries.versions(connection, entity, core_summaries.MAX_VERSIONS)
    kept = [it for it in every if it.expired_at is None]
    newer = named(params.newer) if params.newer is not None else next(iter(kept), None)
    if newer is None:
        raise _no_version(None)
    if params.older is not None:
        return newer, named(params.older)
    older = next((it for it in kept if it.version < newer.version), None)
    if older is None:
        raise _no_version(None)
    return newer, older


def _no_version(number: int | None) -> MnemonError:
    which = "fewer than two versions of it" if number is None else f"no version {number} of it"
    return MnemonError(
        NOT_FOUND, f"there are {which}" if number is None else f"there is {which}",
        hint="`mnemonctl core history` lists the versions", outcome="rejected",
    )  # fmt: skip
