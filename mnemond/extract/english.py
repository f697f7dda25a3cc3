"""Findings of an English sentence: what it states that is worth remembering, about its speaker and with its dates."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from mnemond.extract import findings as shared
from mnemond.extract.facts import is_hedged, says_name, stated_name
from mnemond.extract.findings import (
    Family,
    Finding,
    Judged,
    Left,
    Scene,
    finding,
    identity,
    is_dated,
    is_substantial,
    names_tool,
    refers,
    requested,
    with_dates,
)
from mnemond.extract.first_person import about, possessive
from mnemond.text.cues import reading
from mnemond.text.dates import DateMention
from mnemond.text.entity_shapes import is_ordinary
from mnemond.text.quality import courtesy_tokens
from mnemond.text.resources import regex
from mnemond.text.similarity import token_set
from mnemond.text.tokens import tokens

MIN_CAUSE: Final = 5
"""Words of a cause that is kept without naming anything."""

MIN_TOKENS: Final = 2
"""Content words of a sentence that says anything."""

_DIRECT: Final = frozenset({"rule", "identity", "preference", "decision"})
"""Names of families that look like requests and are none."""

_CHOICE: Final = regex(r"(?:use|prefer) ", re.IGNORECASE)
_FILLER: Final = regex(r",? (?:you know|i mean|i guess|kind of|kinda|sort of)(?=[,. ]|\Z),?", re.IGNORECASE)
_LETS: Final = regex(r"let's (?=\w)", re.IGNORECASE)
_ADDRESSED: Final = regex(r"(?:i want you to|you(?: must| should| may| can)?) (?=(?:always|never)\b)", re.IGNORECASE)
_FOR_USER: Final = regex(
    r"(?:i\b|i'|you\b|your\b|if\b|when\b|let\b|here\b|to \w+|now\b|next\b|this\b|that\b|these\b|there\b|once\b|since"
    r" you\b|should\b|feel\b|both\b|all\b|everything\b)",
    re.IGNORECASE,
)
_EXPLAINED: Final = regex(r"\b(?:because|since|so that|due to|in order to)\b", re.IGNORECASE)
_TURNED: Final = regex(r"(?:it )?turn(?:s|ed) out(?: that)?,? ", re.IGNORECASE)
_AGREED: Final = regex(r"(?:it was|it is|it's) (?:decided|agreed) that ", re.IGNORECASE)


def findings(text: str, scene: Scene) -> Judged:
    """The findings of `text`, one sentence of at most `MAX_SENTENCE` characters, else the reason why there are none."""
    sentence = " ".join(text.replace("’", "'").split())
    lead = _without_opening(sentence)
    if is_question(lead):
        return "question"
    bare, reminded = _without_reminder(lead)
    bare = _without_opening(bare)
    if set(tokens(bare)) <= courtesy_tokens():
        return "greeting"
    if len(tokens(bare)) < MIN_TOKENS:
        return "substance"
    if scene.by_agent:
        return "progress" if scene.itemised and "root cause" not in bare else _of_agent(bare, scene)
    corrects = scene.corrected or reading(sentence).has("correction")
    reasons: list[str] = []
    kept: list[Finding | Left] = []
    for part in statements(bare, lambda piece: says_name(piece) or _family(piece, scene) is not None, is_request):
        judged = _judge(without_request(part, lambda head: _family(head, scene) is not None), scene, reminded=reminded)
        if isinstance(judged, str):
            reasons.append(judged)
            kept.append(Left(part, judged))
        else:  # a choice of one thing "rather than" another corrects nothing
            kept.append(msgspec.structs.replace(judged, corrects=corrects and judged.family not in _DIRECT))
    return reasons[0] if len(reasons) == len(kept) else kept


def _family(part: str, scene: Scene) -> Family | None:
    """The first family that fits; one that must refer to something gives way if nothing is named."""
    language = shared.english()
    fitting = [each for each in language.families(by_agent=scene.by_agent) if each.pattern.match(part)]
    found = next((each for each in fitting if not each.referring or refers(part)), None)
    if found is not None:
        return found
    if not scene.by_agent and language.dated.pattern.match(part) and is_dated(part, scene):
        return language.dated
    return next(iter(fitting), None)


def _judge(part: str, scene: Scene, *, reminded: bool) -> Finding | str:
    """`reminded`: the speaker wants it to be remembered."""
    if says_name(part):
        return _name_of_speaker(part, scene)
    if _POINTING.search(part):
        return "unclear reference"
    whole = resolved(part, None) or resolved(part, scene.named_last()) or with_person_named(part, scene.person_last())
    if whole is None or _OBJECTLESS.match(whole):
        return "unclear reference"
    family = _family(whole, scene)
    if family is None:
        if reminded:
            return _reminder(whole, scene)
        return "request" if is_request(whole) else "nothing lasting"
    if scene.itemised and family.name not in _DIRECT:
        return "itemised"
    return _objection(whole, family, reminded=reminded) or _of_family(whole, family, scene)


def _objection(part: str, family: Family, *, reminded: bool = False) -> str | None:
    """The reason why a statement of `family` is not kept all the same."""
    if _is_of_the_moment(part) and family.key != "identity":
        return "of the moment"
    if family.name not in _DIRECT and is_request(part):
        return "request"
    if is_hedged(part) and family.key not in ("identity", "environment", "preference"):
        return "uncertain"
    if _CHOICE.match(part) and not names_tool(part):
        return "request"
    # a cause in so many words names what it is about
    is_long = family.name == "problem-fix" and len(token_set(part)) >= MIN_CAUSE
    if family.referring and not (reminded or family.key == "event" or refers(part) or is_long):
        return "names nothing"
    return None


def _reminder(part: str, scene: Scene) -> Finding | str:
    """A statement of any kind that is to be remembered."""
    if is_request(part) or _is_of_the_moment(part):
        return "request"
    if not refers(part) and not is_substantial(part):
        return "names nothing"
    return requested(_content(part, scene)[0])


def _name_of_speaker(part: str, scene: Scene) -> Finding:
    name = stated_name(part) or part
    subject = possessive("User" if scene.name == name else scene.name)
    return identity(f"{subject} name is {name}", 0.95, "named")


def _of_family(part: str, family: Family, scene: Scene) -> Finding | str:
    content, mentions = _content(part, scene)
    if not (family.referring or is_substantial(content)):
        return "substance"
    return finding(family, content, dated=any(each.explicit for each in mentions))


def _content(part: str, scene: Scene) -> tuple[str, tuple[DateMention, ...]]:
    plain = _LETS.sub("We will ", _AGREED.sub("", _ADDRESSED.sub("", part)))
    plain = _FILLER.sub("", _TURNED.sub("", plain, count=1))
    content, mentions = with_dates(about(scene.name, plain), scene.said_us)
    content = content.strip().rstrip("!.")
    return content[:1].upper() + content[1:], mentions


def _of_agent(part: str, scene: Scene) -> Judged:
    """Of an agent's words only what shapes later work: causes found, limits, decisions with their reason."""
    if _POINTING.search(part) or resolved(part, None) is None:
        return "unclear reference"
    family = _family(part, scene)
    if family is None:
        return "progress"
    is_cause = family.key == "agent_problem" and (_TURNED.match(part) or "root cause" in part.lower())
    if _FOR_USER.match(part) and not is_cause:
        return "progress"
    if family.key == "decision" and not _EXPLAINED.search(part):
        return "progress"
    reason = _objection(part, family)
    if reason is not None:
        return reason
    judged = _of_family(part, family, scene)
    return judged if isinstance(judged, str) else [judged]


