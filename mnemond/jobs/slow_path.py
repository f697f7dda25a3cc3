"""slow_path: look for causes, effects and things under two names near memories that are new.

Where a model is configured it names the relation of each pair, and the links that code admits are made, those of one
memory in one operation. Otherwise the rules propose links, which wait as reviews. No write waits for either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import msgspec

from mnemond.config.settings import Config
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.jobs.job import HOUR_S, Done, Job, Work
from mnemond.jobs.resolve import ModelDeps
from mnemond.llm.replies import UnreadableError
from mnemond.memory.questions.asking import Model
from mnemond.memory.questions.links import (
    Near,
    near,
    propose_found,
    propose_proposals,
    proposed,
    question,
)
from mnemond.model.memory import Insight
from mnemond.model.outcomes import Maintained
from mnemond.store import insights, meta
from mnemond.store.connection import Connection

NAME: Final = "slow_path"

FIRST_S: Final = 600.0
"""Seconds from the opening of a store to the first run: what was written before it was read by an earlier one."""

PORTION: Final = 20
"""Memories of one run, each a call of at most a thousand tokens: with a small model on two cores some two minutes."""


class SlowPath(Job):
    """Runs hourly, and once more while memories are left."""

    name = NAME
    summary = "causes, effects and things in common are looked for near new memories"
    first_s = FIRST_S
    interval_s = HOUR_S

    def __init__(self, config_of: Callable[[str], Config], means: ModelDeps) -> None:
        """`config_of` returns the settings of a store, by its name."""
        self._config_of = config_of
        self._means = means

    async def run(self, work: Work) -> Done:
        """Read new memories, the oldest first. A model that gives no answer is asked again in a later run."""
        config = self._config_of(work.store.name)
        graph = config.graph
        if graph.slow_path == "off":
            return Done("nothing", detail="graph.slow_path is off")
        found = await work.store.read(_unread)
        if work.dry_run:
            return work.done(len(found), "memories would be read")
        if not found:
            return Done("nothing")
        model = self._means.model if config.links_by_model else None
        linked, after, why = 0, None, ""
        for number, insight_id in found:
            around = await work.think(near, work.store.snapshot, insight_id, graph.causal)
            row = work.store.snapshot.row_of(insight_id)
            if row is not None and around:
                try:
                    linked += await self._linked(work, number, work.store.snapshot.insight(row), around, model)
                except UnreadableError:
                    pass  # the same question would get the same answer
                except MnemonError as error:
                    if error.kind is not UNAVAILABLE:
                        raise
                    why = f"; left for later: {error.message}"
                    break
            after = number
        what = "memories read for links" if model is not None else "memories read for links to propose"
        done = work.done(linked, f"{what}: {sum(number <= (after or 0) for number, _ in found)}{why}")
        await self._note(work, done, after)
        return msgspec.structs.replace(done, again=True) if len(found) == PORTION and not why else done

    async def _linked(self, work: Work, number: int, it: Insight, around: list[Near], model: Model | None) -> int:
        """Make, or propose, the links of one memory; return how many. Raises MnemonError."""
        if model is None:
            if asked := proposed(it, around):
                identity = self._means.identity(work.store.name, f"system:{NAME}")
                await work.store.write(propose_proposals(asked, number, identity))
            return len(asked)
        answered = await model.ask(question(it, around))
        identity = self._means.identity(work.store.name, f"system:llm:{answered.model[:80]}")
        proposal = propose_found(answered.value, number, answered.model, identity)
        return cast("Maintained", await work.store.write(proposal)).changed

    async def _note(self, work: Work, done: Done, after: int | None) -> None:
        """Record the run, and the memories that it read; those with links are recorded with them already."""
        facts = work.facts(done, work.seconds()) + (() if after is None else (meta.links_fact(after),))
        await work.store.rewrite(lambda connection: meta.note(connection, facts))


def _unread(connection: Connection) -> list[tuple[int, str]]:
    """Return the number and id of the oldest memories in recall that were not read yet. The first time these are the
    newest of the store: an old one is not read in bulk."""
    record = meta.read_record(connection, meta.LINKS_KEY, meta.LinksRecord)
    return insights.written_after(connection, None if record is None else record.after, PORTION)
