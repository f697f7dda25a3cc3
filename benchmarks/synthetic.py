"""Texts that behave like notes - Zipf's law over real words, topics that recur - from a seed, without outside data.

The words are those of the shipped vocabulary, which lists them by how frequent they are in English.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path

import mnemond.embed.models

VOCABULARY = Path(mnemond.embed.models.__file__).parent / "minilm_static_256_int8" / "vocab.txt"

ZIPF_SHIFT = 2.7
"""Mandelbrot's correction: the first ranks of real text are less extreme than 1/rank."""

FUNCTION_WORDS = 150
"""The ranks of "the", "of" …; questions do not use these."""

TOPICS = 500
TOPIC_WORDS = 60
TOPIC_SHARE = 0.4
"""Part of a note's words that belong to its topic; this is what makes questions answerable and vectors cluster."""

SHORTEST, LONGEST = 10, 30
"""Words of a note."""

QUESTION_WORDS = 4


def vocabulary() -> list[str]:
    """Words of two or more ASCII letters, most frequent first."""
    entries = VOCABULARY.read_text(encoding="utf-8").split()
    return [entry for entry in entries if len(entry) > 1 and entry.isascii() and entry.isalpha()]


class Notes:
    """An endless, reproducible supply of notes and of questions about them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = vocabulary()
        self._weights = list(accumulate(1 / (rank + ZIPF_SHIFT) for rank in range(len(self._words))))
        content = self._words[FUNCTION_WORDS:]
        self._topics = [self._random.choices(content, k=TOPIC_WORDS) for _ in range(TOPICS)]

    def take(self, count: int) -> list[str]:
        """The next `count` notes."""
        return list(islice(self._notes(), count))

    def question(self, note: str) -> str:
        """Return a question with a few of the note's rarer words."""
        words = sorted(set(words_of(note)) - set(self._words[:FUNCTION_WORDS]))
        chosen = self._random.sample(words, min(QUESTION_WORDS, len(words)))
        return f"What do we know about {' '.join(chosen)}?"

    def _notes(self) -> Iterator[str]:
        while True:
            size = self._random.randint(SHORTEST, LONGEST)
            of_topic = int(size * TOPIC_SHARE)
            words = self._random.choices(self._words, cum_weights=self._weights, k=size - of_topic)
            words += self._random.choices(self._random.choice(self._topics), k=of_topic)
            self._random.shuffle(words)
            yield " ".join(words).capitalize() + "."


def words_of(text: str) -> list[str]:
    """Lower-case words of a note or a question of this module."""
    return text.lower().strip(".?").split()