# ---------------------------------------------------------------- rejection: questions, requests, words of the moment

_OPENING: Final = regex(
    r"(?:(?:ok(?:ay)?|yes|yeah|yep|no|nope|well|so|and|but|also|oh|hey|hi|hello|btw|by the way|fyi|actually|sorry"
    r"|thanks|thank you|sure|right|great"
    r"|cool|perfect|hmm|wait|nice|please|plus|anyway|anyhow|ah|again|besides|however|then|good to know|some background"
    r"|background|for context|context"
    r"|for the record|just so you know|heads[- ]up|got it|makes sense|one more thing|also note|important|note"
    r"|important note|reminder|tip|p\.?s"
    r"|that's wrong|that is wrong|wrong|not quite|not exactly|in short|basically|to be clear|for your information|for"
    r" information|in fact)"
    r"(?:[,.:;!–—-]+\s*|\s+(?=(?:i|we|let's|my|our|the|all|always|never|don't|do not|use|can|could|that|it|what|how"
    r"|why|please|just|from|basically)\b)|\s*\Z))+",
    re.IGNORECASE,
)
_REMINDER: Final = regex(
    r"(?:please )?(?:(?:remember|note|keep in mind|bear in mind|be aware|mind|don't forget|do not forget|fyi|know)(?:"
    r" that|,|:|(?= the\b|(?= we\b)))"
    r"|(?:it's|it is) (?:important|worth knowing|worth noting|crucial|essential) (?:that|to know that)|i want you to"
    r" (?:know|remember) that"
    r"|you should know that) ?",
    re.IGNORECASE,
)
_QUESTION: Final = regex(
    r"(?:(?:can|could|would|will|do|does|did|is|are|was|were|should|shall|may|have|has|am) (?:you|i|we|it|he|she|they"
    r"|this|that|these|those|there|the|my|our|anyone|somebody)\b"
    r"|(?:what|why|how|who|whose|which|where)\b(?! (?:matters|works|we|i) )|when (?:do|does|did|is|are|was|will|should"
    r"|can)\b|any (?:idea|chance|thoughts|way|hint)"
    r"|is there|are there|isn't|aren't|don't you|won't|what's|how's|where's|who's|why's)",
    re.IGNORECASE,
)
_REQUEST: Final = regex(
    r"(?:i|we)(?:'d| would) (?:like|love|appreciate)\b|i want (?:to|you|it|this|that|the|a|an)\b|i (?:need|have)"
    r" (?:you|to|the|it|this|that|some|help)\b|i need an?\b|i have an? (?:[\w-]+ )?(?:question|problem|bug|task"
    r"|meeting|feeling|look|idea|request|doubt|function|class|test|file|list|script|table|dataframe|string|query|component|loop|error|issue"
    r"|array|object)\b"
    r"|we (?:need|have|ought) to\b|we should\b|you (?:should|can|could|may|might|must|need"
    r"|have)\b(?!.{0,12}\b(?:always|never)\b)"
    r"|i(?:'m| am) (?:trying|getting|seeing|looking|wondering|not sure|torn|stuck|confused|thinking|going to|about to"
    r"|curious|done|back|new|sure|afraid|happy|glad|sorry|ready|working on)\b"
    r"|i (?:think|guess|wonder|suppose|believe|assume|was wondering|just|tried|see|saw|get|got|ran|merged|pushed|meant"
    r"|mean|know|don't know|can't|cannot|don't think|hope|noticed|thought)\b"
    r"|(?:i'll|i will|we'll) (?!use|go with|stick|switch|not use|be (?:on|in|at|away|out|off)\b)\w+|let me\b|help me\b"
    r"|if (?:you|i|we|it|that|this"
    r"|the|there)\b|maybe\b|perhaps\b|not sure\b|feel free\b|sounds?\b|looks?\b|seems?\b"
    r"|what if\b|how about\b|instead\b|unless\b|until\b|once you\b|when you(?:'re| are)?\b|after you\b|as you\b"
    r"|thanks\b",
    re.IGNORECASE,
)
_STATES: Final = regex(
    r"\S+ (?:is|are|was|were|has|have|had|must|runs?|lives?|uses?|will|goes|go out|can|cannot)\b", re.IGNORECASE
)
_POINTING: Final = regex(
    r"\b(?:see (?:above|below)|the above|the following|as follows|as above|shown (?:above|below)|below is|listed below"
    r"|attached|this (?:function|test|file|class|method"
    r"|line|error|code|bug|issue|one|snippet|output|log|message|change|pr|commit|diff|branch|query|variable|approach"
    r"|thing|stuff|case|part|script|page)"
    r"|that (?:function|test|file|class|method|line|error|bug|one|approach|way|thing)|these (?:files|tests|lines"
    r"|errors|changes)|the (?:same|latter|former) (?:one|way)?)\b",
    re.IGNORECASE,
)
_OBJECTLESS: Final = regex(
    r"(?:i|we)(?:'ve|'m|'re|'d|'ll)? (?:[\w']+ ){1,4}?(?:it|them|him|her|this|these|those|this one)(?= (?:is|was|at|in"
    r"|on|to|into|for|with|because|from|about|over|an?|as|and"
    r"|but|so|since|when|if|almost|non-stop|back|again|up|out|every|by|under|last|yesterday|the)\b|[.,;!]|\Z)",
    re.IGNORECASE,
)
_MOMENT: Final = regex(
    r"\b(?:for now|right now|just now|at the moment|for the moment|for this (?:pr|commit|branch|task|file|test|one"
    r"|change|ticket|release|time)|this time|just this once|yet"
    r"|temporarily|so far|in progress|still (?:failing|broken|running)|(?:is|are) (?:failing|running now|broken)|done"
    r"|before you (?:finish|start|commit)|when you're done)\b",
    re.IGNORECASE,
)
_EXCLAIMED: Final = regex(r"!{2,}|\b(?:wtf|damn|ugh|argh)\b", re.IGNORECASE)


