"""Entities of a text: what it names, in the order and by the rules of spec 6.3.

One pass over the words finds patterns (b), technology terms (c) and people (e); a second one, only where there is a
store to ask, finds what is known already (d). Nothing but a word and its neighbours is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from mnemond.model.memory import Entity, EntityType
from mnemond.text.entity_lists import ALIASES, ORDINARY, ORDINARY_AT_START, PHRASES, SURNAMES, TERMS
from mnemond.text.entity_shapes import (
    LONGEST,
    Shape,
    acronym,
    address,
    handle,
    is_ordinary,
    is_path,
    kind_of,
    mixed_shape,
    parts,
    split,
    title,
)
from mnemond.text.resources import regex
from mnemond.text.tokens import fold

# People named in a text: capitalised words after a cue or before a possessive (spec 6.3 (e)), and 同事张三.


TITLES: Final = frozenset({"mr", "mrs", "ms", "dr", "prof"})
"""Cues that a full stop may part from the name."""

CUES: Final = TITLES | {
    *("with", "met", "by", "from", "told", "asked", "named", "cc", "hi", "hey", "hello", "dear"),
    *("colleague", "colleagues", "coworker", "coworkers", "teammate", "manager", "boss", "friend"),
    *("brother", "sister", "husband", "wife", "son", "daughter"),
}
"""Words after which a capitalised word is somebody."""

STARTS: Final = frozenset('.!?\n:;-*#>|"“”(。！？：；（•')
"""Marks after which a sentence begins, and with it a capital that says nothing."""

_NO_NAME: Final = ("tion", "tions", "sion", "ment", "ments", "ness", "ility", "ivity", "ism", "ship", "ology", "ings")
"""Endings of abstract nouns, which headings write with a capital: "Start with Gratitude, Lead with Intention"."""

_AND: Final = frozenset({"and", "&"})
_CHINESE: Final = regex(
    rf"(?:同事|朋友|老师|经理|老板|客户|告诉)((?:[小老][{SURNAMES}])|[{SURNAMES}][\u4e00-\u9fff]{{1,2}}?)"
    r"(?=的|说|告诉|讨论|负责|提|建议|认为|一起|和|与|跟|在|会|已|要|把|将|$)"
)


def at_start(words: Sequence[str], at: int) -> bool:
    """Whether a sentence begins at word `at`."""
    return at == 0 or words[at - 1] in STARTS


def bare(word: str) -> str:
    """`word` without a possessive or a contracted verb."""
    return word if word.isalnum() else word.replace("’", "'").partition("'")[0]


def is_name(word: str) -> bool:
    """Whether `word`, without suffix, is written like a name and is no ordinary word."""
    spelled = word.istitle() or (word.startswith("Mc") and word[2:].istitle())
    if not (spelled and len(word) > 1 and word.replace("-", "").isalpha()):
        return False
    return not (is_ordinary(word) or word.endswith(_NO_NAME))


def person_at(words: Sequence[str], at: int) -> str:
    """The person whose name begins at word `at`, of one or two words; "" where nothing says that it is one."""
    word = words[at]
    first = bare(word)
    if not is_name(first):
        return ""
    if first != word:
        is_activity = at_start(words, at) and first.endswith("ing")  # "Painting's great"
        return first if _is_cued(words, at) or (_is_possessive(word) and not is_activity) else ""
    following = words[at + 1] if at + 1 < len(words) else ""
    second = bare(following)
    pair = f"{first} {second}" if is_name(second) and second not in TERMS else ""
    if _is_cued(words, at):
        return pair or ("" if _goes_on(following) else first)
    return pair if pair and _is_possessive(following) and not _may_be_verb(words, at) else ""


def chinese_people(run: str) -> list[str]:
    """People a run of Han names after a word such as 同事, by surname and what follows the name."""
    return _CHINESE.findall(run)


def _goes_on(following: str) -> bool:
    """Whether a capitalised word that is no name follows, as in a heading: "Start with Positive Feedback"."""
    return len(following) > 1 and following.istitle() and following.isalpha() and following not in TERMS


def _is_possessive(word: str) -> bool:
    return word.endswith(("'s", "’s"))


def _is_cued(words: Sequence[str], at: int) -> bool:
    before = words[at - 1].lower() if at else ""
    if before == "." and at > 1:
        return words[at - 2].lower() in TITLES
    if before in _AND and at > 2:  # with Alice and Bob
        return is_name(words[at - 2]) and words[at - 2] not in TERMS and _after_cue(words, at - 2)
    return before in CUES


def _after_cue(words: Sequence[str], at: int) -> bool:
    """Whether a cue stands before word `at`, or before the capitalised word before it."""
    before = words[at - 1].lower()
    return before in CUES or (at > 1 and is_name(words[at - 1]) and words[at - 2].lower() in CUES)


def _may_be_verb(words: Sequence[str], at: int) -> bool:
    """Whether word `at` may be what is done with Bob's table rather than Bob's first name: "Migrate", "Choosing"."""
    return at_start(words, at) or words[at].endswith("ing")


MOST = 50
"""Entities of one memory (spec 6.3)."""

MAX_LOOK_UPS = 800
"""Questions to the store about one text: about the first 400 words of it."""

LONGEST_KNOWN = 3
"""Capitalised words in a row that are looked up as one name."""

_HAN: Final = (4, 3, 2)
"""Characters of the pieces of a run of Han that are looked up, longest first."""

_SHOUT: Final = 6
"""Words in capitals before a word that are looked at for an ordinary one among them."""

_FIRST_PAIRED: Final = "\u2e80"
"""The first character of the scripts that are written without spaces."""

_PLAIN: Final = frozenset(word for word in ORDINARY if len(word) > 1 and word.isalnum() and word.islower())
"""Ordinary words that the store is not asked about."""

_STATUS: Final = regex(r"[45](?:\d\d|xx)")
_RELEASE: Final = regex(r"v?\d")
_MAX_PARTS: Final = 12
_FIRST_OF_PHRASES: Final = {
    first: tuple(sorted((tuple(p.split()) for p in PHRASES if p.split()[0] == first), key=len, reverse=True))
    for first in {phrase.split()[0] for phrase in PHRASES}
}
_SILENT: Final = frozenset(
    form
    for word in _PLAIN
    for form in (word, word.capitalize())
    if form.isalpha() and form not in TERMS and form not in _FIRST_OF_PHRASES
)
"""Words that neither are an entity nor begin one, also with a capital: half of a text, told by one look-up."""

Known = Callable[[str], str | None]
"""From a canonical name to the spelling a store keeps for it; None where the store does not know it."""


class _Reading(msgspec.Struct, gc=False):
    """What one pass over the words finds, by source, each in the order of the text."""

    patterns: list[Shape]
    terms: list[str]
    people: list[str]


def nothing_known(canonical: str) -> str | None:
    """The answer of a store that knows no entity."""
    return None


def canonical_name(name: str, aliases: Mapping[str, str] = ALIASES) -> str:
    """What equality of entities means: folded (NFKC, no case), blanks single, alias resolved.

    `aliases` has folded keys, and its values are aliases of nothing else (`mnemond.text.entity_lists.extended`).
    """
    if name.isalnum() and name.isascii():
        folded = name.lower()
        if folded not in aliases:
            return folded
    folded = " ".join(fold(name).split())
    right = aliases.get(folded)
    return folded if right is None else " ".join(fold(right).split())


def extract(
    text: str,
    provided: Sequence[str] = (),
    *,
    mode: str = "merge",
    known: Known = nothing_known,
    aliases: Mapping[str, str] = ALIASES,
) -> tuple[Entity, ...]:
    """At most `MOST` entities of `text`, no two with the same canonical name; those `provided` by the caller first.

    `mode`: "merge" takes both, "provided" only what the caller names, "auto" only what the text names. A name is spelt
    as where it was seen first: "k8s" stays "k8s" and its canonical name is "kubernetes"; a known entity is spelt as
    the store spells it. Names the caller provides are taken as they are (their length is checked where they come in);
    of the text's own, those longer than 200 characters are left out.
    """
    found: dict[str, Entity] = {}
    if mode != "auto":
        for name in provided:
            _add(found, " ".join(name.split()), kind_of(name), aliases)
    if mode != "provided":
        for name, kind in _of_text(text, known, aliases):
            if len(name) <= LONGEST:
                _add(found, name, kind, aliases)
    return tuple(found.values())[:MOST]


def _add(found: dict[str, Entity], name: str, kind: EntityType, aliases: Mapping[str, str]) -> None:
    """The first spelling stays; a type that says more than "concept" is taken from wherever it comes."""
    canonical = canonical_name(name, aliases)
    earlier = found.get(canonical)
    if earlier is None:
        if canonical:
            found[canonical] = Entity(name, canonical, kind)
    elif earlier.kind == "concept" != kind:
        found[canonical] = Entity(earlier.name, canonical, kind)


def _of_text(text: str, known: Known, aliases: Mapping[str, str]) -> Iterator[Shape]:
    """Names and types in the order of the sources (b), (c), (d), (e)."""
    words = split(text)
    reading = _read(words)
    yield from dict.fromkeys(reading.patterns)
    for term in dict.fromkeys(reading.terms):
        yield term, "tool"
    if known is not nothing_known:
        for name in dict.fromkeys(_known_names(words, known, aliases)):
            kind = kind_of(name)
            yield name, "person" if kind == "concept" and _is_like_a_person(name) else kind
    for name in dict.fromkeys(reading.people):
        kind = kind_of(name)
        yield name, "person" if kind == "concept" else kind


def _is_like_a_person(name: str) -> bool:
    """Known names are people (spec 6.3) when they are written like one: one or two capitalised words."""
    return name.istitle() and name.count(" ") < 2


# ---------------------------------------------------------------- patterns, terms, people


def _read(words: list[str]) -> _Reading:
    reading = _Reading([], [], [])
    resume = 0
    telling = [
        at
        for at, word in enumerate(words)
        if word not in _SILENT and not (word.islower() and word.isalpha() and word not in TERMS) and len(word) > 1
    ]
    for at in telling:
        if at >= resume:
            resume = at + _take(words, at, reading)
    return reading


def _take(words: list[str], at: int, reading: _Reading) -> int:
    """Put into `reading` what word `at` says; returns how many words that took."""
    word = words[at]
    if word.isalpha():
        return _take_plain(words, at, word, reading)
    first = word[0]
    if first in "《「":
        name = title(word)
        _append(reading.patterns, (name, kind_of(name)) if name else None)
    elif first == "h" and "://" in word:
        _append(reading.patterns, address(word))
    elif "'" in word or "’" in word:
        return _take_plain(words, at, bare(word), reading)
    elif first == "@":
        _append(reading.patterns, handle(word, words[at + 1] if at + 1 < len(words) else ""))
    elif not word.isdigit() and len(word) <= LONGEST:
        _take_joined(words, at, reading)
    return 1


def _take_plain(words: list[str], at: int, word: str, reading: _Reading) -> int:
    """A word of letters alone, `word` being words[at] without its possessive."""
    if size := _phrase_at(words, at):
        reading.terms.append(" ".join(words[at : at + size]))
        return size
    if word.isupper() and word.isascii():
        return _take_capitals(words, at, word, reading)
    if word in TERMS and (word.istitle() or word.islower()):
        if not (word in ORDINARY_AT_START and at_start(words, at)):
            reading.terms.append(word)
    elif word[0] >= _FIRST_PAIRED:
        reading.people += chinese_people(word)
    elif person := person_at(words, at):
        reading.people.append(person)
        return 1 + person.count(" ")
    elif not word.istitle():
        _append(reading.patterns, mixed_shape(word))
    return 1


def _take_capitals(words: list[str], at: int, word: str, reading: _Reading) -> int:
    if word == "HTTP" and at + 1 < len(words) and _STATUS.fullmatch(words[at + 1]):
        reading.patterns.append((f"HTTP {words[at + 1]}", "error"))
        return 2
    if word in TERMS or not _is_shouted(words, at):
        _append(reading.patterns, acronym(word))
    return 1


def _take_joined(words: list[str], at: int, reading: _Reading) -> None:
    """A word with digits, slashes, dots or hyphens: itself if it has a shape, else what it is joined from."""
    word = words[at]
    if word in TERMS:
        reading.terms.append(word)
    elif "@" in word:  # an address of mail is nobody's name; a release has its tool before the sign
        name, _, rest = word.partition("@")
        if name in TERMS and _RELEASE.match(rest):
            reading.terms.append(name)
    elif is_path(word) and ("/" in word or words[at + 1 : at + 2] != ["("]):
        reading.patterns.append((word, "tool"))
    elif shape := acronym(word) or mixed_shape(word):
        reading.patterns.append(shape)
    elif person := person_at(words, at):
        reading.people.append(person)
    else:
        for part in parts(word)[:_MAX_PARTS]:
            _take_part(part, reading)


def _take_part(part: str, reading: _Reading) -> None:
    if part in TERMS:
        reading.terms.append(part)
    elif len(part) > 1:
        _append(reading.patterns, acronym(part) if part.isupper() else mixed_shape(part))


def _append(shapes: list[Shape], shape: Shape | None) -> None:
    if shape is not None:
        shapes.append(shape)


def _phrase_at(words: list[str], at: int) -> int:
    """Words of the longest term of several words that begins at `at`; 0 if none does."""
    for phrase in _FIRST_OF_PHRASES.get(words[at], ()):
        if tuple(words[at : at + len(phrase)]) == phrase:
            return len(phrase)
    return 0


def _is_shouted(words: list[str], at: int) -> bool:
    """Whether a word in capitals stands among ordinary ones in capitals: "DO NOT DELETE FOO"."""
    if at + 1 < len(words) and _is_loud(words[at + 1]):
        return True
    for before in range(at - 1, max(at - _SHOUT, 0) - 1, -1):
        if not words[before].isupper():
            return False
        if _is_loud(words[before]):
            return True
    return False


def _is_loud(word: str) -> bool:
    return len(word) > 1 and word.isupper() and word not in TERMS and (word.lower() in ORDINARY or len(word) > 6)


# ---------------------------------------------------------------- what the store knows


def _known_names(words: list[str], known: Known, aliases: Mapping[str, str]) -> list[str]:
    """Spellings of the store for the words it knows: capitalised in any spelling, others in exactly the store's."""
    found: list[str] = []
    asked = resume = 0
    for at, word in enumerate(words):
        if word in _PLAIN:
            asked += 1
        elif asked >= MAX_LOOK_UPS:
            break
        elif at < resume or (len(word) == 1 and word < _FIRST_PAIRED):
            continue
        elif word.islower() and word.isalnum() and word < _FIRST_PAIRED:
            asked += 1
            canonical = canonical_name(word, aliases) if word in aliases or not word.isascii() else word
            if known(canonical) == word and word not in ORDINARY:
                found.append(word)
        elif word[0] >= _FIRST_PAIRED and word.isalpha():
            asked += len(_HAN) * len(word)
            found += _known_in_run(word[: MAX_LOOK_UPS // len(_HAN)], known, aliases)
        elif len(word) > 1:
            asked += LONGEST_KNOWN
            name, size = _known_at(words, at, known, aliases)
            resume = at + size
            if name:
                found.append(name)
    return found


def _known_at(words: list[str], at: int, known: Known, aliases: Mapping[str, str]) -> tuple[str, int]:
    """(spelling, words taken) of the longest known name that begins at `at`; ("", 1) where there is none."""
    row = _capitalised(words, at)
    for size in range(len(row), 0, -1):
        name = " ".join(row[:size]) if size > 1 else row[0]
        spelling = known(canonical_name(name, aliases))
        if spelling is not None and (spelling == name or _may_differ(name)):
            return spelling, size
    return "", 1


def _capitalised(words: list[str], at: int) -> list[str]:
    """Up to three capitalised words in a row from `at`, without suffixes; the word at `at` at any rate."""
    first = words[at]
    row = [bare(first)]
    if first[0].isupper():
        for last, following in pairwise(words[at : at + LONGEST_KNOWN]):
            if row[-1] != last or not following[0].isupper():
                break
            row.append(bare(following))
    return row


def _may_differ(name: str) -> bool:
    """Whether a name may be known under another spelling: a capitalised one that is no ordinary word."""
    return name[:1].isupper() and name.lower() not in ORDINARY


def _known_in_run(run: str, known: Known, aliases: Mapping[str, str]) -> Iterator[str]:
    """Known names in a run of Han, Kana or Hangul, which has no words to go by: the longest from each place."""
    at = 0
    while at < len(run):
        for size in _HAN:
            piece = run[at : at + size]
            if len(piece) == size and (spelling := known(aliases.get(piece, piece))) is not None:
                yield spelling
                at += size - 1
                break
        at += 1
