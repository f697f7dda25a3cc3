"""How things were: for a question that asks for a former state, the memories whose place was taken.

Memories that were replaced are not in the index. A result is what holds now; of the chain that it ended, the memory
that held at the time that the question asks for is put above it, with the date until which it held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from mnemond.index.columns import valid_us
from mnemond.model.answers import FormerState
from mnemond.model.memory import Insight, parse_rfc3339
from mnemond.model.query import Filter, Hit, Recalled
from mnemond.recall.archive import admits
from mnemond.recall.corrections import Asked
from mnemond.recall.question import MAX_ANALYSED
from mnemond.store import insights
from mnemond.store.connection import Connection
from mnemond.text.question_time import asks_former, asks_state
from mnemond.text.tokens import index_terms

MAX_RESULTS: Final = 5
"""Best results whose predecessors are looked up."""

MAX_CHAIN: Final = 20
"""Predecessors of one result."""

VIA: Final = "former"
"""Signal of a result that was found as what held before another one."""


def asked_former(found: Recalled, text: str, now_us: int | None) -> Asked | None:
    """Return which former state a question asks for, by its words or by a time that is over; None if it asks for none.
    `found`: its results, with the window of time that it names."""
    text, window = text[:MAX_ANALYSED], found.meta.window
    former = asks_former(text)
    if window is not None and now_us is not None and former != "first":
        until_us = parse_rfc3339(window.until)
        if until_us <= now_us and not asks_state(text, at_past_time=True):
            return Asked(until_us=until_us)
    return None if former is None else Asked(of_state=True, former=former)


def replaced(connection: Connection, hits: Sequence[Hit], wanted: Filter) -> dict[str, list[Insight]]:
    """Return for the best of `hits` the visible memories whose place they took, directly or not, the oldest first."""
    seen = msgspec.structs.replace(wanted, status="superseded", include_invalid=True, window=None)
    found: dict[str, list[Insight]] = {}
    for hit in hits[:MAX_RESULTS]:
        before = (
            insights.read(connection, each) for each in insights.predecessors(connection, hit.insight.id, MAX_CHAIN)
        )
        chain = [it for it in before if it is not None and admits(seen, it)]
        if chain:
            found[hit.insight.id] = sorted(chain, key=lambda it: (_since_us(it), it.id))
    return found


def with_former(
    hits: Sequence[Hit], chains: Mapping[str, Sequence[Insight]], asked: Asked, limit: int
) -> tuple[Hit, ...]:
    """Return at most `limit` results, each with what held at the time asked for above it."""
    known = {hit.insight.id for hit in hits}
    found: list[Hit] = []
    for hit in hits:
        it = hit.insight
        chain = [each for each in chains.get(it.id, ()) if _says_more(each, it) and each.id not in known]
        held = _held(chain, it, asked)
        if held is not None:
            after = next((each for each in chain if _since_us(each) > _since_us(held)), it)
            until = held.invalid_at or after.valid_from or after.created_at
            found.append(Hit(held, hit.score, hit.confidence, (VIA,), hit.signals, former=FormerState(until, it.id)))
            known.add(held.id)
        found.append(hit)
    return tuple(found[:limit])


def _held(chain: Sequence[Insight], current: Insight, asked: Asked) -> Insight | None:
    """Return the memory of a chain, the oldest first, that held at the time asked for; None if that is the current
    one."""
    if not chain:
        return None
    if asked.former is not None:
        return chain[0] if asked.former == "first" else chain[-1]
    if asked.until_us is None or _since_us(current) < asked.until_us:
        return None
    begun = [each for each in chain if _since_us(each) < asked.until_us]
    return begun[-1] if begun else None


def _says_more(old: Insight, new: Insight) -> bool:
    """Return True if the older memory has a word that the newer one lacks: a copy in other words is no former state."""
    return not set(index_terms(old.content)) <= set(index_terms(new.content))


def _since_us(it: Insight) -> int:
    return valid_us(it, parse_rfc3339(it.created_at))