def _without_opening(sentence: str) -> str:
    """`sentence` without the words that lead up to it: "ok, so", "by the way,"."""
    found = _OPENING.match(sentence)
    rest = sentence[found.end() :] if found else sentence
    return rest if rest.strip(" .!") else sentence


def _without_reminder(sentence: str) -> tuple[str, bool]:
    """`sentence` without "remember that" and the like, and True if it has that."""
    found = _REMINDER.match(sentence)
    return (sentence[found.end() :].strip(), True) if found else (sentence, False)


def is_question(sentence: str) -> bool:
    """True for a question, with a question mark or without."""
    return sentence.rstrip("\"'”’) ").endswith(("?", "？")) or _QUESTION.match(sentence) is not None


def is_request(sentence: str) -> bool:
    """True for an order, and for an account of what its speaker is doing: nothing that lasts."""
    if _REQUEST.match(sentence) is not None:
        return True
    first = sentence.split(maxsplit=1)[0].lower().strip(",.:;!") if sentence.strip() else ""
    return first in shared.english().orders and _STATES.match(sentence) is None


def _is_of_the_moment(sentence: str) -> bool:
    """True if it holds for now, or for one task."""
    return _MOMENT.search(sentence) is not None or _EXCLAIMED.search(sentence) is not None


# ---------------------------------------------------------------- antecedents: what "it" at the beginning stands for

