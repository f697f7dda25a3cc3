"""Briefs of a store: what a session begins with, and the core that MCP shows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import trio

from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.clock import Clock
from mnemond.hooks.prompt_text import Block, Part, PromptText, references
from mnemond.index.passages import PassageSnapshot
from mnemond.index.snapshot import Snapshot
from mnemond.memory.core_summary import entity_of
from mnemond.model.answers import InsightView, insight_view
from mnemond.model.core import CoreSummary
from mnemond.model.memory import Insight, Scope, project_parts
from mnemond.model.query import Filter
from mnemond.recall.brief import Selection, select
from mnemond.recall.core_text import shown
from mnemond.recall.session_outline import Outline, last_outline, outline
from mnemond.recall.standing import standing_instructions
from mnemond.text.prompt_escape import inert
from mnemond.text.resources import regex
from mnemond.wire.deferred import in_thread

CORE: Final = 20
"""Memories of a core."""

THREADS: Final = 1
"""Selections at once: 20 ms in a store of 100,000 memories."""


class Core(NamedTuple):
    """At most `CORE` memories, the most important first, and for their ids those of older ones they may contradict;
    before them the lines of the core summary, whose memories are not repeated."""

    memories: list[InsightView]
    against: Mapping[str, tuple[str, ...]]
    summary: Sequence[str] = ()


class Briefs:
    """Selects memories for the beginning of sessions. For the event loop's thread; awaits nothing but Deferreds."""

    def __init__(self, open_stores: OpenStores, clock: Clock) -> None:
        self._open_stores = open_stores
        self._clock = clock
        self._threads = trio.CapacityLimiter(THREADS)

    async def select(self, store: str | None, project: str | None = None) -> Selection:
        """Return the memories of a store (None: the active one) for a session in a project, by its id: those of the
        project and general ones; None: of all projects, "": general ones. Imported ones that wait are left out.

        Raises MnemonError if the store cannot be opened.
        """
        warm = await self._open_stores.use(store)
        wanted = self._wanted(project)
        without = warm.store.imports.at(self._clock.now_us())
        return await in_thread(select, warm.store.snapshot, wanted, wanted.now_us, without, limiter=self._threads)

    async def core(self, store: str | None, project: str | None = None) -> Core:
        """Return the memories that matter most; the newest if none is worth telling; with `project` as in `select`.

        Raises MnemonError.
        """
        warm = await self._open_stores.use(store)
        blocks = self.known(warm, project)
        told = {it.id for block in blocks for each in block.memories for it in each}
        summary = [line for block in blocks for line in block.lines]
        selected = await self.select(store, project)
        if found := selected.all():
            best = _by_importance([it for it in found if it.id not in told], selected.against)[:CORE]
            return Core([insight_view(it, project) for it in best], selected.against, summary)
        wanted = self._wanted(project)
        told |= warm.store.imports.at(self._clock.now_us())
        newest = warm.store.snapshot.newest(wanted, CORE + len(told))
        newest = [it for it in newest if it.id not in told][:CORE]
        return Core([insight_view(it, project) for it in _by_importance(newest, {})], {}, summary)

    @staticmethod
    def known(warm: OpenStore, project: str | None) -> list[Block]:
        """Return the core summary of the user of a store, whom sessions are of, for a session in a project."""
        if not warm.config.core_summary.enabled:
            return []
        return known_of_user(warm.store.core_summaries.get(entity_of(None)), warm.store.snapshot, project)

    def _wanted(self, project: str | None = None) -> Filter:
        now_us = self._clock.now_us()
        return Filter(scope=Scope(project=project), now_us=now_us, clock_us=now_us)


def _by_importance(memories: list[Insight], against: Mapping[str, tuple[str, ...]]) -> list[Insight]:
    """Order by importance, those that contradict each other as the most important of them."""
    importance = {it.id: it.importance for it in memories}
    for newer, older in against.items():
        both = [each for each in (newer, *older) if each in importance]
        importance.update(dict.fromkeys(both, max(importance[each] for each in both)))
    return sorted(memories, key=lambda it: -importance[it.id])


def parts(selected: Selection, project: str, about: Sequence[InsightView]) -> list[Part]:
    """Return the parts of a brief; `about`: memories about what is being done."""
    own = [it for it in selected.decisions if it.scope.project]
    general = [it for it in selected.decisions if not it.scope.project]
    return [
        Part("Instructions and preferences:", list(map(insight_view, selected.instructions))),
        Part("About what is being done:", about),
        Part(f"Decisions of {inert(project)}:" if project else "Decisions of projects:", list(map(insight_view, own))),
        Part("Decisions for every project:" if project else "Decisions:", list(map(insight_view, general))),
        Part("What else matters:", list(map(insight_view, selected.others))),
    ]


