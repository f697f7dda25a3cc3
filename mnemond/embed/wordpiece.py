"""BERT's uncased tokenisation without its library: basic splitting, then greedy WordPiece.

Source: the reference implementation of BERT (google-research/bert, tokenization.py) as the `tokenizers` library runs
it, whose steps are clean, space out Han characters, strip accents, lower-case, split at punctuation.
Words that look like special tokens ("[CLS]") are ordinary text here, so no memory can smuggle one in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path

from mnemond.text.tokens import capped

UNKNOWN = "[UNK]"

MAX_WORD = 100
"""Maximum of characters in a word; a longer one is unknown as a whole (`max_input_chars_per_word` of the reference)."""

MAX_CACHED_WORDS = 16_384
"""Words whose pieces are cached; the cache is cleared when it is full (about 3 MB)."""

MAX_CACHED_CHARACTERS = 4096
"""Characters outside ASCII whose replacement is cached; more are merely slower."""

HAN = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Code points that are words by themselves, as in the reference (Kana and Hangul are not among them)."""

ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
ASCII_MARK = re.compile(r"([!-/:-@\[-`{-~])")
WHOLE_MATCH = itemgetter(0)

MAX_SPLIT_AT_ONCE = 4096
"""Characters of an ASCII text that is split in one go, which is twice as fast; a longer one is split lazily."""

ASCII_CONTROLS = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}
WHITE_SPACE = "\u0020\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class Replacements(dict[int, str]):
    """A table for `str.translate` that computes the replacement of a character when it first occurs."""

    def __missing__(self, code: int) -> str:
        text = self.replace(chr(code))
        if len(self) < MAX_CACHED_CHARACTERS:
            self[code] = text
        return text

    @staticmethod
    def replace(char: str) -> str:
        """Return the replacement of `char`: itself, nothing, or something with spaces around it."""
        raise NotImplementedError


class Cleaning(Replacements):
    """Drops control and unassigned characters, replaces white space by a space, puts spaces around Han characters."""

    @staticmethod
    def replace(char: str) -> str:
        if char in "\t\n\r" or char in WHITE_SPACE:
            return " "
        if char == "\ufffd" or unicodedata.category(char).startswith("C"):
            return ""
        if any(first <= ord(char) <= last for first, last in HAN):
            return f" {char} "
        return char


class Splitting(Replacements):
    """Drops combining accents, puts spaces around punctuation."""

    @staticmethod
    def replace(char: str) -> str:
        category = unicodedata.category(char)
        if category == "Mn":
            return ""
        if category.startswith("P") or (char.isascii() and char.isprintable() and not char.isalnum() and char != " "):
            return f" {char} "
        return char


class Pieces(dict[str, tuple[int, ...]]):
    """Maps a word to the ids of its pieces, found by the greedy longest match when the word first occurs."""

    def __init__(self, ids: Mapping[str, int]) -> None:
        super().__init__()
        self._ids = ids

    def __missing__(self, word: str) -> tuple[int, ...]:
        pieces = self._longest(word)
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        if len(word) <= MAX_WORD:
            self[word] = pieces
        return pieces

    def _longest(self, word: str) -> tuple[int, ...]:
        """Match greedily from the left; one part without a match makes the whole word unknown."""
        unknown = (self._ids[UNKNOWN],)
        if len(word) > MAX_WORD:
            return unknown
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = self._ids.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return unknown
            pieces.append(piece)
            start, prefix = end, "##"
        return tuple(pieces)


class WordPiece:
    """Converts text to vocabulary ids. The pieces of words are cached."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """`vocabulary` in id order; it must hold "[UNK]" (ValueError otherwise)."""
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        if UNKNOWN not in self._ids:
            raise ValueError(f"the vocabulary of {len(self._ids)} pieces has no {UNKNOWN}")
        self.unknown = self._ids[UNKNOWN]
        self._vocabulary = tuple(self._ids)
        self._pieces = Pieces(self._ids)
        self._cleaning = Cleaning()
        self._splitting = Splitting()

    def __len__(self) -> int:
        return len(self._ids)

    def id_of(self, piece: str) -> int:
        """Return the id of a piece such as "[CLS]"; that of "[UNK]" if the vocabulary lacks it."""
        return self._ids.get(piece, self.unknown)

    def piece_of(self, number: int) -> str:
        """Return the piece with the id `number`. Raises IndexError."""
        return self._vocabulary[number]

    def encode(self, text: str, limit: int, *, keep_unknown: bool) -> list[int]:
        """Return the first `limit` ids of `text`, reading no further; unknown words are left out unless kept."""
        pieces = chain.from_iterable(map(self._pieces.__getitem__, self.words(text)))
        if keep_unknown:
            return list(islice(pieces, limit))
        ids = list(islice(pieces, limit))
        unknown = self.unknown
        if unknown not in ids:
            return ids
        return list(islice((number for number in chain(ids, pieces) if number != unknown), limit))

    def words(self, text: str) -> Iterator[str]:
        """Split into lower-case words, single marks and single Han characters, without accents and controls."""
        if text.isascii():
            lowered = text.lower()
            if not lowered.isprintable():
                lowered = lowered.translate(ASCII_CONTROLS)
            if len(lowered) <= MAX_SPLIT_AT_ONCE:
                return iter(" ".join(ASCII_MARK.split(lowered)).split())
            return map(WHOLE_MATCH, ASCII_WORD.finditer(lowered))
        cleaned = unicodedata.normalize("NFD", capped(text).translate(self._cleaning))
        # A capital sigma is lowered as if it stood inside a word, because the reference lowers each character alone.
        return iter(cleaned.replace("Σ", "σ").lower().translate(self._splitting).split())

    def words_with_ids(self, text: str) -> Iterator[tuple[str, Sequence[int]]]:
        """Return the words of `text` with the ids of each, unknown ones among them.

        They are split as by `words`. In a text that is not ASCII they keep their accents and capitals, as in
        index terms.
        """
        pieces = self._pieces
        if text.isascii():
            return ((word, pieces[word]) for word in self.words(text))
        composed = unicodedata.normalize("NFC", capped(text).translate(self._cleaning))
        cut = composed.translate(self._splitting).split()
        return ((word, [number for part in self.words(word) for number in pieces[part]]) for word in cut)

    def clear_cache(self) -> None:
        """Drop every cached word and character."""
        for cache in (self._pieces, self._cleaning, self._splitting):
            cache.clear()


def read_vocabulary(path: Path) -> list[str]:
    """Read the pieces of a `vocab.txt`, one a line, in id order."""
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
