"""Links from cause to effect: to recent rows that share words with a memory, where one of the two gives a reason."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from mnemond.graph.surroundings import Around, Newcomer
from mnemond.model.edge import Relation
from mnemond.model.insight import Insight
from mnemond.model.policy import GraphPolicy
from mnemond.text.causal_cues import CausalCue, causal_cue, deciding, direction
from mnemond.text.similarity import share_of_larger, token_set

CONFLICTING_SHARE = 0.5
"""What is left of the weight when the cause is later than its effect (spec 6.4)."""

OVERLAP_DIGITS = 6
"""Decimals of the overlap that is written down."""

REMEMBERED_CUES = 1024
"""Rows whose cue is known without reading them again; the same few stand behind write after write."""

_cues: dict[tuple[str, int], CausalCue | None] = {}
"""By id and hash of the content, so that no text is kept."""


def build(new: Newcomer, around: Around, policy: GraphPolicy) -> list[Relation]:
    """One row from cause to effect for each of the newest rows that shares enough words with `new`.

    The newcomer's own reason decides which of the two is the cause, else that of the other row; without any, no edge.
    """
    _remember(new.id, new.content, new.cue)
    found: list[Relation] = []
    for insight, event_us in around.recent(policy.causal.lookback):
        if new.cue is None and cue_of(insight) is None:
            continue  # as most: told by one look-up, where what they share is counted word by word
        shared = share_of_larger(token_set(insight.content), new.tokens)
        if shared >= policy.causal.min_overlap and insight.id != new.id:
            relation = _relation(new, insight, event_us, shared)
            if relation is not None:
                found.append(relation)
    return found


def _relation(new: Newcomer, insight: Insight, event_us: int | None, shared: float) -> Relation | None:
    previous = cue_of(insight) if new.cue is None else None
    cue = deciding(new.cue, previous)
    if cue is None:
        return None
    is_cause = direction(new.cue, previous) == "new_to_previous"
    conflict = _later(new.event_us, event_us) if is_cause else _later(event_us, new.event_us)
    weight = shared * CONFLICTING_SHARE if conflict else shared
    metadata = _metadata(shared, cue, conflict)
    return Relation(
        insight.id, "causal", weight, there=metadata if is_cause else None, back=None if is_cause else metadata
    )


def _later(cause_us: int | None, effect_us: int | None) -> bool:
    return cause_us is not None and effect_us is not None and cause_us > effect_us


def cue_of(insight: Insight) -> CausalCue | None:
    """The causal cue of a stored memory, from what is remembered of the rows that were asked for lately."""
    try:
        return _cues[insight.id, hash(insight.content)]
    except KeyError:
        return _remember(insight.id, insight.content, causal_cue(insight.content))


def _remember(row: str, content: str, cue: CausalCue | None) -> CausalCue | None:
    if len(_cues) >= REMEMBERED_CUES:
        _cues.clear()
    _cues[row, hash(content)] = cue
    return cue


def forget_cached() -> None:
    """Let go of every remembered cue, so that nothing of a purged memory stays."""
    _cues.clear()
    _reason.cache_clear()


def _metadata(shared: float, cue: CausalCue, conflict: bool) -> str:
    """The fields of spec 8; `time_conflict` is there only when there is one."""
    flag = ',"time_conflict":true' if conflict else ""
    return f'{{"overlap":{round(shared, OVERLAP_DIGITS)},{_reason(cue)},"created_by":"auto"{flag}}}'


@lru_cache(maxsize=REMEMBERED_CUES)
def _reason(cue: CausalCue) -> str:
    return f'"sub_type":"{cue.sub_type}","signal":{msgspec.json.encode(cue.signal).decode()}'
