"""Entities of a text: the things and people that it names.

They come from six sources, in this order: names that the caller provides, patterns (paths, CamelCase, acronyms, titles
…), technology terms, names of people, organisations and places in sentences (`mnemond.text.names`), names that the
store knows, and people after a cue. One pass over the words finds patterns, terms and people after a cue, a second
one names in sentences, and a third one, only with a store to look names up in, the known ones. Each word is judged by
itself and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from mnemond.model.memory import Entity, EntityType
from mnemond.text.entity_lists import entity_lists
from mnemond.text.entity_shapes import (
    MAX_NAME,
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
from mnemond.text.name_lists import name_lists
from mnemond.text.names import names_in
from mnemond.text.names_chinese import chinese_names
from mnemond.text.resources import regex
from mnemond.text.tokens import fold

MAX_ENTITIES: Final = 50
"""Entities of one memory."""

MAX_LOOK_UPS: Final = 800
"""Look-ups in the store for one text: about the first 400 words of it."""

MAX_KNOWN_WORDS: Final = 3
"""Capitalised words in a row that are looked up as one name."""

_HAN_SIZES: Final = (4, 3, 2)
"""Characters of the pieces of a run of Han that are looked up, longest first."""

_FIRST_PAIRED: Final = "\u2e80"
"""The first character of the scripts that are written without spaces."""

Known = Callable[[str], str | None]
"""From a canonical name to the spelling that a store keeps for it; None if the store does not know it."""


def nothing_known(canonical: str) -> str | None:
    """A `Known` without entities."""
    return None


def canonical_name(name: str, aliases: Mapping[str, str] | None = None) -> str:
    """The key by which names are equal: folded (NFKC, no case), blanks single, alias resolved.

    `aliases` has folded keys, and its values are aliases of nothing else (`entity_lists.extended`); the built-in ones
    if None.
    """
    if aliases is None:
        aliases = entity_lists().aliases
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
    aliases: Mapping[str, str] | None = None,
) -> tuple[Entity, ...]:
    """At most `MAX_ENTITIES` entities of `text`, no two with the same canonical name; those in `provided` first.

    `mode`: "merge" takes both, "provided" only names of the caller, "auto" only names of the text. A name keeps its
    first spelling: "k8s" stays "k8s" with the canonical name "kubernetes"; a known entity is spelt as in the store.
    Provided names are taken as they are (their length is checked where they come in); names of the text that are longer
    than `MAX_NAME` are left out.
    """
    if aliases is None:
        aliases = entity_lists().aliases
    found: dict[str, Entity] = {}
    if mode != "auto":
        for name in provided:
            _add(found, " ".join(name.split()), kind_of(name), aliases)
    if mode != "provided":
        for name, kind in _named_in(text, known, aliases):
            if len(name) <= MAX_NAME:
                _add(found, name, kind, aliases)
    return tuple(found.values())[:MAX_ENTITIES]


def _add(found: dict[str, Entity], name: str, kind: EntityType, aliases: Mapping[str, str]) -> None:
    """Keep the first spelling, and the first type that says more than "concept"."""
    canonical = canonical_name(name, aliases)
    earlier = found.get(canonical)
    if earlier is None:
        if canonical:
            found[canonical] = Entity(name, canonical, kind)
    elif earlier.kind == "concept" != kind:
        found[canonical] = Entity(earlier.name, canonical, kind)


def _named_in(text: str, known: Known, aliases: Mapping[str, str]) -> Iterator[Shape]:
    """Names and types in the order of the sources."""
    words = split(text)
    reader = _Reader(words)
    reader.read()
    named = _names_in_sentences(words)
    spelled = {name for name, _ in named}
    yield from dict.fromkeys(pattern for pattern in reader.patterns if pattern[0] not in spelled)
    for term in dict.fromkeys(reader.terms):
        yield term, "tool"
    yield from dict.fromkeys(named)
    if known is not nothing_known:
        for name in dict.fromkeys(_known_names(words, known, aliases)):
            kind = kind_of(name)
            yield name, kind
    parts_of_names = {part for name in spelled for part in (*map(bare, name.split()), name[:2])}
    not_names = name_lists().not_names
    for name in dict.fromkeys(reader.people):
        if name.lower() in not_names:
            continue
        if not parts_of_names.isdisjoint(name.split()):
            continue
        kind = kind_of(name)
        yield name, "person" if kind == "concept" else kind


def _names_in_sentences(words: Sequence[str]) -> list[Shape]:
    """Names of people, organisations and places, of the words with capitals and of the runs of Han."""
    found = names_in(words)
    for word in words:
        if word[0] >= _FIRST_PAIRED and len(word) > 1:
            found += chinese_names(word)
    return found


# ---------------------------------------------------------------- patterns, terms, people

_STATUS: Final = regex(r"[45](?:\d\d|xx)")
_RELEASE: Final = regex(r"v?\d")
_MAX_PARTS: Final = 12

_SHOUT: Final = 6
"""Words in capitals before a word that are searched for an ordinary one."""


class _Reader:
    """One pass over the words of a text; `patterns`, `terms` and `people` are in the order of the text."""

    def __init__(self, words: list[str]) -> None:
        self.patterns: list[Shape] = []
        self.terms: list[str] = []
        self.people: list[str] = []
        self._words = words
        self._lists = entity_lists()

    def read(self) -> None:
        silent, terms = self._lists.silent, self._lists.terms
        telling = [
            at
            for at, word in enumerate(self._words)
            if word not in silent and not (word.islower() and word.isalpha() and word not in terms) and len(word) > 1
        ]
        resume = 0
        for at in telling:
            if at >= resume:
                resume = at + self.take(at)

    def take(self, at: int) -> int:
        """Add the entity that begins at word `at`, if any; return how many words were used."""
        word = self._words[at]
        if word.isalpha():
            return self._take_plain(at, word)
        first = word[0]
        if first in "《「":
            name = title(word)
            self._append((name, kind_of(name)) if name else None)
        elif first == "h" and "://" in word:
            self._append(address(word))
        elif "'" in word or "’" in word:
            return self._take_plain(at, bare(word))
        elif first == "@":
            self._append(handle(word, self._words[at + 1] if at + 1 < len(self._words) else ""))
        elif not word.isdigit() and len(word) <= MAX_NAME:
            self._take_joined(at)
        return 1

    def _take_plain(self, at: int, word: str) -> int:
        """A word of letters alone; `word` is the one at `at` without its possessive."""
        lists = self._lists
        for phrase in lists.phrases_by_first.get(self._words[at], ()):
            if tuple(self._words[at : at + len(phrase)]) == phrase:
                self.terms.append(" ".join(phrase))
                return len(phrase)
        if word.isupper() and word.isascii():
            return self._take_capitals(at, word)
        if word in lists.terms and (word.istitle() or word.islower()):
            if not (word in lists.ordinary_at_start and _starts_sentence(self._words, at)):
                self.terms.append(word)
        elif word[0] >= _FIRST_PAIRED:
            self.people += _CHINESE_PERSON.findall(word)
        elif person := _person_at(self._words, at):
            self.people.append(person)
            return 1 + person.count(" ")
        elif not word.istitle():
            self._append(mixed_shape(word))
        return 1

    def _take_capitals(self, at: int, word: str) -> int:
        if word == "HTTP" and at + 1 < len(self._words) and _STATUS.fullmatch(self._words[at + 1]):
            self.patterns.append((f"HTTP {self._words[at + 1]}", "error"))
            return 2
        if word in self._lists.terms or not self._is_shouted(at):
            self._append(acronym(word))
        return 1

    def _take_joined(self, at: int) -> None:
        """A word with digits, slashes, dots or hyphens: itself if it has a shape, else the words it is joined from."""
        words, word = self._words, self._words[at]
        if word in self._lists.terms:
            self.terms.append(word)
        elif "@" in word:  # a mail address is no name; a release has its tool before the sign
            name, _, rest = word.partition("@")
            if name in self._lists.terms and _RELEASE.match(rest):
                self.terms.append(name)
        elif is_path(word) and ("/" in word or words[at + 1 : at + 2] != ["("]):
            self.patterns.append((word, "tool"))
        elif shape := acronym(word) or mixed_shape(word):
            self.patterns.append(shape)
        elif person := _person_at(words, at):
            self.people.append(person)
        else:
            for part in parts(word)[:_MAX_PARTS]:
                if part in self._lists.terms:
                    self.terms.append(part)
                elif len(part) > 1:
                    self._append(acronym(part) if part.isupper() else mixed_shape(part))

    def _append(self, shape: Shape | None) -> None:
        if shape is not None:
            self.patterns.append(shape)

    def _is_shouted(self, at: int) -> bool:
        """Return True for a word in capitals among ordinary ones in capitals: "DO NOT DELETE FOO"."""
        words = self._words
        if at + 1 < len(words) and self._is_loud(words[at + 1]):
            return True
        for before in range(at - 1, max(at - _SHOUT, 0) - 1, -1):
            if not words[before].isupper():
                return False
            if self._is_loud(words[before]):
                return True
        return False

    def _is_loud(self, word: str) -> bool:
        return (
            len(word) > 1
            and word.isupper()
            and word not in self._lists.terms
            and (word.lower() in self._lists.ordinary or len(word) > 6)
        )


# ---------------------------------------------------------------- people: capitalised words after a cue or possessive

_TITLES: Final = frozenset({"mr", "mrs", "ms", "dr", "prof"})
"""Cues that a full stop may part from the name."""

_CUES: Final = _TITLES | {
    *("with", "met", "by", "from", "told", "asked", "named", "cc", "hi", "hey", "hello", "dear"),
    *("colleague", "colleagues", "coworker", "coworkers", "teammate", "manager", "boss", "friend"),
    *("brother", "sister", "husband", "wife", "son", "daughter"),
}
"""Words after which a capitalised word is a person."""

_SENTENCE_STARTS: Final = frozenset('.!?\n:;-*#>|"“”(。！？：；（•')
"""Marks after which a sentence begins, so that the capital of its first word means nothing."""

_ABSTRACT_ENDINGS: Final = (
    "tion", "tions", "sion", "ment", "ments", "ness", "ility", "ivity", "ism", "ship", "ology", "ings",
)  # fmt: skip
"""Endings of nouns that headings capitalise: "Start with Gratitude, Lead with Intention"."""

_CHINESE_PERSON: Final = regex(
    lambda: (
        rf"(?:同事|朋友|老师|经理|老板|客户|告诉)((?:[小老][{entity_lists().surnames}])"
        rf"|[{entity_lists().surnames}][\u4e00-\u9fff]{{1,2}}?)"
        r"(?=的|说|告诉|讨论|负责|提|建议|认为|一起|和|与|跟|在|会|已|要|把|将|$)"
    )
)


def bare(word: str) -> str:
    """`word` without a possessive or a contracted verb."""
    return word if word.isalnum() else word.replace("’", "'").partition("'")[0]


def is_name(word: str) -> bool:
    """Return True if `word`, without suffix, is written like a name and is no ordinary word."""
    spelled = word.istitle() or (word.startswith("Mc") and word[2:].istitle())
    if not (spelled and len(word) > 1 and word.replace("-", "").isalpha()):
        return False
    return not (is_ordinary(word) or word.endswith(_ABSTRACT_ENDINGS))


def _person_at(words: Sequence[str], at: int) -> str:
    """The person whose name of one or two words begins at word `at`; "" if nothing shows that it is one."""
    word = words[at]
    first = bare(word)
    if not is_name(first):
        return ""
    if first != word:
        is_activity = _starts_sentence(words, at) and first.endswith("ing")  # "Painting's great"
        return first if _is_cued(words, at) or (_is_possessive(word) and not is_activity) else ""
    terms = entity_lists().terms
    following = words[at + 1] if at + 1 < len(words) else ""
    second = bare(following)
    pair = f"{first} {second}" if is_name(second) and second not in terms else ""
    if _is_cued(words, at):
        # another capitalised word that is no name shows a heading: "Start with Positive Feedback"
        is_heading = len(following) > 1 and following.istitle() and following.isalpha() and following not in terms
        return pair or ("" if is_heading else first)
    # "Migrate Bob's table", "Choosing Bob's table": a verb rather than a first name
    may_be_verb = _starts_sentence(words, at) or word.endswith("ing")
    return pair if pair and _is_possessive(following) and not may_be_verb else ""


def _starts_sentence(words: Sequence[str], at: int) -> bool:
    return at == 0 or words[at - 1] in _SENTENCE_STARTS


def _is_possessive(word: str) -> bool:
    return word.endswith(("'s", "’s"))


def _is_cued(words: Sequence[str], at: int) -> bool:
    before = words[at - 1].lower() if at else ""
    if before == "." and at > 1:
        return words[at - 2].lower() in _TITLES
    if before in ("and", "&") and at > 2:  # with Alice and Bob
        first = words[at - 2]
        return is_name(first) and first not in entity_lists().terms and _is_after_cue(words, at - 2)
    return before in _CUES


def _is_after_cue(words: Sequence[str], at: int) -> bool:
    """Return True if a cue precedes word `at`, or the capitalised word before it."""
    before = words[at - 1].lower()
    return before in _CUES or (at > 1 and is_name(words[at - 1]) and words[at - 2].lower() in _CUES)


# ---------------------------------------------------------------- names that the store knows


def _known_names(words: list[str], known: Known, aliases: Mapping[str, str]) -> list[str]:
    """The store's spellings of the words it knows: capitalised in any spelling, others in exactly the store's."""
    plain, ordinary = entity_lists().plain, entity_lists().ordinary
    found: list[str] = []
    look_ups = resume = 0
    for at, word in enumerate(words):
        if word in plain:
            look_ups += 1
        elif look_ups >= MAX_LOOK_UPS:
            break
        elif at < resume or (len(word) == 1 and word < _FIRST_PAIRED):
            continue
        elif word.islower() and word.isalnum() and word < _FIRST_PAIRED:
            look_ups += 1
            canonical = canonical_name(word, aliases) if word in aliases or not word.isascii() else word
            if known(canonical) == word and word not in ordinary:
                found.append(word)
        elif word[0] >= _FIRST_PAIRED and word.isalpha():
            look_ups += len(_HAN_SIZES) * len(word)
            found += _known_in_run(word[: MAX_LOOK_UPS // len(_HAN_SIZES)], known, aliases)
        elif len(word) > 1:
            look_ups += MAX_KNOWN_WORDS
            name, size = _known_at(words, at, known, aliases)
            resume = at + size
            if name:
                found.append(name)
    return found


def _known_at(words: list[str], at: int, known: Known, aliases: Mapping[str, str]) -> tuple[str, int]:
    """(spelling, words used) of the longest known name that begins at `at`; ("", 1) if there is none."""
    row = _capitalised(words, at)
    for size in range(len(row), 0, -1):
        name = " ".join(row[:size]) if size > 1 else row[0]
        spelling = known(canonical_name(name, aliases))
        # only a capitalised name that is no ordinary word may have another spelling in the store
        if spelling is not None and (spelling == name or (name[:1].isupper() and not is_ordinary(name))):
            return spelling, size
    return "", 1


def _capitalised(words: list[str], at: int) -> list[str]:
    """Up to three capitalised words in a row from `at`, without suffixes; the word at `at` in any case."""
    first = words[at]
    row = [bare(first)]
    if first[0].isupper():
        for last, following in pairwise(words[at : at + MAX_KNOWN_WORDS]):
            if row[-1] != last or not following[0].isupper():
                break
            row.append(bare(following))
    return row


def _known_in_run(run: str, known: Known, aliases: Mapping[str, str]) -> Iterator[str]:
    """Known names in a run of Han, Kana or Hangul, which has no word boundaries: the longest from each place."""
    at = 0
    while at < len(run):
        for size in _HAN_SIZES:
            piece = run[at : at + size]
            if len(piece) == size and (spelling := known(aliases.get(piece, piece))) is not None:
                yield spelling
                at += size - 1
                break
        at += 1
