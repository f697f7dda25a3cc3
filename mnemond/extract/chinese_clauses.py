"""Plain statements of a Chinese sentence, clause by clause, for a sentence that belongs to no family.

A clause is a statement if it has a subject that can be named, or the one of the clause before, a verb of a lasting
state or of a change, and a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from mnemond.extract.findings import chinese_regex, refers
from mnemond.text.resources import regex

MOST_CLAUSES: Final = 40

_SPLIT: Final = regex("[，,；;：]|。(?=.)|[！!](?=.)|:(?=\\s)")
_QUOTED: Final = regex('[“”「」『』【】]|"[^"]{2,}"')
_HYPOTHETICAL: Final = chinese_regex("{hypothetical}")
_UNSURE: Final = chinese_regex("{unsure}")
_QUESTION: Final = chinese_regex("{question}")
_REQUEST: Final = chinese_regex("{request}")
_PASSING: Final = chinese_regex("{passing}")
_STANDING: Final = chinese_regex("{standing}")
_OWN_SUBJECT: Final = chinese_regex(
    "^(?:我(?!们?觉得|想|要|先|来|再|去|看)|本人|{kin}|咱|{belonging}(?=[卖买换修坏没租还送]))"
)
_STATE: Final = chinese_regex("{state}")
_OF_THING: Final = chinese_regex("{of_thing}")
_VALUE: Final = chinese_regex("{value}")
_CHANGED: Final = chinese_regex("{changed}")
_NEGATED: Final = regex("^(?:.{0,12})?不是[^，]{1,20}$")
_SUBJECT: Final = regex(
    "^(?!这|那|它|他|她|下面|上面|以上|如下|现在|已经|然后|所以|因为|就|也|都|还|只|可|但)[\\w\\s.·/`'’-]{1,24}"
)
_PRONOUN: Final = regex("^(?P<p>[它他她])(?!们)")
_KIN_BEFORE: Final = chinese_regex("(?:我|我的|我家)?(?P<n>{kin})")
_THING_BEFORE: Final = regex("叫(?P<c>[\\w·]{1,8})|(?P<l>[A-Za-z][\\w./-]+)|养了?一?[只条个](?P<a>\\w{1,4})")
_LEAD: Final = chinese_regex("^{lead}$")

_TAG: Final = chinese_regex("{tag}")
_ATTRIBUTE: Final = chinese_regex("^{attribute}(?:是|为|在|：|:)")
_TO_READER: Final = regex("(?:你|您|帮我|麻烦|请你)")

Kind = Literal["statement", "rule"]


class Stated(NamedTuple):
    """A statement in the words of its speaker. `changed`: it says that something is otherwise than before."""

    text: str
    kind: Kind
    changed: bool


class Read(NamedTuple):
    """The statements of a sentence, and the clauses that are left, each with its reason."""

    stated: list[Stated]
    left: list[tuple[str, str]]


def statements(sentence: str, before: Sequence[str]) -> Read:
    """The plain statements of `sentence`; `before` are the sentences before it, the last one first."""
    read = Read([], [])
    asks = sentence.endswith(("?", "？"))
    if _QUOTED.search(sentence) or _HYPOTHETICAL.search(sentence) or (asks and _TAG.search(sentence)):
        return read
    group: list[str] = []
    kind: Kind = "statement"
    requested = False
    changed = says_change(sentence)
    parts = _clauses(sentence)
    for at, clause in enumerate(parts):
        if asks and (at == len(parts) - 1 or not _OWN_SUBJECT.match(clause)):
            read.left.append((clause, "question"))
            continue
        if _LEAD.match(clause):
            read.left.append((clause, "greeting"))
            requested = False
            continue
        reason = _reason_against(clause)
        if requested and not _STANDING.search(clause) and not _OWN_SUBJECT.match(clause):
            reason = "request"
        requested = reason == "request"
        found = _kind(clause, kind if group else None) if reason is None else None
        if found is not None and not group and _ATTRIBUTE.match(clause) and _is_named(parts[at - 1] if at else ""):
            group.append(read.left.pop()[0])
            kind = found
        if found is None:
            read.left.append((clause, reason or "nothing lasting"))
            continue
        if group and (found != kind or _OWN_SUBJECT.match(clause)):
            _close(read, group, kind, before, changed=changed)
            group = []
        group.append(clause)
        kind = found
    if group:
        _close(read, group, kind, before, changed=changed)
    return read


def says_change(sentence: str) -> bool:
    """True if a sentence says that something is otherwise than before."""
    return _CHANGED.search(sentence) is not None


def without_requests(sentence: str) -> Read:
    """`sentence` without the clauses behind the first that request something of the reader, and those."""
    parts = _SPLIT.split(sentence, MOST_CLAUSES)
    left = [each for each in parts[1:] if _TO_READER.match(each.strip()) and not _STANDING.search(each)]
    at = min((sentence.find(each) for each in left), default=len(sentence))
    if not left or any(each not in left for each in parts[1:] if sentence.find(each) > at):
        return Read([Stated(sentence, "statement", False)], [])
    return Read(
        [Stated(sentence[:at].rstrip("，,；;：: "), "statement", False)],
        [(each.strip("。！!. "), "request") for each in left],
    )


def _is_named(clause: str) -> bool:
    """True if a clause that was left may have the subject of the next: "测试环境随便发，地址是 …"."""
    return _SUBJECT.match(clause) is not None and _LEAD.match(clause) is None and _reason_against(clause) is None


def _clauses(sentence: str) -> list[str]:
    parts = _SPLIT.split(sentence.rstrip("。.!！"), MOST_CLAUSES)
    return [each.strip() for each in parts if each.strip()]


def _reason_against(clause: str) -> str | None:
    if _QUESTION.search(clause):
        return "question"
    if _UNSURE.search(clause):
        return "uncertain"
    if _PASSING.search(clause):
        return "nothing lasting"
    if _REQUEST.search(clause) and not _STANDING.search(clause):
        return "request"
    return None


def _kind(clause: str, last: Kind | None) -> Kind | None:
    if _STANDING.search(clause) or (last == "rule" and clause.startswith(("用", "改用", "而是", "先", "再"))):
        return "rule"
    continues = last is not None
    own = _OWN_SUBJECT.match(clause) is not None or _PRONOUN.match(clause) is not None
    if (own or continues) and (_STATE.search(clause) or (_OF_THING.search(clause) and (own or _has_value(clause)))):
        return "statement"
    if _NEGATED.match(clause) and (own or continues):
        return "statement"
    if continues and _CHANGED.search(clause):
        return "statement"
    told = _AT_PRESENT.sub("", clause)
    found = _OF_THING.search(told)
    named = found is not None and (found.start() > 0 or told == clause)
    if named and _has_value(clause) and _SUBJECT.match(told):
        return "statement"
    return "statement" if clause.startswith(_NOW) and _STATE.search(clause) else None


_AT_PRESENT: Final = regex("^(?:现在|目前|如今)(?!在)")
_NOW: Final = ("现在在", "目前在", "现在只养", "现在养", "现在住", "现在学", "现在只吃", "现在只喝")
"""Beginnings of a statement of the speaker, who is not named."""


def _has_value(clause: str) -> bool:
    return _VALUE.search(clause) is not None or refers(clause)


def _close(read: Read, group: list[str], kind: Kind, before: Sequence[str], *, changed: bool) -> None:
    text = "，".join(group)
    pronoun = _PRONOUN.match(text)
    if pronoun is not None:
        named = _antecedent(pronoun["p"], before)
        if named is None:
            read.left.append((text, "unclear reference"))
            return
        text = named + text[1:]
    elif text.startswith(_NOW):
        text = f"我{text}"
    read.stated.append(Stated(text, kind, changed))


def _antecedent(pronoun: str, before: Sequence[str]) -> str | None:
    for sentence in before:
        if pronoun != "它" and (kin := [each["n"] for each in _KIN_BEFORE.finditer(sentence)]):
            return f"我{kin[-1]}"
        if pronoun == "它" and (things := list(_THING_BEFORE.finditer(sentence))):
            return str(things[-1]["c"] or things[-1]["l"] or things[-1]["a"])
    return None