OUTCOME_SHARE: Final = 0.3
OPEN_SHARE: Final = 0.3
"""Parts of a brief for what came of a session and for what is open: in the usual 2,400 characters both have room."""


def last_session(passages: PassageSnapshot, project: str, session: str) -> list[Block]:
    """Return what came of the last session of a project (its id; "" for none) and what is open, in its own words.
    `session`: the one that begins, which does not count."""
    said, found = last_outline(passages, passages.of_project(project, without=session))
    if not said:
        return []
    name = f" of {inert(project_parts(project)[0])}" if project else ""
    return _outlined(found, f"Last session{name}, {said[-1].said_at[:10]} ({inert(said[-1].host)}):")


def conversation_so_far(passages: PassageSnapshot, project: str, session: str) -> list[Block]:
    """Return the same of a session itself, which was compacted, as far as it belongs to this project."""
    said = [passages.passage(row) for row in passages.of_conversation(session)]
    said = [it for it in said if it.project == project]
    return _outlined(outline(said), f"This session before, until {said[-1].said_at[:16]}:") if said else []


def _outlined(found: Outline, heading: str) -> list[Block]:
    blocks = [
        Block(heading, [f"- {each}" for each in found.outcome], OUTCOME_SHARE),
        Block(
            "Open then:" if found.outcome else f"{heading[:-1]}, open then:",
            [f"- {each}" for each in found.open],
            OPEN_SHARE,
        ),
    ]
    return [block for block in blocks if block.lines]


STANDING_SHARE: Final = 0.35
"""Part of a brief for what sounds like a standing instruction: eight sentences in the usual 2,400 characters."""

MAX_WITHDRAWN: Final = 400
"""Memories that were forgotten or replaced last, whose words no start quotes."""


def standing(
    passages: PassageSnapshot, project: str, told: Sequence[Insight], withdrawn: Sequence[str] = ()
) -> list[Block]:
    """Return what the user said in sessions of a project (its id; "" for none) that sounds like a standing instruction,
    in their words, without what the memories `told` say, or those that hold no more (`withdrawn`)."""
    found = standing_instructions(passages, passages.of_project(project), [it.content for it in told], withdrawn)
    name = f" of {inert(project_parts(project)[0])}" if project else ""
    refs = references([it.passage_id for it in found])
    marks = [f"<ref:{ref} {it.said_at[:10]}> " for ref, it in zip(refs, found, strict=True)]
    heading = f"Said by the user in sessions{name}, word for word:"
    return [Block(heading, [it.text for it in found], STANDING_SHARE, marks=marks)] if found else []


CORE_SHARE: Final = 0.2
"""Part of a brief for the core summary."""

_OF_USER: Final = regex(r"(?:the )?user(?:'s)?\b|I\b|my\b|(?:der |die )?nutzer|用户|我", re.IGNORECASE)
"""Beginnings of memories that are about the user."""


def known_of_user(core: CoreSummary | None, snapshot: Snapshot, project: str | None) -> list[Block]:
    """Return the core summary for a brief; none if no line of it holds. A text of a model says memories in its own
    words, so that they may be told beside it."""
    found = shown(core, snapshot, project)
    if core is None or not found.lines:
        return []
    if core.by_model and not found.left_out:
        return [Block(KNOWN, found.text.split("\n"), CORE_SHARE)]
    sources = [
        [row for source in line.sources if (row := snapshot.row_of(source.id)) is not None] for line in found.lines
    ]
    memories = [[insight_view(snapshot.insight(row)) for row in rows] for rows in sources]
    told = [
        (line.text, of)
        for line, of in zip(found.lines, memories, strict=True)
        if line.section in ("Preferences", "") or _OF_USER.match(line.text)
    ]
    return [Block(KNOWN, [text for text, _ in told], CORE_SHARE, [of for _, of in told])] if told else []


KNOWN: Final = "Known of the user:"


REASONS: Final = (
    "an instruction or a preference", "about what is being done", "a decision in force", "a decision in force",
    "worth knowing",
)  # fmt: skip
"""Why a memory is in a brief, by its part, in the order of `parts`."""


IN_SUMMARY: Final = "in the core summary"
"""Why a memory is in a brief that a line of the core summary says."""


def reasons(parts: Sequence[Part], rendered: PromptText) -> list[str]:
    """Return for each memory of a brief why it is there: by its block, or by the first part that has it."""
    by_part = list(zip(parts, REASONS, strict=False))
    why = {it.id: reason for part, reason in reversed(by_part) for it in part.memories}
    return [IN_SUMMARY] * rendered.in_blocks + [why[it.id] for it in rendered.shown[rendered.in_blocks :]]
