"""What a prompt, a task or a summary brings up: a few memories that surely belong to it, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
import trio

from mnemond.handlers.agent_place import Place
from mnemond.handlers.agent_sessions import AgentSession
from mnemond.handlers.agent_texts import brought_up
from mnemond.handlers.door import StoreDoor, settle
from mnemond.handlers.uses import Uses
from mnemond.hook_settings import Hooks
from mnemond.pipelines.use import is_used
from mnemond.protocol.memories import RecallHit, RecallResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Invoke
from mnemond.text.questions import questions
from mnemond.text.wrapped import asked

MORE: Final = 15
"""Results that are asked for beyond those that may be shown: some may have been shown before."""

LEVELS: Final = ("low", "medium", "high")
"""Confidences, the lowest first."""


class AgentRecall:
    """Searches, and counts as used what was shown in time."""

    def __init__(
        self,
        invoke: Invoke,
        door: StoreDoor,
        uses: Uses,
        nonce: Callable[[], str],
        stopwatch: Callable[[], float],
        within_s: float,
    ) -> None:
        """`invoke` runs a method; `nonce` draws what no memory can know; `within_s` is how long a hook waits."""
        self._invoke = invoke
        self._door = door
        self._uses = uses
        self._nonce = nonce
        self._stopwatch = stopwatch
        self._within_s = within_s

    def go_by(self, within_s: float) -> None:
        """So long does a hook wait from now on."""
        self._within_s = within_s

    def now_s(self) -> float:
        """Seconds on the stopwatch, for `is_in_time`."""
        return self._stopwatch()

    def is_in_time(self, begun_s: float) -> bool:
        """Whether a hook that was asked then still waits for what it is told."""
        return self._stopwatch() - begun_s < self._within_s

    async def about(self, text: str, place: Place, session: AgentSession, settings: Hooks, call: Call) -> str:
        """What `session` is told about a text, as `typed`: empty where nothing surely belongs to it, or it was told
        already. Raises MnemonError."""
        begun_s = self._stopwatch()
        new = chosen(await self._found(text, place, settings, call), session, settings)
        told = brought_up(new, self._nonce(), settings.max_characters)
        if told.text and self.is_in_time(begun_s):
            session.saw((it.id, it.updated_at) for it in told.shown)
            self._count(place, new[: len(told.shown)])
        return told.text

    async def hits(self, text: str, place: Place, settings: Hooks, call: Call) -> list[RecallHit]:
        """The same as results, whatever was shown before. Raises MnemonError."""
        return chosen(await self._found(text, place, settings, call), AgentSession(), settings)

    async def _found(self, text: str, place: Place, settings: Hooks, call: Call) -> list[RecallHit]:
        """What the sentences of a text find, each memory once, best first. Others have their turn between two."""
        best: dict[str, RecallHit] = {}
        for query in questions(asked(text)) if settings.prompt_results else ():
            found = await settle(self._invoke("recall", _params(query, place, settings.prompt_results + MORE), call))
            assert isinstance(found, RecallResult)  # noqa: S101
            for hit in found.results:
                if hit.insight.id not in best or _rank(hit) > _rank(best[hit.insight.id]):
                    best[hit.insight.id] = hit
            await trio.lowlevel.checkpoint()
        return sorted(best.values(), key=_rank, reverse=True)

    def _count(self, place: Place, shown: list[RecallHit]) -> None:
        """They were of use, as far as the store says that such results are."""
        warm = self._door.warm(place.store)
        if warm is not None:
            touch = warm.reading.touch
            used = [hit for hit in shown if is_used(hit.score, hit.via_all, hit.confidence, touch)]
            self._uses.note(warm, [hit.insight.id for hit in used])


def _rank(hit: RecallHit) -> tuple[int, float]:
    return LEVELS.index(hit.confidence), hit.score


def chosen(hits: list[RecallHit], session: AgentSession, settings: Hooks) -> list[RecallHit]:
    """Those that are sure enough and new to the session, as many as a prompt may bring up, best first."""
    least = LEVELS.index(settings.min_confidence)
    sure = (hit for hit in hits if LEVELS.index(hit.confidence) >= least)
    new = [hit for hit in sure if not session.has_seen(hit.insight.id, hit.insight.updated_at)]
    return new[: settings.prompt_results]


def _params(query: str, place: Place, limit: int) -> bytes:
    """Nothing is counted by the recall itself: more is found than shown."""
    return msgspec.json.encode({"query": query, "limit": limit, "store": place.store, "touch": False})
