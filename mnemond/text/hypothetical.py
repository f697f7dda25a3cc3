"""Questions a memory could be the answer to, made without a model (spec 6.10, S2)."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from mnemond.text.cues import Reading, reading
from mnemond.text.resources import regex
from mnemond.text.statements import LONGEST_CLAUSE, first_clause, shortened

MAX_QUERIES = 2
"""Questions a memory gets unless the configuration says otherwise (spec 6.10)."""

LONGEST_QUERY = 300
"""Characters kept of a question that a model wrote."""

LONGEST_REPLY = 20_000
"""Characters of a model's reply that are read."""

TEMPLATES = {
    "problem-solution": (
        ("How do I fix {}?", "What causes {}?"),
        ("如何解决{}？", "{}是什么原因造成的？"),
    ),
    "learning-failure": (
        ("What should be avoided with {}?", "Why did {} fail?"),
        ("{}应该避免什么？", "{}为什么会失败？"),
    ),
}
"""English and Chinese questions of each trigger type that has any (spec 6.10)."""

_SMALL_INSIDE = ("The ", "A ", "An ", "Using ", "This ", "Our ", "My ")
"""Openings of a sentence that are written small inside a question."""

_LINE = regex(r"[\s*_>#-]{0,8}Q\d{1,2}[*_\s]{0,4}[:：][*_\s]{0,4}(.*)", re.IGNORECASE)
_HAN = regex("[\u3400-\u4dbf\u4e00-\u9fff]")

_WHO_AND_WHEN = r"(?:(?:we|i|they|it|user|team)\s+)?(?:(?:have|has|had|just|finally|also)\s+){0,2}"

_TELLING = regex(
    _WHO_AND_WHEN
    + r"(?:learned|learnt|reali[sz]ed|discovered|found out|found|figured out|noticed|turns out|turned out)(?:\s+|\Z)"
    r"(?:that\s+)?(?:the hard way\s+)?(?:that\s+)?",
    re.IGNORECASE,
)
_MENDING = regex(
    _WHO_AND_WHEN + r"(?:fixed|fixes|fix|solved|solve|resolved|resolve|worked around|work around|patched)(?:\s+|\Z)"
    r"|(?:已经|已|终于)?(?:修复|解决|修正)了?",
    re.IGNORECASE,
)
_AVOIDING = regex(
    r"(?:(?:always|please|you should|we should|should|better)\s+)?(?:avoid(?:\s+using)?|don['’]t use|do not use|"
    r"never use|don['’]t|do not|never|beware of)(?:\s+|\Z)(?:the\s+)?|(?:要|应该|应|尽量|请)?"
    r"(?:避免(?:使用)?|不要(?:使用|用)?|别用)",
    re.IGNORECASE,
)


class _Tail(msgspec.Struct, frozen=True):
    """Where a topic ends and what happened to it begins, in English and in Chinese."""

    english: re.Pattern[str]
    chinese: re.Pattern[str]


_MEANS = _Tail(
    regex(
        r"\s(?:by|via|with a|using|(?:was|were|is|got|can be) (?:fixed|solved|resolved)|(?:fixed|solved|resolved) by|"
        r"after (?:setting|adding|removing|upgrading|switching))\b",
        re.IGNORECASE,
    ),
    regex(r"[，,]?(?:通过|改用|用了|加上|改为)|(?:的问题)?(?:已|被)?(?:解决|修复)了?\Z"),
)
_FAILING = _Tail(
    regex(
        r"\s(?:(?:has|have|had|always|often|still|simply|just)\s)?(?:fail(?:s|ed|ing)?|"
        r"(?:did|does|do)(?:n['’]t| not) work|is(?:n['’]t| not) working|never work(?:s|ed)|no longer works|"
        r"stopped working|crash(?:es|ed)|broke|breaks|(?:should|must) be avoided|is a (?:pitfall|gotcha|dead end))\b",
        re.IGNORECASE,
    ),
    regex(r"(?:会|总是|都)?(?:失败|行不通|不起作用|不可行|没用|无效|不工作|走不通)"),
)
_REASON = _Tail(
    regex(r"\s(?:because|since|as it|when|due to|for)\b", re.IGNORECASE),
    regex(r"[，,]?因为"),
)


