"""Which phrases of a fixed list stand in a text, found without looking for each of them.

Every phrase is filed under one of its words. What a word may be part of is worked out when it is first met and then
remembered, so a text costs one look-up a word and one search for each phrase that is likely to be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

REMEMBERED_WORDS, LONGEST_REMEMBERED = 65_536, 64
"""Words of which it is remembered what they may be part of, and how many characters one may have: a few megabytes."""

_RUN = re.compile(r"[a-z0-9]+")
_NONE: frozenset[str] = frozenset()


class _Key(msgspec.Struct, frozen=True):
    """The word a phrase is filed under; a side where the phrase goes on is one where the word of a text must end."""

    word: str
    begins: bool
    ends: bool

    def may_be(self, word: str) -> bool:
        """Whether `word`, of a text, may be this one: "residue" may be the "due" of "due to", which begins with it."""
        if self.begins:
            return word.startswith(self.word) and (not self.ends or word == self.word)
        return word.endswith(self.word) if self.ends else self.word in word


class Phrases:
    """Phrases of folded text with single spaces. One without a Latin letter or digit stands in no ASCII text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        keys = {phrase: _key(phrase) for phrase in phrases}
        self._others = tuple(phrase for phrase, key in keys.items() if key is None)
        self._parts = _Parts({phrase: key for phrase, key in keys.items() if key is not None})

    def found(self, plain: str, words: frozenset[str]) -> frozenset[str]:
        """Those that stand in `plain`, whose runs of a-z and 0-9 are `words`."""
        likely = _NONE.union(*map(self._parts.__getitem__, words), () if plain.isascii() else self._others)
        return frozenset([phrase for phrase in likely if phrase in plain]) if likely else _NONE

    def forget(self) -> None:
        """Let go of every remembered word."""
        self._parts.clear()


class _Parts(dict[str, frozenset[str]]):
    """From a word to the phrases it may be part of."""

    def __init__(self, keys: dict[str, _Key]) -> None:
        super().__init__()
        self._keys = keys
        parts = keys.values()
        self._beginnings = tuple({key.word for key in parts if key.begins})
        self._endings = tuple({key.word for key in parts if key.ends})
        self._inside = tuple({key.word for key in parts if not key.begins and not key.ends})

    def __missing__(self, word: str) -> frozenset[str]:
        found = self._phrases_of(word)
        if len(self) < REMEMBERED_WORDS and len(word) <= LONGEST_REMEMBERED:
            self[word] = found
        return found

    def _phrases_of(self, word: str) -> frozenset[str]:
        """Most words are of none, which has to be seen fast: every text brings a few that are new."""
        likely = word.startswith(self._beginnings) or word.endswith(self._endings)
        if likely or any(part in word for part in self._inside):
            return frozenset([phrase for phrase, key in self._keys.items() if key.may_be(word)])
        return _NONE


def _key(phrase: str) -> _Key | None:
    """The longest word of `phrase`, which is the rarest as a rule."""
    runs = list(_RUN.finditer(phrase))
    if not runs:
        return None
    run = max(runs, key=lambda each: len(each[0]))
    return _Key(run[0], begins=run.start() > 0, ends=run.end() < len(phrase))
