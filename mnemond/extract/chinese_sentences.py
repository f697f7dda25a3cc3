"""What a Chinese sentence says that is worth remembering, told about its speaker and with its dates."""

from __future__ import annotations

from mnemond.extract import chinese
from mnemond.extract.absolute_dates import with_dates
from mnemond.extract.english_sentences import is_substantial, refers
from mnemond.extract.families import Family
from mnemond.extract.finding import Finding, Judged, Scene, finding
from mnemond.extract.importance import is_hedged
from mnemond.text.cue_words import CORRECTION, found, reading
from mnemond.text.dates import dates


def findings(text: str, scene: Scene) -> Judged:
    """What `text`, one sentence of at most `families.LONGEST` characters, says; else why nothing is kept of it."""
    sentence, called = chinese.told(chinese.stripped(" ".join(text.split())))
    name = chinese.USER if scene.name == "User" else scene.name
    if not scene.by_agent and (selves := chinese.selves(sentence)):
        return [_of_self(name, *each) for each in selves]
    reason = chinese.unfit(sentence, by_agent=scene.by_agent)
    if reason is not None:
        return reason
    family = _family(sentence, scene)
    if family is None and not called:
        return "nothing lasting"
    if is_hedged(sentence) or (
        family is not None and family.referring and not (refers(sentence) or _dated(sentence, scene))
    ):
        return "uncertain" if is_hedged(sentence) else "names nothing"
    content, mentions = with_dates(chinese.about(name, sentence), scene.said_us)
    content = content.strip().rstrip("。！!.")
    if not ((family is not None and family.referring) or is_substantial(content)):
        return "substance"
    if family is None:
        return [Finding(content, "told", "fact", "fact", 0.85)]
    corrects = found(CORRECTION, reading(text))
    return [finding(family, content, corrects=corrects, dated=any(each.explicit for each in mentions))]


def _family(sentence: str, scene: Scene) -> Family | None:
    for family in chinese.BY_AGENT if scene.by_agent else chinese.BY_USER:
        if family.pattern.match(sentence):
            return family
    if not scene.by_agent and chinese.PLAN.pattern.match(sentence) and _dated(sentence, scene):
        return chinese.PLAN
    return None


def _dated(sentence: str, scene: Scene) -> bool:
    return any(each.explicit for each in dates(sentence, scene.said_us))


def _of_self(name: str, clause: str, kind: str, what: str) -> Finding:
    subject = chinese.USER if kind == "named" and name == what else name
    content = chinese.self_told(subject, kind, what, clause)
    return Finding(content, "identity", "relationship", "fact", 0.9, relation=None if kind == "is" else kind)
