"""Findings of a Chinese sentence.

A Chinese sentence leaves out its subject and joins statements by commas, so who the speaker is stands in clauses, each
of which is a fact; everything else takes the whole sentence.
"""

from __future__ import annotations

from typing import Final

from mnemond.extract import findings as shared
from mnemond.extract.chinese_clauses import says_change, statements, without_requests
from mnemond.extract.facts import UNKNOWN, is_hedged
from mnemond.extract.findings import (
    Family,
    Finding,
    Judged,
    Left,
    Scene,
    chinese_regex,
    finding,
    identity,
    is_dated,
    is_substantial,
    refers,
    requested,
    with_dates,
)
from mnemond.text.cues import reading
from mnemond.text.resources import regex

USER: Final = "用户"

_HAN: Final = regex("[\u3400-\u4dbf\u4e00-\u9fff]")

MIN_HAN: Final = 5
"""Han characters of a sentence that says anything."""

MIN_SHARE: Final = 0.25
"""Share of Han among the letters of a Chinese sentence."""

_OPENING: Final = chinese_regex("{sentence_opening}+")
_REMINDER: Final = chinese_regex("{sentence_reminder}")
_QUESTION: Final = chinese_regex("{sentence_question}")
_REQUEST: Final = chinese_regex("{sentence_request}")
_STANDING: Final = chinese_regex("{always}")
_POINTING: Final = chinese_regex("{sentence_pointing}")
_MOMENT: Final = chinese_regex("{sentence_moment}")
_PROGRESS: Final = chinese_regex("^{sentence_progress}")

_SELF: Final = "(?:我(?:们)?|本人)?(?:是|现在|目前|一直)?"
_CLAUSES: Final = (
    ("named", regex("(?:我叫|我的名字(?:是|叫)|我名叫)(?P<x>[\\w·]{2,12})")),
    (
        "works_at",
        regex(f"{_SELF}(?:在|就职于|任职于|供职于)(?P<x>[^，。在]{{2,20}}?)(?:工作|上班|任职|实习|做[^，。]{{2,12}})?"),
    ),
    ("lives_in", regex(f"{_SELF}(?:住在|家在|定居在?|搬到了?|居住在)(?P<x>[^，。]{{2,16}})")),
    ("is", regex("我?是(?:一?[个名位])?(?!说|指|想|要|在|不|否|觉得)(?P<x>[^，。]{2,24})")),
)
_FINAL: Final = frozenset({"greeting", "uncertain"})
"""Reasons that hold for every clause of a sentence."""

_LATIN: Final = regex("[A-Za-z]{2}")

_COMMAS: Final = regex("[，,。；;！!]")
_SPEAKER: Final = regex("我(?!们)|本人")
_WORK: Final = chinese_regex("{sentence_work}")


def is_chinese(sentence: str) -> bool:
    """True if a good part of the letters of `sentence` is Han."""
    if sentence.isascii():
        return False
    return len(_HAN.findall(sentence)) > MIN_SHARE * sum(map(str.isalpha, sentence))


def findings(text: str, scene: Scene) -> Judged:
    """The findings of `text`, one sentence of at most `MAX_SENTENCE` characters, else the reason why there are none."""
    own = without_requests(" ".join(text.split()))
    judged = _of_families(own.stated[0].text, scene)
    if own.left and not isinstance(judged, str):
        return [*judged, *(Left(*each) for each in own.left)]
    if (
        scene.by_agent
        or not isinstance(judged, str)
        or (judged == "names nothing" and not says_change(text))
        or (judged in _FINAL and not (judged == "greeting" and _LATIN.search(text)))
    ):
        return judged
    return _plain(" ".join(text.split()), scene) or judged


def _plain(sentence: str, scene: Scene) -> list[Finding | Left]:
    """The plain statements of a sentence of no family, and the clauses left; empty without a statement."""
    read = statements(sentence, scene.said_last())
    if not read.stated:
        return []
    name = USER if scene.name == UNKNOWN else scene.name
    found: list[Finding | Left] = [Left(*each) for each in read.left]
    for each in read.stated:
        content, _ = with_dates(about(name, each.text), scene.said_us)
        rule = each.kind == "rule"
        found.append(
            Finding(
                content=content,
                family="rule" if rule else "statement",
                intent="preference" if rule else "fact",
                category="preference" if rule else "fact",
                confidence=0.85 if rule else 0.75,
                corrects=each.changed or scene.corrected,
            )
        )
    return found


