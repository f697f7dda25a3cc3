"""gates: let a model read new memories for what the rules may have missed, where a setting says so.

One memory after the other, the newest first: a few questions, then one write. The store is free between two questions,
and a write waits for none of them. A model that is away, or a daily maximum, leaves the rest for later.
"""

from __future__ import annotations

from typing import Final, cast

import trio

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.jobs.extract import ExtractionContext
from mnemond.jobs.job import HOUR_S, Done, Job, Work
from mnemond.jobs.resolve import ModelDeps
from mnemond.llm.replies import UnreadableError
from mnemond.memory.core_summary import entity_of
from mnemond.memory.questions import memories
from mnemond.memory.questions.asking import Model
from mnemond.memory.questions.memories import BY, Found
from mnemond.model.memory import Insight
from mnemond.model.outcomes import Maintained
from mnemond.recall.core_text import shown
from mnemond.store import history

NAME: Final = "gates"

INTERVAL_S: Final = 60.0
"""Seconds between two runs where a model is configured: so long a new memory waits for it, at most."""

PORTION: Final = 8
"""Memories of one run, so that other jobs have their turn: with a small model on two cores about two minutes."""

EXAMINED: Final = 400
"""Memories that one run may find not worth a question, some 20 ms of CPU time."""

REST_S: Final = 600.0
"""Seconds before a model that gave no answer is asked about memories again."""


class ReadMemories(Job):
    """Runs every minute where a model is configured. Runs that do nothing are not recorded."""

    name = NAME
    summary = "a model reads new memories for names, questions and cues, where one is configured"

    def __init__(self, means: ModelDeps) -> None:
        self.interval_s = HOUR_S if means.model is None else INTERVAL_S
        self._means = means
        self._passed: dict[str, dict[str, str | None]] = {}  # by store, memories not worth a question, by id
        self._rests_until = 0.0

    async def run(self, work: Work) -> Done:
        """Ask about memories that were not asked about; on request also soon after a failure."""
        desk, model = await self._means.desk(work.store.name), self._means.model
        settings = desk.rules.config.commitment
        if not settings.read_by_model():
            return Done("nothing", detail='no setting `engine` of commitment is "llm"')
        if model is None:
            return Done("nothing", detail="no model is configured: the rules alone read memories")
        if not work.asked and trio.current_time() < self._rests_until:
            return Done("nothing", detail="the model gave no answer a while ago")
        passed = self._passed.setdefault(work.store.name, {})
        passed.update(dict.fromkeys(await work.store.read(lambda it: history.taken_back(it, BY))))
        found = await work.think(memories.unread, work.store.snapshot, settings, EXAMINED, passed)
        if work.dry_run:
            return work.done(len(found), "memories would be read, at most")
        changed, why = 0, ""
        for it in found:
            if changed == PORTION:
                break
            if why := model.busy() or "":
                break
            try:
                changed += await self._one(work, desk, it, model, passed)
            except MnemonError as error:
                if error.kind is not UNAVAILABLE:
                    raise
                self._rests_until, why = trio.current_time() + REST_S, error.message
                break
        done = work.done(changed, f"left to the rules: {why}" if why else "")
        return await work.note(done) if changed else done

    async def _one(
        self, work: Work, desk: ExtractionContext, it: Insight, model: Model, passed: dict[str, str | None]
    ) -> bool:
        """Ask about a memory and write what is accepted; return False if nothing is to be asked. Raises MnemonError."""
        config = desk.rules.config
        core = work.store.core_summaries.get(entity_of(it.scope.user_id))
        known = (await work.think(shown, core, work.store.snapshot, it.scope.project, (it.id,))).text
        found = begun = memories.begun(it, config.commitment)
        while (asked := memories.next_question(it, found, config, known)) is not None:
            gate, question = asked
            try:
                answered = await model.ask(question)
            except UnreadableError as error:
                found = found.left(gate, error.message)
            else:
                found = answered.value.by(gate, answered.prompt)
        if found is begun and memories.ORDERS not in found.told.values():
            passed[it.id] = memories.digest(it.content)
            return False
        return await self._written(work, desk, it, found, model)

    async def _written(self, work: Work, desk: ExtractionContext, it: Insight, found: Found, model: Model) -> bool:
        identity = self._means.identity(work.store.name, f"{BY}{model.reader.model[:80]}")
        outcome = await work.store.write(memories.propose(it, found, model.reader.model, identity, desk.rules))
        if found.cues and desk.embedder is not None:
            desk.missing()
        return bool(cast("Maintained", outcome).changed)
