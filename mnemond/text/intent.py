"""What kind of answer a question wants, by counting its cues (spec 11.1)."""

from __future__ import annotations

import re
from typing import Literal

from mnemond.text.tokens import fold

Cued = Literal["WHY", "WHEN", "ENTITY"]

_ENGLISH: dict[Cued, tuple[str, ...]] = {
    "WHY": ("why", "reason", "reasons", "because", "cause", "caused", "causes", "motivation", "rationale", "how come"),
    "WHEN": ("when", "time", "date", "before", "after", "during", "since", "until", "timeline", "history"),
    "ENTITY": ("what is", "what are", "what's", "who is", "who's", "tell me about", "describe"),
}
_CHINESE: dict[Cued, tuple[str, ...]] = {
    "WHY": ("为什么", "為什麼", "原因", "理由", "为何", "為何"),
    "WHEN": ("什么时候", "什麼時候", "何时", "何時", "时间", "時間", "之前", "之后", "之後"),
    "ENTITY": ("是什么", "是什麼", "谁是", "誰是", "关于", "關於", "介绍", "介紹"),
}
"""The words of the specification, in simplified and in traditional characters."""

_KIND: dict[str, Cued] = {cue: kind for cues in (_ENGLISH, _CHINESE) for kind, words in cues.items() for cue in words}


def _whole_words(cue: str) -> str:
    """The left edge is looked at behind the first word: a pattern that begins with a letter is searched for faster."""
    first, *others = cue.split()
    return rf"{first}(?<![a-z0-9_]{first})" + "".join(rf"\s+{word}" for word in others) + "(?![a-z0-9_])"


_CUES = re.compile(
    "|".join(
        [_whole_words(cue) for cues in _ENGLISH.values() for cue in cues]
        + [cue for cues in _CHINESE.values() for cue in cues]
    )
)
"""Latin cues are whole words, also beside Han characters; Chinese ones stand anywhere."""

READ = 2_000
"""Characters of a question that are looked at: what it asks stands in its first sentences, and a pasted log asks
nothing."""


def intent_of(question: str) -> Literal["WHY", "WHEN", "ENTITY", "GENERAL"]:
    """The kind with the most cues; of equal ones WHY before WHEN before ENTITY. GENERAL when there is no cue."""
    counts = cue_counts(question)
    most = max(counts.values())
    if not most:
        return "GENERAL"
    return next(kind for kind, count in counts.items() if count == most)


def cue_counts(question: str) -> dict[Cued, int]:
    """How many cues of each kind a question has, in the order that settles ties."""
    counts: dict[Cued, int] = {"WHY": 0, "WHEN": 0, "ENTITY": 0}
    for found in _CUES.findall(fold(question[:READ]).replace("’", "'")):
        counts[_KIND[found] if found in _KIND else _KIND[" ".join(found.split())]] += 1
    return counts
