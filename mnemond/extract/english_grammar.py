"""The grammar of an English clause: its subject, its finite verb and the rest, found by lists of words.

A shallow reading for plain sentences of a conversation. Where it finds no subject with a finite verb, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from mnemond.text.resources import on_first_use, read, regex, words_of

Tense = Literal["present", "past", "perfect", "progressive", "passive", "future", "modal", "conditional"]

MAX_SUBJECT: Final = 9
"""Words of a subject before its verb."""

MAX_LEAD: Final = 9
"""Words before a subject."""

MAX_WORDS: Final = 80
"""Words of a clause that are read."""

_WORD: Final = regex(r"\S+")
_MARKS: Final = "\"'“”‘’()[]*,.;:!?…"

PRONOUNS: Final = frozenset({"i", "we", "he", "she", "it", "they", "you"})
SINGULAR: Final = frozenset({"he", "she", "it"})

BE: Final = frozenset({"am", "is", "are", "was", "were", "isn't", "aren't", "wasn't", "weren't", "ain't"})
HAVE: Final = frozenset({"have", "has", "had", "haven't", "hasn't", "hadn't"})
DO: Final = frozenset({"do", "does", "did", "don't", "doesn't", "didn't"})
FUTURE: Final = frozenset({"will", "won't", "shall"})
CONDITIONAL: Final = frozenset({"would", "wouldn't", "could", "couldn't", "might", "may", "mightn't"})
MODAL: Final = frozenset({"can", "cannot", "can't", "must", "mustn't", "should", "shouldn't", "ought"})
AUXILIARIES: Final = BE | HAVE | DO | FUTURE | CONDITIONAL | MODAL
_SHORT: Final = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'s": "is"}
_PAST_AUXILIARIES: Final = frozenset({"was", "were", "wasn't", "weren't", "had", "hadn't", "did", "didn't"})


class Word(msgspec.Struct, frozen=True, gc=False):
    """A word of a clause: as it is written, in small letters without marks around it, and its place in the clause."""

    text: str
    small: str
    start: int
    end: int

    @property
    def closes(self) -> bool:
        """True if a mark follows it that ends a part of a sentence; a full stop within is of an abbreviation."""
        return self.text.endswith((",", ";", ":", "!", "?", "…"))


class Clause(msgspec.Struct, frozen=True):
    """A subject with its verb. `lead`: the words before the subject; `verb`: the base form of the main verb, "be" for a
    form of it; `rest`: all that follows the verb. `negated`: the verb is; `modal`: the modal verb, if there is one."""

    text: str
    lead: str
    subject: str
    verb: str
    tense: Tense
    rest: str
    negated: bool = False
    modal: str = ""
    participle: str = ""

    @property
    def head(self) -> str:
        """The first word of the subject in small letters."""
        return self.subject.split(maxsplit=1)[0].lower().strip(_MARKS) if self.subject else ""


class _People(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    he: frozenset[str]
    she: frozenset[str]
    either: frozenset[str]


class _AtHand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nouns: frozenset[str]
    always: frozenset[str]


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """data/english_grammar.toml describes the fields."""

    adverbs: frozenset[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    subordinators: frozenset[str]
    leading: frozenset[str]
    plurals: frozenset[str]
    strong_verbs: frozenset[str]
    people: _People
    at_hand: _AtHand
    anyone: frozenset[str]
    thoughts: frozenset[str]
    properties: frozenset[str]
    steps: frozenset[str]
    changes: frozenset[str]
    pursuits: frozenset[str]
    traits: frozenset[str]
    trait_endings: tuple[str, ...]
    moods: frozenset[str]
    states: frozenset[str]
    state_verbs: frozenset[str]
    habit: tuple[str, ...]
    today: tuple[str, ...]
    passing: tuple[str, ...]
    trouble: frozenset[str]
    failures: frozenset[str]
    lasting: frozenset[str]
    settled: frozenset[str]
    passing_participles: frozenset[str]
    unspecific: frozenset[str]
    passing_nouns: frozenset[str]
    ordinals: frozenset[str]
    ongoing: frozenset[str]
    weak_changes: frozenset[str]
    tolerance: frozenset[str]
    interjections: frozenset[str]
    saying: frozenset[str]
    ending: frozenset[str]
    vague: frozenset[str]
    titles: frozenset[str]


class _File(_Words, frozen=True, kw_only=True, forbid_unknown_fields=True):
    verbs: frozenset[str]
    irregular: tuple[str, ...]


class Grammar(_Words, frozen=True, kw_only=True):
    """The lists, and from each form of a verb to its base."""

    bases: frozenset[str]
    singular: dict[str, str]
    past: dict[str, str]
    participles: dict[str, str]
    gerunds: dict[str, str]
    persons: frozenset[str]


@on_first_use
def grammar() -> Grammar:
    """The lists of data/english_grammar.toml."""
    file = read("english_grammar", _File)
    irregular = {base: (past, done) for base, past, done in (each.split("/") for each in file.irregular)}
    past = {irregular[base][0] if base in irregular else with_ed(base): base for base in file.verbs}
    participles = {irregular[base][1] if base in irregular else with_ed(base): base for base in file.verbs}
    doubled = {f"{base}led": base for base in file.verbs if base[-1] == "l" and base[-2] in "aeiou"}  # "cancelled"
    return Grammar(
        **{name: getattr(file, name) for name in _Words.__struct_fields__},
        bases=file.verbs,
        singular={with_s(base): base for base in file.verbs} | {"has": "have"},
        past=past | doubled | {"learned": "learn", "spelled": "spell"},
        participles=participles
        | doubled
        | {"been": "be", "learned": "learn", "spelled": "spell", "got": "get", "gotten": "get"},
        gerunds={with_ing(base): base for base in file.verbs} | {"being": "be", "dying": "die", "lying": "lie"},
        persons=file.people.he | file.people.she | file.people.either,
    )


_VOWELS: Final = frozenset("aeiou")
_UNDOUBLED: Final = words_of(
    "answer cover deliver differ discover enter exceed exercise favour favor gather handle happen limit listen lower",
    "monitor offer open order process publish register remember render restrict suffer trigger visit vote water edit",
    "wonder target develop inherit reset credit budget host consider filter",
)
"""Verbs of several syllables whose last letter is not doubled."""


def with_s(base: str) -> str:
    """The form of a verb behind a name: "goes", "tries", "runs"."""
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{base}s"


def with_ed(base: str) -> str:
    """The regular past form: "moved", "tried", "stopped"."""
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return f"{base[:-1]}ied"
    return f"{_doubled(base)}ed"


def with_ing(base: str) -> str:
    """The form in -ing: "moving", "running"."""
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        return f"{base[:-1]}ing"
    return f"{_doubled(base)}ing"


def _doubled(base: str) -> str:
    """ "stop" → "stopp", "travel" → "travel"."""
    ends = len(base) > 2 and base[-1] not in frozenset("aeiouwxyl") and base[-2] in _VOWELS and base[-3] not in _VOWELS
    return base + base[-1] if ends and base not in _UNDOUBLED else base


def words_in(text: str) -> list[Word]:
    """The words of a clause, the first `MAX_WORDS`."""
    found = []
    for each in _WORD.finditer(text):
        small = each[0].lower().strip(_MARKS)
        if small:
            found.append(Word(each[0], small, each.start(), each.end()))
        if len(found) >= MAX_WORDS:
            break
    return found


# ---------------------------------------------------------------- the subject and its verb


def parse(text: str) -> Clause | None:
    """The subject and the verb of `text`, a clause with straight apostrophes; None if they cannot be found."""
    words = words_in(text)
    for start in _starts(words):
        found = _clause_at(text, words, start)
        if found is not None:
            return found
    return None


def begins_clause(words: Sequence[Word], start: int) -> bool:
    """True if a subject with its verb begins at `start`."""
    return start < len(words) and _verb_at(words, start) is not None


def _starts(words: Sequence[Word]) -> list[int]:
    """The places at which the subject may begin: at the beginning, or behind what leads up to it."""
    if not words:
        return []
    places = [0]
    lists = grammar()
    if words[0].small in lists.leading or words[0].small in lists.adverbs or words[0].small.isdigit():
        comma = next((at + 1 for at, word in enumerate(words[:MAX_LEAD]) if word.text.endswith(",")), 0)
        places += [comma] if comma else []
        if len(words) > 1 and words[1].small in lists.bases and words[0].small in lists.adverbs:
            return places  # "only do the small fixes"
        places += [
            at for at in range(1, min(MAX_LEAD, len(words)))
            if at != comma and (words[at].small.split("'")[0] in PRONOUNS or words[at].small in lists.determiners
                                or words[at].text[:1].isupper() or words[at - 1].small in lists.leading)
        ]  # fmt: skip
    return places


def _clause_at(text: str, words: Sequence[Word], start: int) -> Clause | None:
    at = _verb_at(words, start)
    if at is None:
        return None
    lead = text[: words[start].start].strip(" ,")
    if at == start and "'" in words[start].small:  # "I'm"
        subject, _, short = words[start].text.partition("'")
        form = _SHORT.get(f"'{short.lower().strip(_MARKS)}", "is")
        if form == "is" and at + 1 < len(words) and words[at + 1].small in ("got", "been", "had"):
            form = "has"
        return _verb_group(text, words, at, form, lead, subject)
    if words[at - 1].small.endswith("'s") and at > start and _is_short_is(words, at):
        subject = text[words[start].start : words[at - 1].end]
        return _verb_group(text, words, at - 1, "is", lead, subject.removesuffix("'s"))
    subject = text[words[start].start : words[at - 1].end]
    return _verb_group(text, words, at, words[at].small, lead, _without_adverbs(subject))


def _without_adverbs(subject: str) -> str:
    parts = subject.strip(" ,").split()
    while len(parts) > 1 and parts[-1].lower().strip(",") in grammar().adverbs:
        parts.pop()
    return " ".join(parts).strip(" ,")


def _verb_at(words: Sequence[Word], start: int) -> int | None:
    """The place of the finite verb of a subject that begins at `start`; `start` itself for "I'm"; behind the word for
    "Kasia's"."""
    first = words[start].small
    pronoun, mark, short = first.partition("'")
    if pronoun in PRONOUNS or pronoun in ("there", "that", "this", "who", "these", "those", "mine"):
        if mark and f"'{short}" in _SHORT:
            return start
        at = _behind_adverbs(words, start + 1)
        if not mark and at < len(words) and _may_follow_pronoun(words[at], pronoun) and not words[at - 1].closes:
            return at
        if pronoun in PRONOUNS or pronoun == "who":
            return None
    return _verb_of_noun(words, start)


def _behind_adverbs(words: Sequence[Word], at: int) -> int:
    while at < len(words):
        if words[at].small == "no" and at + 1 < len(words) and words[at + 1].small == "longer":
            at += 2
        elif words[at].small in grammar().adverbs or _is_ly(words[at].small):
            at += 1
        else:
            break
    return at


_NO_ADVERBS: Final = words_of(
    "family italy july early friendly assembly lonely lovely elderly likely silly ugly monopoly",
    "daily weekly monthly yearly hourly nightly quarterly",
)
"""Words in -ly that are no adverbs, or say something by themselves."""


def _is_ly(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly") and word.isalpha() and word not in grammar().bases | _NO_ADVERBS


def _may_follow_pronoun(word: Word, pronoun: str) -> bool:
    small, lists = word.small, grammar()
    if small in AUXILIARIES or small in lists.past:
        return True
    if pronoun in ("there", "mine", "that", "this", "these", "those"):
        return small in lists.singular and pronoun in ("that", "this")
    if (
        small in lists.determiners
        or small in lists.prepositions
        or small in lists.subordinators
        or not word.text[0].islower()
    ):
        return False
    if pronoun in SINGULAR or pronoun == "who":
        return small.endswith("s") and small.isalpha()
    return small in lists.bases or (
        small.isalpha() and not small.endswith(("s", "ly", "ing")) and small not in ("and", "or")
    )


def _verb_of_noun(words: Sequence[Word], start: int) -> int | None:
    lists = grammar()
    first = words[start]
    bare = start + 1 < len(words) and words[start + 1].small not in lists.bases
    if first.small in lists.adverbs and not (
        bare and first.small in ("all", "both", "even", "only", "nearly", "almost")
    ):
        return None
    if first.small in ("please", "pls", "kindly", "let", "let's"):
        return None
    if first.small in lists.prepositions or first.small in lists.subordinators or first.small in AUXILIARIES:
        return None
    plural = joined = inside = False
    last = min(len(words), start + MAX_SUBJECT + 1)
    for at in range(start, last):
        word = words[at]
        if at > start and _is_finite(words, at, plural=plural or joined):
            return at
        if at > start and not _may_continue(word, words[at - 1]):
            return None
        if word.small in ("that", "which", "who", "because", "if", "when", "but", "so", "while"):
            return None
        if word.closes and not (word.text.endswith(",") and _is_apposition(words, start, at)):
            return None
        if word.small in ("and", "&"):
            joined = True
        inside = inside or (word.small in lists.prepositions and first.small not in _PARTS)
        if not inside and word.small not in lists.adverbs:
            plural = is_plural(word.small)
    return None


_PARTS: Final = words_of("half most some all many both two three several none each")
"""Before "of": the noun behind it decides whether the subject is a plural."""

_BREAKING: Final = words_of("the a an my our your his her its their this that these those")


def _may_continue(word: Word, before: Word) -> bool:
    """True if `word` may be inside of a subject, behind `before`."""
    if word.small.split("'")[0] in PRONOUNS:
        return before.small in ("and", "&")
    lists = grammar()
    return word.small not in _BREAKING or before.small in lists.prepositions | {"and", "or", "all", "both", "&"}


def _is_apposition(words: Sequence[Word], start: int, at: int) -> bool:
    """ "My sister, Noor, cycles"; "Erik, the landlord, lives": the comma is followed by a few words and another one."""
    return any(word.text.endswith(",") for word in words[at + 1 : at + 5]) or any(
        word.text.endswith(",") for word in words[start:at]
    )


def is_plural(word: str) -> bool:
    """True for the plural of a noun, as far as it can be seen."""
    return word in grammar().plurals or (len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "'s")))


def _is_finite(words: Sequence[Word], at: int, *, plural: bool) -> bool:
    """True if the word at `at` is the verb of the words before it."""
    lists = grammar()
    small, before = words[at].small, words[at - 1].small
    behind_plural = is_plural(before) and before.isalpha() and not words[at - 1].text[:2].isupper()
    if (
        (before in lists.determiners and not (plural and before in ("both", "all")))
        or before in lists.prepositions
        or before in ("and", "or", "&")
    ):
        return False
    if small in AUXILIARIES:
        return small != "am"  # "2 am to 10 am"; behind "I" it is found before
    if before.endswith("'s") and _is_short_is(words, at):
        return True
    if small in ("time", "times", "timed") and (at + 1 >= len(words) or words[at + 1].small != "out"):
        return False
    following = words[at + 1].small if at + 1 < len(words) and not words[at].closes else ""
    if following in BE | HAVE | FUTURE | MODAL and small not in ("say", "says"):
        return False  # "the test runs are slow"
    if small in lists.singular:
        return not (behind_plural and before not in lists.plurals) and not (
            following in lists.strong_verbs and small not in ("uses", "has")
        )
    if small in lists.past:
        return True
    return (small in lists.bases and plural) or (not plural and _seems_verb(words[at], following))


_OBJECTS: Final = words_of(
    "us me him her it them itself the a an my our your his their its this that every each all two three"
)


def _seems_verb(word: Word, following: str) -> bool:
    """True for a word that no list has, with the ending of a verb and an object behind it: "judges every change"."""
    ends = word.small.endswith(("s", "ed")) and not word.small.endswith(("ss", "us", "is"))
    return ends and following in _OBJECTS and word.small.isalpha() and word.text.islower() and len(word.small) > 3


def _is_short_is(words: Sequence[Word], at: int) -> bool:
    """True if "'s" before `at` means "is": "Kasia's coeliac", not "Kasia's bike"."""
    small, lists = words[at].small, grammar()
    name = words[at - 1].text[:1].isupper() or words[at - 1].small in ("who's", "everything's", "everyone's")
    return small in ("a", "an", "not", "from", "the", "in", "at") or (
        small in lists.traits and name) or (small in lists.gerunds and small in lists.pursuits and name)  # fmt: skip


# ---------------------------------------------------------------- the forms of a verb


def _verb_group(text: str, words: Sequence[Word], at: int, form: str, lead: str, subject: str) -> Clause:
    """`form`: the finite form at `at`."""
    lists = grammar()
    negated = form.endswith("n't") or form == "cannot"
    behind = _behind_adverbs(words, at + 1)
    negated = negated or any(word.small in ("not", "never", "no") for word in words[at + 1 : behind])
    before = words[at - 1].small if at else ""
    negated = negated or before == "never" or (at > 1 and words[at - 2].small == "no" and before == "longer")
    following = words[behind] if behind < len(words) else None
    small = following.small if following else ""

    def made(verb: str, tense: Tense, rest_at: int, *, modal: str = "", participle: str = "") -> Clause:
        rest = text[words[rest_at].start :] if rest_at < len(words) else ""
        return Clause(text, lead, subject, verb, tense, rest, negated, modal, participle)

    if form in BE:
        tense: Tense = "past" if form in _PAST_AUXILIARIES else "present"
        goal = words[behind + 2] if behind + 2 < len(words) else None
        named = goal is not None and (goal.text[:1].isupper() or goal.small in lists.determiners)
        if small == "going" and behind + 1 < len(words) and words[behind + 1].small == "to" and not named:
            return made(_base_at(words, behind + 2), "future", behind + 3)
        if small in lists.gerunds:
            return made(lists.gerunds[small], "progressive", behind + 1, participle=small)
        if small in lists.participles and small not in lists.traits:
            return made(lists.participles[small], "passive", behind + 1, modal=tense, participle=small)
        return made("be", tense, behind)
    if form in HAVE:
        if small == "to" or (small == "got" and behind + 1 < len(words) and words[behind + 1].small == "to"):
            skip = 1 if small == "to" else 2
            return made(_base_at(words, behind + skip), "modal", behind + skip + 1, modal="must")
        if small == "got" and form != "had":
            return made("have", "present", behind + 1)
        if small in lists.participles or small == "had":
            base = "have" if small == "had" else lists.participles[small]
            return made(base, "perfect", behind + 1, participle=small)
        return made("have", "past" if form.startswith("had") else "present", behind)
    if form in DO and small in lists.bases | {"be"}:
        return made(small, "past" if form in _PAST_AUXILIARIES else "present", behind + 1)
    if form in DO:
        return made("do", "past" if form in _PAST_AUXILIARIES else "present", behind)
    if form in FUTURE | CONDITIONAL | MODAL:
        kind: Tense = "future" if form in FUTURE else "modal" if form in MODAL else "conditional"
        skip = behind + (form == "ought" and small == "to")
        return made(_base_at(words, skip), kind, skip + 1, modal=form)
    if form in ("get", "gets", "got") and small in lists.participles and small != "got":
        got: Tense = "past" if form == "got" else "present"
        return made(lists.participles[small], "passive", behind + 1, modal=got, participle=small)
    if form in lists.past and form not in lists.bases:
        return made(lists.past[form], "past", at + 1)
    if form in lists.singular:
        return made(lists.singular[form], "present", at + 1)
    if form not in lists.bases and form.endswith("s"):
        return made(form[:-1], "present", at + 1)
    return made(form, "past" if form.endswith("ed") and form not in lists.bases else "present", at + 1)


def _base_at(words: Sequence[Word], at: int) -> str:
    return words[at].small if at < len(words) else ""