def hypothetical_queries(kind: str | None, text: str, *, most: int = MAX_QUERIES) -> tuple[str, ...]:
    """Up to `most` questions that `text` answers, from the templates of its trigger type; none without a topic."""
    templates = TEMPLATES.get(kind or "")
    if templates is None:
        return ()
    clause = first_clause(text, longest=2 * LONGEST_CLAUSE)
    topic = shortened(_problem(clause) if kind == "problem-solution" else _failed_topic(clause))
    if not topic:
        return ()
    english, chinese = templates
    return tuple(template.format(topic) for template in _language(topic, english, chinese)[: max(0, most)])


def parse_queries(reply: str, most: int = MAX_QUERIES) -> tuple[str, ...]:
    """The questions of a model's reply: lines that begin with "Q1:", "Q2:" and so on, at most `most`, no repeats."""
    questions: dict[str, str] = {}
    for line in reply[:LONGEST_REPLY].splitlines():
        match = _LINE.match(line)
        question = shortened(" ".join(match[1].split()).strip("\"'“”*_` "), LONGEST_QUERY) if match else ""
        if question and len(questions) < most:
            questions.setdefault(question.casefold(), question)
    return tuple(questions.values())


def _problem(clause: str) -> str:
    """What was wrong: the clause without "we fixed" before it and without the remedy after it."""
    return _without(_without(clause, _TELLING), _MENDING, _MEANS)


def _failed_topic(clause: str) -> str:
    """What failed: the clause without "learned to avoid" before it and without its failing after it."""
    topic = _without(clause, _TELLING)
    return _without(topic, _AVOIDING, _REASON if _AVOIDING.match(topic) else _FAILING)


def _without(clause: str, opening: re.Pattern[str], ending: _Tail | None = None) -> str:
    start = opening.match(clause)
    rest = clause[start.end() :] if start else clause
    tails = (ending.english, *(() if rest.isascii() else (ending.chinese,))) if ending else ()
    for tail in tails:
        end = tail.search(rest)
        rest = rest[: end.start()] if end and end.start() else rest
    rest = rest.strip(" ,，:：-—")
    return rest[0].lower() + rest[1:] if rest.startswith(_SMALL_INSIDE) else rest


def _language(topic: str, english: tuple[str, ...], chinese: tuple[str, ...]) -> tuple[str, ...]:
    return english if _HAN.search(topic) is None else chinese


# What made a memory worth writing: the five trigger types of spec 6.9 (S2).


TriggerType = Literal[
    "problem-solution", "positive-feedback", "corrective-feedback", "learning-success", "learning-failure"
]

USER_SOURCE = "user"
"""Only a person corrects; what a tool or a job writes with the same words is no feedback."""

LOOKED_AT = 2000
"""Characters of a text in which thanks are looked for: nobody thanks further down."""

_PRAISE_WITH_REASON = regex(
    r"(?:\b(?:thanks|thank you|thx|perfect|well done|(?:good|great) (?:job|work)|nice work|kudos|lgtm)\b"
    r"|👍|👏|💯|🙏|谢谢|感谢|多谢|太好了|太棒了|干得好|做得好|很好|赞)"
    r"[!！,，\s]{0,3}[^.!?。！？\n]{0,80}?"
    r"(?:\b(?:because|since|helped|saved (?:me|us)|exactly what|due to|(?:this|that) way"
    r"|for (?:the|your|that|this|[a-z]{1,15}ing)|(?:makes|made) (?:it|this|things))\b"
    r"|因为|由于|这样|帮了|帮我|正是|省了|解决了|让我)"
)
"""Thanks or a thumbs-up, and in the same breath what for. Slow, so it is tried only beside a word of praise."""

_IMPERATIVE = regex(
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
    repaired = read.has("fix")
    if repaired and read.has("error"):
        return "problem-solution"
    if read.has("praise") and _PRAISE_WITH_REASON.search(read.plain, 0, LOOKED_AT):
        return "positive-feedback"
    if source == USER_SOURCE and _corrects(read):
        return "corrective-feedback"
    failed = not repaired and read.has("failed")
    if read.has("works") or (read.has("realised") and not failed):
        return "learning-success"
    return "learning-failure" if failed else None


def trigger_text(kind: str, text: str) -> str:
    """The trigger of a memory: its type and its first clause of at most 120 characters, or the type alone."""
    clause = first_clause(text)
    return f"{kind}: {clause}" if clause else kind


def _corrects(read: Reading) -> bool:
    ordered = ("don't" in read.plain or "do not" in read.plain) and _IMPERATIVE.search(read.plain) is not None
    return ordered or read.has("correction")