def _of_families(text: str, scene: Scene) -> Judged:
    """The findings of the families of statements, or the reason why there are none."""
    sentence = " ".join(text.split())
    opening = _OPENING.match(sentence)
    sentence = sentence[opening.end() :] if opening else sentence
    reminder = _REMINDER.match(sentence)
    sentence = sentence[reminder.end() :] if reminder else sentence
    name = USER if scene.name == UNKNOWN else scene.name
    if not scene.by_agent and (clauses := _about_speaker(sentence)):
        described = {each[0] for each in clauses}
        others = [each.strip(" 。.!！?？") for each in _COMMAS.split(sentence)]
        rest = "，".join(each for each in others if each and each not in described)
        more = _plain(rest, scene) if rest else []
        left = [Left(each, "nothing lasting") for each in others if each and each not in described and not more]
        return [*(_of_speaker(name, *each) for each in clauses), *more, *left]
    reason = _rejection(sentence, by_agent=scene.by_agent)
    if reason is not None:
        return reason
    family = _family(sentence, scene)
    if family is None and not reminder:
        return "nothing lasting"
    if is_hedged(sentence):
        return "uncertain"
    referring = family is not None and family.referring
    if referring and not (refers(sentence) or is_dated(sentence, scene)):
        return "names nothing"
    content, mentions = with_dates(about(name, sentence), scene.said_us)
    content = content.strip().rstrip("。！!.")
    if not (referring or is_substantial(content)):
        return "substance"
    if family is None:
        return [requested(content)]
    corrects = scene.corrected or says_change(text) or reading(text).has("correction")
    return [finding(family, content, corrects=corrects, dated=any(each.explicit for each in mentions))]


def about(name: str, sentence: str) -> str:
    """`sentence` with 我 called `name`; 我们 stays."""
    return _SPEAKER.sub(lambda _: name, sentence)  # a backslash in a name is no reference to a group


def _family(sentence: str, scene: Scene) -> Family | None:
    language = shared.chinese()
    for family in language.families(by_agent=scene.by_agent):
        if family.pattern.match(sentence):
            return family
    if not scene.by_agent and language.dated.pattern.match(sentence) and is_dated(sentence, scene):
        return language.dated
    return None


def _rejection(sentence: str, *, by_agent: bool) -> str | None:
    """The reason why `sentence` is not read further."""
    if len(_HAN.findall(sentence)) < MIN_HAN:
        return "greeting"
    if _QUESTION.search(sentence):
        return "question"
    if _POINTING.search(sentence):
        return "unclear reference"
    if by_agent and _PROGRESS.match(sentence):
        return "progress"
    if _MOMENT.search(sentence) or (_REQUEST.match(sentence) and not _STANDING.search(sentence)):
        return "request"
    return None


def _about_speaker(sentence: str) -> list[tuple[str, str, str]]:
    """(clause, relation, target) of the clauses that describe the speaker, the first one with 我; a clause about work
    without a word for it is none."""
    found: list[tuple[str, str, str]] = []
    for clause in _COMMAS.split(sentence):
        clause = clause.strip()
        if not found and not clause.startswith(("我", "本人")):
            break
        for kind, pattern in _CLAUSES:
            match = pattern.fullmatch(clause)
            if match and not (kind == "works_at" and _WORK.search(clause) is None):
                found.append((clause, kind, match["x"]))
                break
    return found


def _of_speaker(name: str, clause: str, kind: str, target: str) -> Finding:
    if kind == "named":
        content = f"{USER if name == target else name}的名字是{target}"
    else:
        content = about(name, clause)
        content = content if content.startswith(name) else f"{name}{content}"
    return identity(content, 0.9, None if kind == "is" else kind)
