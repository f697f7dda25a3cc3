"""Well-known names, technology terms, ordinary words that only look like names, and aliases, read from data files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from mnemond.text.resources import on_first_use, read
from mnemond.text.tokens import FUNCTION_WORDS, fold


class _Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of one type, and what tells other names of the type."""

    names: frozenset[str]
    endings: frozenset[str]
    suffixes: tuple[str, ...]
    beginnings: frozenset[str] = frozenset()


class _People(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    surnames: str


class _Gazetteer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/gazetteer.toml"""

    places: _Kind
    organizations: _Kind
    people: _People


class _Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/entity_terms.toml"""

    terms: dict[str, frozenset[str]]
    phrases: tuple[str, ...]
    ordinary_at_start: frozenset[str]
    error_names: frozenset[str]
    file_extensions: frozenset[str]
    file_names: frozenset[str]
    not_handles: frozenset[str]
    not_camel: frozenset[str]
    aliases: dict[str, tuple[str, ...]]


class EntityLists(msgspec.Struct, frozen=True):
    """Every list that entities are found by; the data files describe those that are read from there."""

    places: _Kind
    organizations: _Kind
    surnames: str
    terms: frozenset[str]
    phrases: tuple[str, ...]
    ordinary: frozenset[str]
    ordinary_at_start: frozenset[str]
    error_names: frozenset[str]
    file_extensions: frozenset[str]
    file_names: frozenset[str]
    not_handles: frozenset[str]
    not_camel: frozenset[str]
    aliases: Mapping[str, str]
    """Folded alias → the spelling it stands for."""
    tools: frozenset[str]
    """Terms, phrases and aliases, folded."""
    phrases_by_first: Mapping[str, tuple[tuple[str, ...], ...]]
    """The words of the phrases that begin with a word, the longest phrase first."""
    plain: frozenset[str]
    """Ordinary words that the store is not asked about."""
    silent: frozenset[str]
    """Words that neither are an entity nor begin one, also with a capital: half of a text, found by one look-up."""


@on_first_use
def entity_lists() -> EntityLists:
    """Read the lists."""
    gazetteer, read_terms = read("gazetteer", _Gazetteer), read("entity_terms", _Terms)
    ordinary = FUNCTION_WORDS.union(*read("ordinary_words", dict[str, frozenset[str]]).values())
    terms = frozenset[str]().union(*read_terms.terms.values())
    aliases = {alias: right for right, forms in read_terms.aliases.items() for alias in forms}
    phrases = sorted((tuple(phrase.split()) for phrase in read_terms.phrases), key=len, reverse=True)
    by_first = {first: tuple(each for each in phrases if each[0] == first) for first, *_ in phrases}
    plain = frozenset(word for word in ordinary if len(word) > 1 and word.isalnum() and word.islower())
    return EntityLists(
        places=gazetteer.places,
        organizations=gazetteer.organizations,
        surnames=gazetteer.people.surnames,
        terms=terms,
        phrases=read_terms.phrases,
        ordinary=ordinary,
        ordinary_at_start=read_terms.ordinary_at_start,
        error_names=read_terms.error_names,
        file_extensions=read_terms.file_extensions,
        file_names=read_terms.file_names,
        not_handles=read_terms.not_handles,
        not_camel=read_terms.not_camel,
        aliases=MappingProxyType(aliases),
        tools=frozenset(fold(name) for name in (*terms, *read_terms.phrases, *aliases, *aliases.values())),
        phrases_by_first=by_first,
        plain=plain,
        silent=frozenset(
            form
            for word in plain
            for form in (word, word.capitalize())
            if form.isalpha() and form not in terms and form not in by_first
        ),
    )


def extended(extra: Mapping[str, str]) -> Mapping[str, str]:
    """The built-in aliases with a user's own, which win where the two disagree.

    `extra` maps any spelling of an alias to the spelling it stands for. Chains are followed to their end, so that one
    look-up resolves a name. If a built-in alias and the user's would make a circle, the user's stay; a circle among the
    user's own is dropped.
    """
    built_in = entity_lists().aliases
    own = {_key(alias): right for alias, right in extra.items() if _key(alias) and _key(right)}
    links = {**built_in, **own}
    for alias in sorted({_key(right) for right in own.values()} & (built_in.keys() - own.keys())):
        if _key(_end_of(alias, links)) == alias:
            del links[alias]
    resolved = {alias: _end_of(alias, links) for alias in links}
    return MappingProxyType({alias: right for alias, right in resolved.items() if _key(right) != alias})


def _key(name: str) -> str:
    return " ".join(fold(name).split())


def _end_of(alias: str, links: Mapping[str, str]) -> str:
    right, seen = links[alias], {alias}
    while (key := _key(right)) in links and key not in seen:
        seen.add(key)
        right = links[key]
    return right
