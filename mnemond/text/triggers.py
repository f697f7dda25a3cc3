"""What made a memory worth writing: the five trigger types of spec 6.9 (S2)."""

from __future__ import annotations

import re
from typing import Literal

from mnemond.text.clauses import first_clause
from mnemond.text.cue_words import CORRECTION, ERROR, FAILED, FIX, PRAISE, REALISED, WORKS, Reading, found, reading

TriggerType = Literal[
    "problem-solution", "positive-feedback", "corrective-feedback", "learning-success", "learning-failure"
]

USER_SOURCE = "user"
"""Only a person corrects; what a tool or a job writes with the same words is no feedback."""

LOOKED_AT = 2000
"""Characters of a text in which thanks are looked for: nobody thanks further down."""

_PRAISE_WITH_REASON = re.compile(
    r"(?:\b(?:thanks|thank you|thx|perfect|well done|(?:good|great) (?:job|work)|nice work|kudos|lgtm)\b"
    r"|👍|👏|💯|🙏|谢谢|感谢|多谢|太好了|太棒了|干得好|做得好|很好|赞)"
    r"[!！,，\s]{0,3}[^.!?。！？\n]{0,80}?"
    r"(?:\b(?:because|since|helped|saved (?:me|us)|exactly what|due to|(?:this|that) way"
    r"|for (?:the|your|that|this|[a-z]{1,15}ing)|(?:makes|made) (?:it|this|things))\b"
    r"|因为|由于|这样|帮了|帮我|正是|省了|解决了|让我)"
)
"""Thanks or a thumbs-up, and in the same breath what for. Slow, so it is tried only beside a word of praise."""

_IMPERATIVE = re.compile(
    r"(?:\A|[.!?;:,\n()（。，！；：—-]\s{0,3}|\b(?:please|so|and|but|then|just|or|also|said|again|no)\s)"
    r"(?:don't|do not)\b"
    r"(?! (?:let|forget|stop|quit|give up|worry|hesitate|wait|miss|know|mind|get me wrong|be afraid)\b)"
)
"""An order not to do something. "I don't know" is none: there somebody speaks of himself."""


def trigger_type(text: str, source: str = USER_SOURCE) -> TriggerType | None:
    """The trigger type of `text`, the first that fits in the order of spec 6.9, or None.

    Where a text both learns and fails, what was learned is the failure, unless it goes on to say what works.
    """
    read = reading(text)
    repaired = found(FIX, read)
    if repaired and found(ERROR, read):
        return "problem-solution"
    if found(PRAISE, read) and _PRAISE_WITH_REASON.search(read.plain, 0, LOOKED_AT):
        return "positive-feedback"
    if source == USER_SOURCE and _corrects(read):
        return "corrective-feedback"
    failed = not repaired and found(FAILED, read)
    if found(WORKS, read) or (found(REALISED, read) and not failed):
        return "learning-success"
    return "learning-failure" if failed else None


def trigger_text(kind: str, text: str) -> str:
    """The trigger of a memory: its type and its first clause of at most 120 characters, or the type alone."""
    clause = first_clause(text)
    return f"{kind}: {clause}" if clause else kind


def _corrects(read: Reading) -> bool:
    ordered = ("don't" in read.plain or "do not" in read.plain) and _IMPERATIVE.search(read.plain) is not None
    return ordered or found(CORRECTION, read)
