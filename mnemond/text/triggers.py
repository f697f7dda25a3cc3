"""What made a memory worth writing: the five trigger types of spec 6.9 (S2)."""

from __future__ import annotations

import re
from typing import Literal

from mnemond.text.clauses import first_clause
from mnemond.text.cue_words import ERROR, FIX, WORKS, Cue, Reading, found, reading, words_of

TriggerType = Literal[
    "problem-solution", "positive-feedback", "corrective-feedback", "learning-success", "learning-failure"
]

USER_SOURCE = "user"
"""Only a person corrects; what a tool or a job writes with the same words is no feedback."""

LOOKED_AT = 2000
"""Characters of a text in which thanks are looked for: nobody thanks further down."""

_PRAISE = Cue(
    words_of("thanks thank thx perfect kudos lgtm done job work"),
    chinese=("👍", "👏", "💯", "🙏", "谢", "好", "棒", "赞"),
)
_PRAISE_WITH_REASON = re.compile(
    r"(?:\b(?:thanks|thank you|thx|perfect|well done|(?:good|great) (?:job|work)|nice work|kudos|lgtm)\b"
    r"|👍|👏|💯|🙏|谢谢|感谢|多谢|太好了|太棒了|干得好|做得好|很好|赞)"
    r"[!！,，\s]{0,3}[^.!?。！？\n]{0,80}?"
    r"(?:\b(?:because|since|helped|saved (?:me|us)|exactly what|due to|(?:this|that) way"
    r"|for (?:the|your|that|this|[a-z]{1,15}ing)|(?:makes|made) (?:it|this|things))\b"
    r"|因为|由于|这样|帮了|帮我|正是|省了|解决了|让我)"
)
"""Thanks or a thumbs-up, and in the same breath what for. Slow, so it is tried only beside a word of praise."""

_CORRECTION = Cue(
    words_of("wrong incorrect instead mistaken"),
    ("actually", "that's not", "not what i", "you should have", "i meant", "stop using", "rather than"),
    ("其实", "不对", "错了", "不是这样", "应该是", "不要", "别用", "别再", "而不是", "改成", "纠正", "搞错"),
    unless=(
        "went wrong",
        "goes wrong",
        "go wrong",
        "what's wrong",
        "nothing wrong",
        "wrong with",
        "i actually",
        "i'm actually",
        "we actually",
        "did actually",
        "do actually",
        "is actually working",
    ),
)
_REALISED = Cue(
    words_of("learned learnt realised realized discovered"),
    ("turns out", "turned out", "found out", "figured out", "lesson"),
    (
        "学到",
        "学会",
        "原来是",
        "原来要",
        "原来需要",
        "才发现",
        "后来发现",
        "结果发现",
        "我发现",
        "发现原来",
        "明白了",
        "搞懂",
        "结果表明",
    ),
    unless=("learned about", "machine learned"),
)
_FAILED = Cue(
    words_of("failed fails failure avoid avoids avoided pitfall pitfalls gotcha gotchas footgun antipattern"),
    (
        "n't work",
        "not work",
        "never work",
        "no longer works",
        "not working",
        "nothing works",
        "nothing worked",
        "dead end",
        "stopped working",
    ),
    ("不起作用", "没用", "失败", "避免", "踩坑", "陷阱", "行不通", "不可行", "无效", "不工作", "走不通", "别用"),
    unless=("never fails", "never failed", "没用过", "没用到"),
)

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
    if found(_PRAISE, read) and _PRAISE_WITH_REASON.search(read.plain, 0, LOOKED_AT):
        return "positive-feedback"
    if source == USER_SOURCE and _corrects(read):
        return "corrective-feedback"
    failed = not repaired and found(_FAILED, read)
    if found(WORKS, read) or (found(_REALISED, read) and not failed):
        return "learning-success"
    return "learning-failure" if failed else None


def trigger_text(kind: str, text: str) -> str:
    """The trigger of a memory: its type and its first clause of at most 120 characters, or the type alone."""
    clause = first_clause(text)
    return f"{kind}: {clause}" if clause else kind


def _corrects(read: Reading) -> bool:
    ordered = ("don't" in read.plain or "do not" in read.plain) and _IMPERATIVE.search(read.plain) is not None
    return ordered or found(_CORRECTION, read)
