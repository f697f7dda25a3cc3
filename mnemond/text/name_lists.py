"""Lists by which names of people, organisations and places are found in sentences, read from data/names.toml."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mnemond.text.entity_lists import entity_lists
from mnemond.text.resources import on_first_use, read
from mnemond.text.tokens import fold


class Chinese(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Surnames, characters of given names, and the words around names in Chinese."""

    surnames: str
    doubtful_surnames: str
    double_surnames: frozenset[str]
    given: str
    never: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    after_surely: tuple[str, ...]
    foreign: frozenset[str]
    titles: tuple[str, ...]
    suffixes: tuple[str, ...]
    generic: frozenset[str]
    leading: tuple[str, ...]
    never_in_organization: str
    doubtful: frozenset[str]
    around_doubtful: str


Words = frozenset[str]


class NameLists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/names.toml, where each list is described."""

    given: Words
    given_ambiguous: Words
    given_certain: Words
    surnames_first: Words
    particles: Words
    titles: Words
    roles: Words
    roles_german: Words
    verbs_of_persons: Words
    verbs_behind_full_names: Words
    belongings: Words
    place_words: Words
    settling: Words
    persons: Words
    place_prepositions: Words
    work_words: Words
    organization_cues: Words
    not_names: Words
    not_names_at_start: Words
    organization_endings: Words
    organization_beginnings: Words
    organization_of: Words
    place_endings: Words
    place_beginnings: Words
    place_word_endings: tuple[str, ...]
    german_words: Words
    english_words: Words
    place_prepositions_german: Words
    place_words_german: Words
    work_words_german: Words
    german_noun_endings: tuple[str, ...]
    doubtful: Words
    generic: Words
    states_of_persons: Words
    on_states: Words
    labels: Words
    chinese: Chinese


@on_first_use
def name_lists() -> NameLists:
    """Read the lists."""
    return read("names", NameLists)


@on_first_use
def named_places() -> dict[tuple[str, ...], bool]:
    """The folded words of every known place (True) and organisation (False)."""
    lists = entity_lists()
    found = dict.fromkeys(_as_words(lists.organizations.names), False)
    return found | dict.fromkeys(_as_words(lists.places.names), True)


@on_first_use
def first_words() -> frozenset[str]:
    """The first words of the known places and organisations of several words."""
    return frozenset(words[0] for words in named_places() if len(words) > 1)


def _as_words(names: Iterable[str]) -> list[tuple[str, ...]]:
    return [tuple(name.replace(".", " . ").split()) for name in names]


@on_first_use
def chinese_places() -> dict[str, bool]:
    """The known places (True) and organisations (False) that are written in Chinese."""
    lists = entity_lists()
    found = dict.fromkeys((name for name in lists.organizations.names if not name[0].isascii()), False)
    found |= dict.fromkeys((name for name in lists.places.names if not name[0].isascii()), True)
    return {name: is_place for name, is_place in found.items() if "\u4e00" <= name[0] <= "\u9fff"}


def folded(word: str) -> str:
    """`word` as the lists have it."""
    return fold(word)
