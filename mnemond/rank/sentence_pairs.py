"""Sentences of memories that may say the same of one thing, or what can only be so instead: few of all the pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mnemond.text.statements import LONGEST, Sentence, announces, content_words, sentences

MOST_APART: Final = (2, 4)
"""Words, or half the characters of Chinese, that the older of two sentences may have and the newer not: a value; and
where that one announces a change, also a verb and what else it does not repeat. The newer may have two more, to say
since when. Only such pairs are read, which are few."""

BITS: Final = 60
"""Bits that stand for words, as many as two digits of a Python integer have. Of ten words that another sentence lacks,
about eight lack their bit there as well, and two are enough to tell."""

MOST_TOLD: Final = 8_192
"""Memories whose sentences are remembered: about half a kilobyte each."""


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


@lru_cache(maxsize=MOST_TOLD)
def told(content: str) -> Told:
    """A memory as it is compared. Linear time."""
    changes = announces(content)
    pieces = tuple(_piece(each, changes=changes) for each in sentences(content))
    return Told(pieces, len(content) <= LONGEST, changes)


def _piece(sentence: Sentence, *, changes: bool) -> Piece:
    """`changes`: whether any sentence of the memory may announce a change."""
    bits = 0
    for word in content_words(sentence.small):
        bits |= 1 << hash(word) % BITS
    return Piece(sentence, changes and announces(sentence.text), bits)


def near(memories: Mapping[int, Told], rank: Sequence[int]) -> Iterator[tuple[Heard, Heard]]:
    """Pairs of an older and a newer sentence that are worth reading: they share something, and neither has much that
    the other lacks; the newer is one that announces a change, or of a memory as short as a sentence.

    `memories`: by position of their rows, `rank`: by age, the oldest first. Hundreds of pairs are looked at for one
    answer.
    """
    olds = [
        (rank[place], piece.bits, 1 if piece.sentence.small.isascii() else 2, place, piece)
        for place, each in memories.items()
        for piece in each.pieces
    ]
    for made, bits, _, place, new in olds:
        if not (memories[place].brief or new.announces):
            continue
        lacked, apart = ~bits, MOST_APART[new.announces]
        for made_old, of_old, times, place_old, old in olds:
            # A bit that the newer has not belongs to words that it has not, if not to all of them.
            few = made_old < made and (of_old & lacked).bit_count() <= apart * times
            if few and _share(old.sentence, new.sentence, apart * times):
                yield Heard(place_old, old), Heard(place, new)


def _share(old: Sentence, new: Sentence, most: int) -> bool:
    """Whether they have words in common, and each has few besides."""
    words, others = content_words(old.small), content_words(new.small)
    shared = len(words & others)
    return shared > 0 and len(words) - shared <= most and len(others) - shared <= most + 2
