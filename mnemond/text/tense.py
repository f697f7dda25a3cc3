"""The tense of a sentence, as far as it decides which March or which Friday is meant."""

from __future__ import annotations

import re
from typing import Literal

from mnemond.text.resources import regex

Tense = Literal["past", "future"]

_MAX_SIDE = 100
"""Characters on either side that are searched: a sentence of ordinary length."""

_SENTENCE_END = regex(r"[!?;\n。！？；]|\.(?=\s|$)")
_CUE = regex(
    r"\b(?P<future>will|shall|won't|gonna|going\s+to|plan(?:s|ned|ning)?\s+(?:to|on|for)|hop(?:e|es|ing)\s+to|intends?\s+to"
    r"|wants?\s+to|about\s+to|scheduled|upcoming|due|expects?|looking\s+forward|can't\s+wait)\b|(?P<will>(?:'|’)ll)\b"
    r"|\b(?P<past>was|were|had|did|didn't|went|got|made|saw|took|came|met|said|told|began|bought|built|found|gave|left"
    r"|lost|ran|sent|spent|won|wrote|became|broke|chose|felt|held|kept|paid|sold|taught|fell"
    r"|(?<!\bis\s)(?<!\bare\s)(?<!\bbe\s)(?<!\bbeing\s)[a-z]{2,20}ed)\b"
    "|(?P<chinese_future>将|會|会|要|打算|计划|計劃|准备|準備)|(?P<chinese_past>了|过|過)"
)


def tense(folded: str, start: int, end: int) -> Tense | None:
    """The tense nearest before `folded[start:end]` in its sentence, else the first one after it, else None."""
    before = _SENTENCE_END.split(folded[max(0, start - _MAX_SIDE) : start])[-1]
    cues = list(_CUE.finditer(before))
    if cues:
        return _kind(cues[-1])
    after = _SENTENCE_END.split(folded[end : end + _MAX_SIDE], maxsplit=1)[0]
    found = _CUE.search(after)
    return None if found is None else _kind(found)


def _kind(cue: re.Match[str]) -> Tense:
    return "past" if (cue.lastgroup or "").endswith("past") else "future"
