"""core_summary: make the core summary of a user anew after every ten new memories, or on request.

The text comes from the rules, or from the model where `core_summary.engine` says so; without an answer that can be used
the version of the rules is kept, with the reason. A version that a person gave is replaced on request alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, Literal, cast

import msgspec

from mnemond.config.settings import Config
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.jobs.job import Done, Job, Think, Work, in_steps
from mnemond.memory.core_summary import Draft, entity_of, is_due, propose
from mnemond.memory.questions.asking import Model
from mnemond.memory.write import WriteContext
from mnemond.model.outcomes import CoreResult
from mnemond.recall.core_text import drafted, question, users_of
from mnemond.store import core_summaries
from mnemond.store.connection import Connection
from mnemond.store.store import Store

NAME: Final = "core_summary"

INTERVAL_S: Final = 60.0
"""Seconds between two looks for new memories. Without a new memory in the store a look reads one number."""

PORTION: Final = 8
"""Users of one run, so that other jobs have their turn."""


class CoreDeps(msgspec.Struct, frozen=True):
    """The dependencies of the job: the settings of a store, by its name; write contexts; and the
    model, None if the rules write."""

    config: Callable[[str], Config]
    identity: Callable[[str, str], WriteContext]
    model: Model | None = None


async def made(store: Store, user: str | None, means: CoreDeps, now_us: int, think: Think) -> Draft:
    """Return a new version for a user, which is not stored. Raises MnemonError if the store cannot be read."""
    config = means.config(store.name)
    upto = await store.read(core_summaries.last_number)
    boosted = await store.read(core_summaries.boosted)
    snapshot = store.snapshot
    steps: Generator[None, None, Draft] = drafted(snapshot, user, config.core_summary, boosted, now_us)
    draft = msgspec.structs.replace(await in_steps(steps, think), upto=upto)
    if config.core_summary.engine != "llm" or not draft.lines:
        return draft
    if means.model is None:
        return msgspec.structs.replace(draft, reason="no model is configured")
    before = store.core_summaries.get(entity_of(user))
    asked = await think(question, draft, before, snapshot, config.core_summary.max_words)
    try:
        answered = await means.model.ask(asked)
    except MnemonError as error:
        if error.kind is not UNAVAILABLE:
            raise
        return msgspec.structs.replace(draft, reason=error.message)
    text, reason = answered.value
    if not text:
        return msgspec.structs.replace(draft, reason=reason)
    return msgspec.structs.replace(draft, text=text, generator=answered.model)


async def stored(
    store: Store, draft: Draft, identity: WriteContext, method: Literal["core.update", "jobs"]
) -> CoreResult:
    """Write a version; if the current one says the same, only note what it considered. Raises MnemonError."""
    result = cast("CoreResult", await store.write(propose(draft, identity, method)))
    if result.status == "unchanged" and not result.replayed:
        await store.rewrite(lambda it: core_summaries.considered(it, entity_of(draft.user), draft.upto))
    return result


class CoreSummaries(Job):
    """Looks every minute for users with new memories. Runs that find none are not recorded."""

    name = NAME
    summary = "what is known of each user is summed up, after every ten memories"
    first_s = INTERVAL_S
    interval_s = INTERVAL_S

    def __init__(self, means: CoreDeps) -> None:
        self._means = means
        self._looked: dict[str, int] = {}  # by store, the last memory at a look that found nothing due

    async def run(self, work: Work) -> Done:
        """Make the summaries that are due, on request those of all users, first of those with most new memories."""
        store = work.store
        settings = self._means.config(store.name).core_summary
        if not settings.enabled and not work.asked:
            return Done("nothing", detail="core_summary.enabled is false")
        last = await store.read(core_summaries.last_number)
        if self._looked.get(store.name) == last and not work.asked:
            return Done("nothing")
        due = await self._due(work, 0 if work.asked else settings.update_frequency)
        if work.dry_run:
            return work.done(len(due), "users whose core summary would be made")
        self._looked.pop(store.name, None)
        written, why = 0, ""
        for user in due[:PORTION]:
            draft = await made(store, user, self._means, work.now_us, work.think)
            identity = self._means.identity(store.name, f"system:{NAME}")
            result = await stored(store, draft, identity, "jobs")
            written += result.status != "unchanged"
            why = why or result.reason
        if len(due) <= PORTION:
            self._looked[store.name] = last
        if not written:
            return work.done(0)
        done = await work.note(work.done(written, f"by the rules: {why}" if why else ""))
        return msgspec.structs.replace(done, again=len(due) > PORTION)

    async def _due(self, work: Work, every: int) -> list[str | None]:
        """Return the users whose summary is to be made, those with most new memories first."""
        store = work.store
        current = store.core_summaries
        users = [each for each in users_of(store.snapshot) if entity_of(each) in current]
        new = [each for each in users_of(store.snapshot) if entity_of(each) not in current]
        users += new[: max(0, core_summaries.MAX_USERS - len(current))]
        seen = {each: it.upto if (it := current.get(entity_of(each))) is not None else 0 for each in users}

        def counted(connection: Connection) -> dict[str | None, int]:
            return core_summaries.count_new(connection, seen)

        found: dict[str | None, int] = await store.read(counted)
        due = [each for each in users if is_due(current.get(entity_of(each)), found.get(each, 0), every)]
        return sorted(due, key=lambda each: -found.get(each, 0))
