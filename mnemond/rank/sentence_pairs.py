"""Sentences of memories that may say the same of one thing, or what can only be so instead: few of all the pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mnemond.text.statements import LONGEST, READ, Sentence, announces, content_words, sentences

MOST_APART: Final = (2, 4)
"""Words, or half the characters of Chinese, that the older of two sentences may have and the newer not: a value; and
where that one announces a change, also a verb and what else it does not repeat. The newer may have two more, to say
since when. Only such pairs are read, which are few."""

BITS: Final = 60
"""Bits that stand for words, as many as two digits of a Python integer have. Of ten words that another sentence lacks,
about eight lack their bit there as well, and two are enough to tell."""

MOST_TOLD: Final = 8_192
"""Memories whose sentences are remembered: about half a kilobyte each, 4 MB; 8 kilobytes each where somebody
wrote them for it."""


class Piece(NamedTuple):
    """A sentence of a memory, and whether it announces a change. `bits`: one of `BITS` for each of its words, by which
    most pairs of sentences are told apart without their words, which therefore are not kept."""

    sentence: Sentence
    announces: bool
    bits: int


class Told(NamedTuple):
    """A memory, sentence by sentence; whether it is as short as one, and whether it may announce a change."""

    pieces: tuple[Piece, ...]
    brief: bool
    announces: bool


class Heard(NamedTuple):
    """A sentence, by position of its row."""

    place: int
    piece: Piece


def told(content: str) -> Told:
    """A memory as it is compared. Linear time."""
    return _told(content[:READ])  # what is remembered would keep the rest as well, long after the memory has left


def forget_cached() -> None:
    """Let go of every text that was read, so that nothing of a purged memory stays."""
    _told.cache_clear()


@lru_cache(maxsize=MOST_TOLD)
def _told(content: str) -> Told:
    changes = announces(content)
    pieces = tuple(_piece(each, changes=changes) for each in sentences(content))
    return Told(pieces, len(content) <= LONGEST, changes)


def _piece(sentence: Sentence, *, changes: bool) -> Piece:
    """`changes`: whether any sentence of the memory may announce a change."""
    bits = 0
    for word in content_words(sentence.small):
        bits |= 1 << hash(word) % BITS
    return Piece(sentence, changes and announces(sentence.text), bits)


def near(
    memories: Mapping[int, Told], rank: Sequence[int], is_asked: Callable[[Heard], bool]
) -> Iterator[tuple[Heard, Heard]]:
    """Pairs of an older and a newer sentence that are worth reading: they share something, and neither has much that
    the other lacks; the newer is one that announces a change, or of a memory as short as a sentence.

    `memories`: by position of their rows, `rank`: by age, the oldest first; `is_asked`: whether the older is worth it.
    Hundreds of pairs are looked at for one answer, and tens of thousands where somebody wrote twenty memories for it:
    whatever is done for each must be cheap.
    """
    words = _Words()
    olds = [
        (rank[place], piece.bits, 1 if piece.sentence.small.isascii() else 2, Heard(place, piece))
        for place, each in memories.items()
        for piece in each.pieces
    ]
    for made, bits, _, new in olds:
        if not (memories[new.place].brief or new.piece.announces):
            continue
        lacked, apart = ~bits, MOST_APART[new.piece.announces]
        for made_old, of_old, times, old in olds:
            # A bit that the newer has not belongs to words that it has not, if not to all of them.
            few = made_old < made and (of_old & lacked).bit_count() <= apart * times
            # Words in common have a bit in common.
            if few and of_old & bits and is_asked(old):
                one, other = old.piece.sentence.small, new.piece.sentence.small
                if _share(words[one], words[other], apart * times):
                    yield old, new


class _Words(dict[str, frozenset[str]]):
    """Words by sentence in small letters, of those whose bits do not tell. Each is read once for an answer: where all
    are about the same, it would be hundreds of times."""

    def __missing__(self, small: str) -> frozenset[str]:
        self[small] = found = content_words(small)
        return found


def _share(words: frozenset[str], others: frozenset[str], most: int) -> bool:
    """Whether they have words in common, and each has few besides."""
    shared = len(words & others)
    return shared > 0 and len(words) - shared <= most and len(others) - shared <= most + 2
