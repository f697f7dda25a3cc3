"""English pronouns and their antecedents: the mentions of a clause, and a clause with its pronouns resolved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from mnemond.extract.discourse import Discourse, Kind, Mention
from mnemond.extract.english_grammar import AUXILIARIES, PRONOUNS, Clause, Word, grammar, is_plural, parse, words_in
from mnemond.extract.first_person import with_name
from mnemond.text.entities import extract
from mnemond.text.resources import regex, words_of
from mnemond.text.tokens import FUNCTION_WORDS

# ---------------------------------------------------------------- mentions

_NUMBERS: Final = words_of("two three four five six seven eight nine ten")
_MARKERS: Final = words_of("my our the a an his her their one") | _NUMBERS
"""Words with which a noun phrase begins."""

MAX_NOUNS: Final = 4


def mentions(text: str, clause: Clause | None = None) -> list[Mention]:
    """Return the mentions of `text`, a clause with straight apostrophes, in order."""
    clause = clause or parse(text)
    words = words_in(text)
    found: list[Mention] = []
    at = 0
    while at < len(words):
        size = _phrase_size(words, at, clause.subject if clause is not None else "")
        if size:
            mention = _mention(words[at : at + size], text, clause)
            if mention is not None and not _only_says(words[at : at + size], text, clause):
                found.append(mention)
        at += size or 1
    found += [Mention(each[1], "name", is_subject=True) for each in _CALLED.finditer(text)]
    named = " ".join(each.text for each in found)
    found += [Mention(each.name, "name") for each in extract(text) if each.kind == "tool" and each.name not in named]
    return found


_CALLED: Final = regex(r"\b(?:named|called|name is|name's) ((?-i:[A-Z])[\w-]+)", re.IGNORECASE)


def _only_says(words: list[Word], text: str, clause: Clause | None) -> bool:
    """True for the subject of "the vet said our dog weighs 31 kg": the clause is about the dog."""
    if clause is None or clause.verb not in grammar().saying or clause.verb == "write":
        return False
    return text[words[0].start : words[-1].end] == clause.subject and len(words_in(clause.rest)) > 1


def _phrase_size(words: list[Word], at: int, subject: str) -> int:
    """The number of words of the noun phrase that begins at `at`; 0 if none does."""
    lists = grammar()
    marked = words[at].small in _MARKERS or words[at].small.endswith(("'s", "s'"))
    if not marked and not _is_name(words, at, subject):
        return 0
    end = at + 1
    if words[at].text.endswith((",", ";", ":", "!", "?")):
        return 1 if not marked else 0
    while end < len(words) and end - at <= MAX_NOUNS:
        small = words[end].small
        stops = small in lists.prepositions or small in lists.determiners or small.split("'")[0] in PRONOUNS
        if stops or small in lists.subordinators or small in grammar().ending or _is_verb(words, end, at):
            break
        end += 1
        if words[end - 1].text.rstrip("\"'").endswith((",", ";", ":", "!", "?", ")")):
            break
    return end - at if end - at > marked else 0


def _is_verb(words: list[Word], at: int, start: int) -> bool:
    lists, small = grammar(), words[at].small
    if small in AUXILIARIES and not words[at].text[:1].isupper():
        return True
    if at - start < (2 if words[start].small in _MARKERS else 1) or words[at].text[:1].isupper():
        return False
    if words[start].small in _NUMBERS and not is_plural(words[at - 1].small):
        return False  # "the five bullet points"
    return small in lists.singular or small in lists.past or small in lists.adverbs or (
        small in lists.strong_verbs and words[at - 1].small.endswith("s"))  # fmt: skip


def _is_name(words: list[Word], at: int, subject: str) -> bool:
    word = words[at]
    plain = word.text.strip("\"'(`")
    if not plain[:1].isupper() or word.small.split("'")[0] in PRONOUNS or _is_called(words, at):
        return False
    lists = grammar()
    if at == 0:
        common = word.small in lists.leading | lists.prepositions | lists.subordinators | lists.adverbs | lists.bases
        marked = (
            word.small in AUXILIARIES | lists.determiners | FUNCTION_WORDS
            or word.small.endswith("ing")
            or word.small in grammar().interjections
        )
        known = (
            subject.startswith(word.text) or bool(extract(plain)) or (len(words) > 1 and words[1].text[:1].isupper())
        )
        return known and not (common or marked)
    return True


def _is_called(words: list[Word], at: int) -> bool:
    """True for a name that addresses a person: at the beginning before a comma, at the end behind one."""
    if at == 0:
        return words[at].text.endswith((",", "!"))
    return at == len(words) - 1 and words[at - 1].text.endswith(",")


def _mention(words: list[Word], text: str, clause: Clause | None) -> Mention | None:
    first = words[0]
    nouns = words[1:] if first.small in _MARKERS else words
    if not nouns or nouns[-1].small in grammar().vague:
        return None
    written = text[nouns[0].start : nouns[-1].end].strip(' ,;:.!?()"')
    written = written.removesuffix("'s")
    kind, named = _kind(nouns)
    if kind == "name" and any(each.kind == "person" for each in extract(written)):
        kind = "person"
    if named:
        shown = named
    elif first.small in ("a", "an", "one"):
        shown = f"the {written}"
    elif first.small in _NUMBERS:
        shown = f"the {first.small} {written}"
    elif first.small in ("his", "her", "their"):
        return None
    else:
        shown = f"{first.text} {written}".lower() if first.small in _MARKERS and written.islower() else (
            f"{first.small} {written}" if first.small in _MARKERS else written)  # fmt: skip
    subject = clause is not None and clause.subject.endswith(written)
    if kind == "thing" and first.small not in _MARKERS and not named and not words[0].text[:1].isupper():
        return None
    return Mention(shown, kind, subject)


def _kind(nouns: list[Word]) -> tuple[Kind, str]:
    """The kind of a noun phrase, and the name of the person in it: "supervisor Prof. Haugen"."""
    lists = grammar()
    title = next((at for at, word in enumerate(nouns) if word.small in grammar().titles), None)
    if title is not None and title + 1 < len(nouns):
        return "person", _joined(nouns[title:])
    for at, word in enumerate(nouns):
        bare = word.small.removesuffix("'s")
        kind: Kind | None = (
            "he" if bare in lists.people.he else "she" if bare in lists.people.she
            else "person" if bare in lists.people.either else None
        )  # fmt: skip
        if (
            kind is not None
            and not word.small.endswith("'s")
            and (at == len(nouns) - 1 or nouns[at + 1].text[:1].isupper())
        ):
            return kind, _joined(nouns[at + 1 :])
        if (
            kind is not None
            and bare == word.small
            and at + 1 < len(nouns)
            and at + 2 == len(nouns)
            and nouns[at + 1].small.isalpha()
        ):
            return kind, ""
    last = nouns[-1]
    if len(nouns) == 1 and last.start == 0 and last.small.endswith("s") and not last.small.endswith(("ss", "us", "is")):
        return "several", ""
    if all(word.text.strip("\"'(`")[:1].isupper() for word in nouns):
        return "name", ""
    ends = last.small.endswith("s") and not last.small.endswith(("ss", "us", "is", "'s"))
    return ("several" if ends or last.small in lists.plurals else "thing"), ""


def _joined(words: list[Word]) -> str:
    names = []
    for word in words:
        if not word.text[:1].isupper():
            break
        names.append(word.text.strip(",;:!?\"'()").removesuffix("'s"))
    return " ".join(names).rstrip(".")


# ---------------------------------------------------------------- pronouns

_SUBJECT: Final = regex(
    r"(?P<word>he|she|they|it|his|her|their|its|this|that|these|those|mine|both)(?P<short>'(?:s|re|ve|ll|d))?(?![\w'])",
    re.IGNORECASE,
)
_EXPLETIVE: Final = regex(
    r"(?:it|that|this)(?:'s| is| was| has been) (?:not |really |very |so |too )*(?:allowed|forbidden|important"
    r"|mandatory|decided|agreed"
    r"|raining|snowing|sunny|late|early|hot|cold|hard|easy|nice|good|great|fine|better|best|true|time|up to"
    r"|just|about"
    r"|because|why|how|what|when|worth|ok|okay)\b|it turn(?:s|ed) out\b|it takes (?:me|us)\b|that way\b",
    re.IGNORECASE,
)
LASTING: Final = regex(
    r"(?:this|that) (?:project|repo|repository|codebase|team|company|year|app|machine|laptop|service|monorepo|month"
    r"|week|summer"
    r"|winter|spring|autumn|semester|term|season|house|flat|city|town|village|store|shop)\b",
    re.IGNORECASE,
)
_OBJECT: Final = regex(
    r"(?<![\w'])(?P<word>him|her|them|it|there|they|he|she)(?P<short>'(?:s|re|ve|ll|d))?(?![\w'-])", re.IGNORECASE
)
_OWNER: Final = frozenset({"his", "her", "their", "its"})
_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "he": ("he", "person"), "him": ("he", "person"), "his": ("he", "person"),
    "she": ("she", "person"), "her": ("she", "person"), "they": ("several", "person", "name"), "them": ("several",),
    "their": ("several", "person", "name"), "it": ("thing", "name"), "its": ("thing", "name"),
    "this": ("thing", "name"), "there": ("thing", "name"), "these": ("several",), "those": ("several",),
}  # fmt: skip
_FORMS: Final = {"'s": "is", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would"}
_AFTER_VERB: Final = regex(
    r"\s+(?:seems?|sounds?|looks?|feels?|fails?|broke|means?|makes?|helps?|happens?|worked|should|would|could)\b"
)


def resolved(sentence: str, discourse: Discourse) -> str | None:
    """`sentence`, one clause with straight apostrophes, with its pronouns replaced by what they stand for; None if one
    of them is unclear. "This project" and "it turned out" need no antecedent."""
    found = _SUBJECT.match(sentence)
    if found is None:
        return _with_objects(sentence, discourse)
    if _EXPLETIVE.match(sentence) or LASTING.match(sentence):
        return sentence
    word, rest = found["word"].lower(), sentence[found.end() :]
    if word in ("that", "these", "those", "both", "mine", "this") or (word == "it" and _AFTER_VERB.match(rest)):
        return _determined(sentence, discourse) if word == "mine" else None
    antecedent = _antecedent(word, discourse)
    if antecedent is None or _is_noun_next(word, rest) is False:
        return None
    if word in _OWNER:
        return f"{_owner(antecedent)}{rest}"
    if word == "they" and not found["short"]:
        rest = _agreeing(antecedent, rest)
    short = found["short"] or ""
    form = _FORMS.get(short, "")
    if short == "'s" and (_HAS.match(rest) or _is_done(rest)):
        form = "has"
    return _with_objects(
        f"{antecedent} {form}{rest}" if form else f"{antecedent}{rest}", discourse, skip=len(antecedent)
    )


_PERSONAL: Final = frozenset({"he", "she", "his", "her", "him"})
_HAS: Final = regex(r" (?:been|got|had|lived|worked|moved|started|stopped|left|never|always)\b")


def _antecedent(word: str, discourse: Discourse) -> str | None:
    """Return the antecedent of a pronoun: of the kinds that fit best, then of the others."""
    if word in ("they", "their", "them"):
        return discourse.last(("several",)) or discourse.both(_KINDS[word])
    return discourse.last(_KINDS[word]) or (discourse.last(("name",)) if word in _PERSONAL else None)


def _agreeing(antecedent: str, rest: str) -> str:
    """Return the words behind "they" as they stand behind a name: "Globex needs"."""
    first = rest.split(maxsplit=1)
    plural = is_plural(antecedent.rsplit(maxsplit=1)[-1].lower()) or " and " in antecedent
    if not first or plural or first[0] not in grammar().bases | {"are", "have", "do", "were", "don't", "aren't"}:
        return rest
    return f" {with_name(first[0])}{rest[1 + len(first[0]) :]}"


def _is_done(rest: str) -> bool:
    """True if a participle follows that is no state: "it's paid off", not "it's written in Go"."""
    words, lists = words_in(rest), grammar()
    return bool(words) and words[0].small in lists.participles and words[0].small not in lists.states


def _is_noun_next(word: str, rest: str) -> bool | None:
    """False for "her" and the like without a noun behind it."""
    return None if word not in _OWNER else bool(rest.strip()) and rest[:1] == " "


def _owner(antecedent: str) -> str:
    return f"{antecedent}'" if antecedent.endswith("s") else f"{antecedent}'s"


def _determined(sentence: str, discourse: Discourse) -> str | None:
    """ "Mine are in iCloud" with the noun of the sentence before."""
    noun = discourse.last(("several", "thing"))
    return None if noun is None else f"my {noun.split()[-1]}{sentence[4:]}"


def _with_objects(sentence: str, discourse: Discourse, skip: int = 0) -> str | None:
    """`sentence` with the pronouns behind its subject replaced; one that its own words explain stays."""
    unclear = False
    named = mentions(sentence)

    def instead(found: re.Match[str]) -> str:
        nonlocal unclear
        word = found["word"].lower()
        if found.start() < skip or _stays(sentence, found, word):
            return found[0]
        several = word in ("they", "them")
        names = [
            each for each in named if (each.kind in ("several", "name")) or (each.kind != "several" and not several)
        ]
        if word != "there" and _is_explained(sentence[: found.start()], names):
            return found[0]
        antecedent = _antecedent(word, discourse)
        if antecedent is None:
            unclear = True
            return found[0]
        if word == "there":
            return f"{found[0]} ({antecedent})"
        return f"{antecedent} {_FORMS[found['short']]}" if found["short"] else antecedent

    replaced = _OBJECT.sub(instead, sentence)
    return None if unclear else replaced


_LINKS: Final = regex(r"\b(?:and|but|that|which|who|because|since|so|if|when|while|before|after)\b", re.IGNORECASE)


def _is_explained(before: str, names: Sequence[Mention]) -> bool:
    """True if the words before a pronoun name what it stands for, in a clause of their own: "I bought a bike and ride
    it"; or their subject may be it."""
    if not any(each.text.split()[-1] in before for each in names):
        return False
    return _LINKS.search(before) is not None or not _BY_SPEAKER.match(before)


_BY_SPEAKER: Final = regex(r"(?:i|we)\b", re.IGNORECASE)


def _stays(sentence: str, found: re.Match[str], word: str) -> bool:
    """True for a possessive "her", for "there is", and for a pronoun of a clause inside."""
    rest = sentence[found.end() :]
    if word == "her":
        return (
            re.match(
                r" (?!and\b|or\b|to\b|at\b|on\b|in\b|with\b|for\b|every\b|a\b|the\b|my\b|that\b|because\b)\w", rest
            )
            is not None
        )
    if word == "there":
        return re.match(r"(?:'s| (?:is|are|was|were)\b)", rest) is not None or found.start() == 0
    return found.start() == 0