_EXPLETIVE: Final = regex(
    r"(?:it|that) (?:turn(?:s|ed) out|was (?:decided|agreed)|is (?:not allowed|forbidden|important|mandatory))\b",
    re.IGNORECASE,
)
_PRONOUN: Final = regex(
    r"(?P<word>it|its|this|that|these|those|they|their|he|she|his|her)(?P<is>['’]s)?\b", re.IGNORECASE
)
_VERB: Final = regex(
    r"\s+(?:is|was|has|had|will|can|must|may|uses?|runs?|lives?|needs?|requires?|depends?|listens?|costs?|supports?"
    r"|allows?|works?"
    r"|expires?|starts?|ends?|belongs?|only|also|always|never)\b",
    re.IGNORECASE,
)
_LASTING: Final = regex(
    r"(?:this|that) (?:project|repo|repository|codebase|team|company|year|app|machine|laptop|service|monorepo)\b",
    re.IGNORECASE,
)


def resolved(sentence: str, last: str | None) -> str | None:
    """`sentence` with its leading pronoun replaced by `last`, the last name of its group; None if that is unclear.

    "This project" and "it turned out" need no name; "they", "he" and "she" may be anybody.
    """
    found = _PRONOUN.match(sentence)
    if found is None or _EXPLETIVE.match(sentence) or _LASTING.match(sentence):
        return sentence
    word, rest = found["word"].lower(), sentence[found.end() :]
    if last is None or word not in ("it", "its", "this", "that"):
        return None
    if word == "its":
        return f"{last}'s{rest}"
    if found["is"]:
        return f"{last} is{rest}"
    return f"{last}{rest}" if _VERB.match(rest) else None


