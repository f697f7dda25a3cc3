"""Choose what a person said in sessions of a project that sounds like a standing instruction, to quote it at a start.

Extraction stores an instruction as a memory where its grammar is certain. Most are said in other ways ("hands off that
line in pubspec, it belongs to the release train"), which no list of patterns reaches. They are in the record, and a
start has room for some quotes of it: sentences are ranked by how much they sound like an instruction, and the best are
told as they were said, with the day and their passage. Nothing is stored. The kinds of words and their weights are in
text/data/standing.toml. For a thread: a prompt that was not read yet takes a quarter of a millisecond.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from mnemond.extract.orders import order_at
from mnemond.extract.prose import prose
from mnemond.extract.quoted import own_sentences, without_mail
from mnemond.extract.quotes import needs_before
from mnemond.index.arrays import Rows
from mnemond.index.passages import PassageSnapshot
from mnemond.text.caches import text_cache
from mnemond.text.resources import on_first_use, read
from mnemond.text.similarity import token_set
from mnemond.text.transcripts import typed

FROM: Final = -2.0
"""Log-odds from which a sentence is quoted: a probability of .12. Of 898 sentences of eleven projects, each judged by
weights fitted on the others, 101 are quoted, 60 of them among the 76 standing instructions; from -1.4 on 87 and 57."""

MOST: Final = 12
"""Sentences of a start."""

MAX_READ: Final = 400
"""Prompts of a project that are read, the last ones: a tenth of a second where none was read before."""

MAX_PROMPT: Final = 8_000
"""Characters of a prompt that are read."""

MAX_SENTENCE: Final = 260
"""Characters of a sentence that is quoted: longer ones tell a story."""

_HEADING: Final = (":", "：")

SAME: Final = 0.6
"""Share of the words of the shorter of two sentences, from which the newer one stands for both."""

SAID: Final = 0.8
"""Share of the words of a withdrawn memory in a sentence that says it."""


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of words, and what a sentence with it weighs."""

    name: str
    weight: float
    words: tuple[str, ...]


class _StandingFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/standing.toml"""

    bias: float
    kind: tuple[Kind, ...]


class Said(NamedTuple):
    """A sentence, when it was said, and the id of its passage."""

    text: str
    said_at: str
    passage_id: str


_file: Final = on_first_use(lambda: read("standing", _StandingFile))
_kinds: Final = on_first_use(
    lambda: [re.compile("|".join(f"(?:{each})" for each in kind.words), re.IGNORECASE) for kind in _file().kind]
)


def weight_names() -> list[str]:
    """Return the names of the kinds, in the order of `kinds_of`."""
    return [kind.name for kind in _file().kind]


def kinds_of(text: str) -> list[bool]:
    """Return for each kind whether a sentence has it."""
    return [pattern.search(text) is not None for pattern in _kinds()]


def log_odds(text: str) -> float:
    """Return the log-odds that a sentence of a person is a standing instruction."""
    return _file().bias + sum(kind.weight for kind, has in zip(_file().kind, kinds_of(text), strict=True) if has)


def own(prompt: str) -> list[str]:
    """Return the sentences that a person says in a prompt in their own name: nothing pasted, of a mail or of a log. One
    that speaks of what the sentence before it names brings that along."""
    content = typed(prompt[:MAX_PROMPT])
    content, _ = without_mail(content[: order_at(content)])
    said, _ = own_sentences(prose(content).sentences)
    found: list[str] = []
    for at, each in enumerate(said):
        text = each.text
        if at and each.group == said[at - 1].group and needs_before(text):
            text = f"{said[at - 1].text} {text}"
        found.append(text)
    return [text for text in found if len(text) <= MAX_SENTENCE and not text.endswith(_HEADING)]


@text_cache(20_000)
def _rated(prompt: str) -> tuple[tuple[str, float], ...]:
    return tuple((text, odds) for text in own(prompt) if (odds := log_odds(text)) >= FROM)


def standing_instructions(
    passages: PassageSnapshot, rows: Rows, told: Iterable[str] = (), withdrawn: Iterable[str] = ()
) -> list[Said]:
    """Return at most `MOST` sentences of some passages that sound like standing instructions, the surest first;
    of two that say the same the newer. `told`: texts that are told anyway; `withdrawn`: those of memories that hold no
    more, which no sentence says."""
    last = passages.in_order(rows)[-MAX_READ:]
    rated = [
        (odds, Said(text, passage.said_at, passage.id))
        for passage in map(passages.passage, reversed(last))
        for text, odds in _rated(passage.prompt)
    ]
    seen, gone = list(map(token_set, told)), list(filter(None, map(token_set, withdrawn)))
    newest: list[tuple[float, Said]] = []
    for odds, said in rated:
        words = token_set(said.text)
        if not _repeats(words, seen) and not any(len(each & words) / len(each) >= SAID for each in gone):
            seen.append(words)
            newest.append((odds, said))
    return [said for _, said in sorted(newest, key=lambda each: -each[0])[:MOST]]


def _repeats(words: frozenset[str], seen: Sequence[frozenset[str]]) -> bool:
    return bool(words) and any(each and len(each & words) / min(len(each), len(words)) >= SAME for each in seen)
