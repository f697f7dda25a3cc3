"""Trigger types, which say why a memory was written, and questions it could be the answer to, made without a model."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from mnemond.text.cues import Reading, reading
from mnemond.text.resources import on_first_use, one_of, read, regex

# ---------------------------------------------------------------- first clauses

MAX_CLAUSE = 120
"""Characters of a first clause."""

_MAX_BEGINNING = 400
"""Characters of a text that are searched for its first clause."""

_LABEL = regex(
    r"(?:[-*+•#>\s]|\[[ xX]\]|\*\*|(?:user|assistant|note|problem|bug|issue|error|symptom|learned|learning|lesson|til|"
    r"pitfall|gotcha|warning|tip|fix|fixed|solution|用户|助手|问题|错误|现象|教训|经验|学到|注意|踩坑|坑|解决)"
    r"(?:\*\*)?\s{0,3}[:：])+\s*",
    re.IGNORECASE,
)
_CLAUSE_END = regex(
    r"[.!?;。！？；\n ,，](?:"  # one set of characters first: the search skips to them
    r"(?<=[;。！？；\n])"
    r"|(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?=[\s\"'”’)]|\Z)"
    r"|(?<= )(?:[-–—]{1,2}|→|->|=>)\s"
    r"|(?<=[,，])\s{0,3}(?:(?:and|but|so|fixed|fix|solved|resolved|which|because|since|the fix|workaround|instead|"
    r"until|now)\b|解决|修复|修好|通过|所以|因此|但|后来|原因|改用|改成|于是|因为|最后))",
    re.IGNORECASE,
)


def first_clause(text: str, longest: int = MAX_CLAUSE) -> str:
    """The first clause of `text`, on one line, without list marks, labels and closing punctuation; "" if there is none.

    At most `longest` characters, cut between words where there are any, the last one then an ellipsis.
    """
    start = text[:_MAX_BEGINNING].strip()
    labels = _LABEL.match(start)
    body = start[labels.end() :] if labels else start
    end = _CLAUSE_END.search(body)
    clause = body[: end.start()] if end and end.start() else body
    return shortened(" ".join(clause.split()).strip(" \"'“”‘’`*_()（）「」.,;:!?。，；：！？"), longest)


def shortened(line: str, longest: int = MAX_CLAUSE) -> str:
    """`line` if it fits into `longest` characters (1 or more), else its beginning and an ellipsis."""
    if len(line) <= longest:
        return line
    space = line.rfind(" ", longest // 2, longest)
    return line[: space if space > 0 else longest - 1].rstrip(" ,;:，；：") + "…"


# ---------------------------------------------------------------- trigger types

TriggerType = Literal[
    "problem-solution", "positive-feedback", "corrective-feedback", "learning-success", "learning-failure"
]

USER_SOURCE = "user"
"""Only a person corrects; the same words from a tool or a job are no feedback."""

MAX_PRAISED = 2000
"""Characters of a text that are searched for thanks, which come at its beginning."""

_PRAISE_WITH_REASON = regex(
    r"(?:\b(?:thanks|thank you|thx|perfect|well done|(?:good|great) (?:job|work)|nice work|kudos|lgtm)\b"
    r"|👍|👏|💯|🙏|谢谢|感谢|多谢|太好了|太棒了|干得好|做得好|很好|赞)"
    r"[!！,，\s]{0,3}[^.!?。！？\n]{0,80}?"
    r"(?:\b(?:because|since|helped|saved (?:me|us)|exactly what|due to|(?:this|that) way"
    r"|for (?:the|your|that|this|[a-z]{1,15}ing)|(?:makes|made) (?:it|this|things))\b"
    r"|因为|由于|这样|帮了|帮我|正是|省了|解决了|让我)"
)
"""Thanks or a thumbs-up with a reason in the same sentence. Slow, so it is tried only beside a word of praise."""

_IMPERATIVE = regex(
    r"(?:\A|[.!?;:,\n()（。，！；：—-]\s{0,3}|\b(?:please|so|and|but|then|just|or|also|said|again|no)\s)"
    r"(?:don't|do not)\b"
    r"(?! (?:let|forget|stop|quit|give up|worry|hesitate|wait|miss|know|mind|get me wrong|be afraid)\b)"
)
"""An order not to do something. "I don't know" is none: its subject is the speaker."""


def trigger_type(text: str, source: str = USER_SOURCE) -> TriggerType | None:
    """The trigger type of `text`, the first that fits in the order of the branches, or None.

    If a text both learns and fails, it is a failure, unless it goes on to say what works.
    """
    read = reading(text)
    repaired = read.has("fix")
    if repaired and read.has("error"):
        return "problem-solution"
    if read.has("praise") and _PRAISE_WITH_REASON.search(read.plain, 0, MAX_PRAISED):
        return "positive-feedback"
    if source == USER_SOURCE and _corrects(read):
        return "corrective-feedback"
    failed = not repaired and read.has("failed")
    if read.has("works") or (read.has("realised") and not failed):
        return "learning-success"
    return "learning-failure" if failed else None


def trigger_text(kind: str, text: str) -> str:
    """The trigger of a memory: its type and its first clause of at most `MAX_CLAUSE` characters, or the type alone."""
    clause = first_clause(text)
    return f"{kind}: {clause}" if clause else kind


def _corrects(read: Reading) -> bool:
    forbids = ("don't" in read.plain or "do not" in read.plain) and _IMPERATIVE.search(read.plain) is not None
    return forbids or read.has("correction")


# ---------------------------------------------------------------- hypothetical queries

MAX_QUERIES = 2
"""Default number of questions of a memory."""

MAX_QUERY = 300
"""Characters kept of a question that a model wrote."""

MAX_REPLY = 20_000
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
"""English and Chinese questions of each trigger type that has any."""

_SMALL_INSIDE = ("The ", "A ", "An ", "Using ", "This ", "Our ", "My ")
"""Openings of a sentence that are written small inside a question."""

_NUMBERED = regex(r"[\s*_>#-]{0,8}Q\d{1,2}[*_\s]{0,4}[:：][*_\s]{0,4}(.*)", re.IGNORECASE)
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
    r"never use|beware of)(?:\s+|\Z)(?:the\s+)?|(?:要|应该|应|尽量|请)?(?:避免(?:使用)?|不要(?:使用|用)?|别用)",
    re.IGNORECASE,
)
_SYMPTOMS = {
    "failed": "failing", "fails": "failing", "crashed": "crashing", "crashes": "crashing", "broke": "breaking",
    "breaks": "breaking", "hung": "hanging", "hangs": "hanging", "returned": "returning", "returns": "returning",
    "threw": "throwing", "throws": "throwing", "raised": "raising", "raises": "raising", "stopped": "stopping",
    "stops": "stopping",
}  # fmt: skip
"""Verbs of a problem with the form that makes its clause the object of a question: "the build failing with OOM"."""

_SYMPTOM = regex(
    rf"(?<=[\w)`'\"] )(?:{'|'.join(_SYMPTOMS)})"
    r"(?= (?:with|on|in|at|after|when|during|for|if|because|to|\d|an?|the)\b)"
)

_NO_TOPIC = regex(
    # A clause, or an order: "What should be avoided with commit secrets?" is no question.
    r"(?:we|i|it|they|you|he|she|this|that|these|those|there|what|who|which|everything|nothing|something|never|don['’]t"
    r"|do\s+not|always|please|if|when)\b|(?:我们|我|他们|它们?|这|那|你|大家)"
    r"|.{0,250}?\b(?:is|are|was|were|has|have|had|does|did|do|will|would|should|can|could|must|may|might|\w{1,12}n['’]t"
    r"|cannot|failed|fails|crashed|broke|breaks|hung|returned|returns|threw|throws|raised|raises|got|gets|went|goes|stopped"
    r"|stops|worked|works|needed|needs|took|takes|kept|keeps)\b"
    r"|.{0,250}?\b(?:of|to|with|for|and|or|the|an?|that|because|by|from|in|on|at)\Z",
    re.IGNORECASE,
)
"""A topic that would not make a grammatical question."""


class _Ending(msgspec.Struct, frozen=True):
    """The words with which the end of a topic begins, in English and in Chinese."""

    english: re.Pattern[str]
    chinese: re.Pattern[str]


_MEANS = _Ending(
    regex(
        r"\s(?:by|via|with a|using|(?:was|were|is|got|can be) (?:fixed|solved|resolved)|(?:fixed|solved|resolved) by|"
        r"after (?:setting|adding|removing|upgrading|switching))\b",
        re.IGNORECASE,
    ),
    regex(r"[，,]?(?:通过|改用|用了|加上|改为)|(?:的问题)?(?:已|被)?(?:解决|修复)了?\Z"),
)
_FAILING = _Ending(
    regex(
        r"\s(?:(?:has|have|had|always|often|still|simply|just)\s)?(?:fail(?:s|ed|ing)?|"
        r"(?:did|does|do)(?:n['’]t| not) work|is(?:n['’]t| not) working|never work(?:s|ed)|no longer works|"
        r"stopped working|crash(?:es|ed)|broke|breaks|(?:should|must) be avoided|is a (?:pitfall|gotcha|dead end))\b",
        re.IGNORECASE,
    ),
    regex(r"(?:会|总是|都)?(?:失败|行不通|不起作用|不可行|没用|无效|不工作|走不通)"),
)
_REASON = _Ending(
    regex(r"\s(?:because|since|as it|when|due to|for)\b", re.IGNORECASE),
    regex(r"[，,]?因为"),
)


def hypothetical_queries(kind: str | None, text: str, *, most: int = MAX_QUERIES) -> tuple[str, ...]:
    """Up to `most` questions that `text` answers, from the templates of its trigger type; none without a noun phrase as
    a topic."""
    templates = TEMPLATES.get(kind or "")
    if templates is None:
        return ()
    clause = first_clause(text, longest=2 * MAX_CLAUSE)
    topic = shortened(_problem(clause) if kind == "problem-solution" else _failure(clause))
    if not topic or _NO_TOPIC.match(topic):
        return ()
    english, chinese = templates
    questions = english if _HAN.search(topic) is None else chinese
    return tuple(question.format(topic) for question in questions[: max(0, most)])


def _problem(clause: str) -> str:
    """The clause without "we fixed" before the problem and without the remedy after it, as the object of a verb."""
    problem = _without(_without(clause, _TELLING), _MENDING, _MEANS)
    return _SYMPTOM.sub(lambda verb: _SYMPTOMS[verb[0]], problem, count=1)


def _failure(clause: str) -> str:
    """The clause without "learned to avoid" before its topic and without the failure after it."""
    topic = _without(clause, _TELLING)
    return _without(topic, _AVOIDING, _REASON if _AVOIDING.match(topic) else _FAILING)


def _without(clause: str, opening: re.Pattern[str], ending: _Ending | None = None) -> str:
    start = opening.match(clause)
    rest = clause[start.end() :] if start else clause
    endings = (ending.english, *(() if rest.isascii() else (ending.chinese,))) if ending else ()
    for pattern in endings:
        end = pattern.search(rest)
        rest = rest[: end.start()] if end and end.start() else rest
    rest = rest.strip(" ,，:：-—")
    return rest[0].lower() + rest[1:] if rest.startswith(_SMALL_INSIDE) else rest


def parse_queries(reply: str, most: int = MAX_QUERIES) -> tuple[str, ...]:
    """The questions of a model's reply: lines that begin with "Q1:", "Q2:" and so on, at most `most`, no repeats."""
    questions: dict[str, str] = {}
    for line in reply[:MAX_REPLY].splitlines():
        match = _NUMBERED.match(line)
        question = shortened(" ".join(match[1].split()).strip("\"'“”*_` "), MAX_QUERY) if match else ""
        if question and len(questions) < most:
            questions.setdefault(question.casefold(), question)
    return tuple(questions.values())


# ---------------------------------------------------------------- questions that others made


class _QuestionWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/question_words.toml"""

    openings: tuple[str, ...]
    prepositions: tuple[str, ...]
    chinese: tuple[str, ...]


_words = on_first_use(lambda: read("question_words", _QuestionWords))
_BEGINS = regex(
    lambda: (
        rf"(?:(?:{one_of(_words().prepositions)})\s+)?(?:{one_of(_words().openings)})\b"
        rf"|(?=.{{0,{MAX_QUERY}}}?(?:{one_of(_words().chinese)}))"
    ),
    re.IGNORECASE,
)


def begins_question(text: str) -> bool:
    """Return True if a text begins as a question does, in English, German or Chinese."""
    return _BEGINS.match(text.replace("’", "'")) is not None