_KIN: Final = (
    r"(?:wife|husband|partner|son|daughter|mother|father|mum|mom|dad|sister|brother|boss|manager|colleague|flatmate"
    r"|roommate|friend|neighbou?r|aunt|uncle|cousin|grandmother|grandfather|niece|nephew|teacher|supervisor|doctor|dog"
    r"|cat|baby|toddler|landlord|client|teammate|mentor|girlfriend|boyfriend|fiancée?)"
)
_PERSON_NAMED: Final = regex(
    rf"\b(?:[Mm]y|[Oo]ur) (?:\w+ )?(?P<kin>{_KIN})(?:,? (?P<called>[A-Z][\w'-]+))?(?!s\b)"
    r"|(?P<name>(?<![\w.])[A-Z][a-zà-ÿ]{2,20}(?: [A-Z][a-zà-ÿ]{2,20})?)(?= (?:is|was|has|had|works?|lives?|owns?|leads?"
    r"|likes|loves|hates|said|joined|plays|runs|takes|does|goes|uses|wants|prefers)\b)"
)
_HE: Final = regex(r"(?P<word>he|she|his|her)(?P<is>'s)?(?= \w)", re.IGNORECASE)


def person_in(text: str, speaker: str) -> str | None:
    """The only person that `text` names; "" if it names several, None if it names none."""
    found = dict.fromkeys(
        each["called"] or (f"{possessive(speaker)} {each['kin']}" if each["kin"] else each["name"])
        for each in _PERSON_NAMED.finditer(text)
        if each["kin"] or not is_ordinary(each["name"].split()[0])
    )
    return None if not found else next(iter(found)) if len(found) == 1 else ""


def with_person_named(sentence: str, person: str | None) -> str | None:
    """`sentence` with a leading "he" or "she" replaced by `person`; None if there is none."""
    found = _HE.match(sentence)
    if found is None or person is None:
        return None
    rest = sentence[found.end() :]
    if found["word"].lower() in ("his", "her"):
        return f"{possessive(person)}{rest}"
    return f"{person}{' is' if found['is'] else ''}{rest}"


# ---------------------------------------------------------------- several statements in one sentence

_SEAM: Final = regex(
    r"\s*(?:[,;]\s*(?:(?:and|but|so)\s+)?(?:now\s+)?|\s(?:and|but|so)\s+(?:now\s+)?)(?=(?:i|my|we|our|he|she)(?:['’](?:m"
    r"|ve|d|ll|re))?\s+\w)",
    re.IGNORECASE,
)
_TAIL: Final = regex(
    r"\s*(?:[,;:.]|\s[–—-])\s*(?:(?:and|but|so|then|therefore)\s+)?(?=(?:please|just|can you|could you|would you|how"
    r"|what|which|why|where|don't|do not|let me|let's"
    r"|open|write|use|add|fix|make|create|give|show|tell|check|run|update|keep|put|try|help|i'm new|i can only|no"
    r" need)\b)",
    re.IGNORECASE,
)


def statements(sentence: str, says: Callable[[str], bool], is_idle: Callable[[str], bool]) -> list[str]:
    """The parts of `sentence` that say something alone, by `says`; a part that does not stays with the one before it,
    unless it `is_idle`: ", but I'm not sure"."""
    seams = list(_SEAM.finditer(sentence))
    if not seams:
        return [sentence]
    starts = [0, *(seam.end() for seam in seams)]
    ends = [*(seam.start() for seam in seams), len(sentence)]
    kept: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        if says(sentence[start:end]) or not kept:
            kept.append((start, end))
        elif not is_idle(sentence[start:end]):
            kept[-1] = (kept[-1][0], end)
    return [sentence[start:end] for start, end in kept]


def without_request(sentence: str, says: Callable[[str], bool]) -> str:
    """`sentence` up to a request, if it says something before."""
    for request in _TAIL.finditer(sentence):
        head = sentence[: request.start()].rstrip(" ,;:")
        if says(head):
            return head
    return sentence
