"""The sets of `eval_llm`, and the rules by which a stored fact answers a fact of the gold standard.

A fact answers a gold fact if it has all of its `must` words and `numbers`. `a|b` is one of the two. Words are parts of
words, case ignored; a number is no part of a longer one. A fact that answers none is false, unless it answers a
statement of `also`, true but not expected, or a person read it and said that it is true (`eval_llm_judged.jsonl`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from benchmarks.bench_files import lines_of
from mnemond.text.similarity import token_set

DATA = Path(__file__).resolve().parents[1] / "data"

Relation = Literal["same", "newer_replaces_older", "adds_detail", "unrelated"]


class Gold(msgspec.Struct, frozen=True):
    """A fact to be found. `date`: the day that it has to name, if it is found."""

    text: str
    must: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    date: str = ""

    def is_about(self, fact: str) -> bool:
        """Return True if a fact has the words, whatever its numbers."""
        said = fact.casefold()
        return all(_has(said, each) for each in self.must)

    def has_numbers(self, fact: str) -> bool:
        """Return True if a fact has the numbers."""
        return all(any(_number(it).search(fact) for it in each.split("|")) for each in self.numbers)

    def answered_by(self, fact: str) -> bool:
        """Return True if a fact says this."""
        return self.is_about(fact) and self.has_numbers(fact)

    def is_dated_by(self, fact: str) -> bool:
        """Return True if a fact names the day."""
        return _has(fact.casefold(), self.date)


class Said(msgspec.Struct, frozen=True):
    """One message."""

    role: str
    content: str


class Conversation(msgspec.Struct, frozen=True):
    """One line of `eval_llm.jsonl`. `everyday`: part of the everyday mix, half of which holds no fact. `memories` are
    stored before, those of `retired` have to leave. No stored memory may have a text of `never`."""

    id: str
    lang: str
    kind: Literal["fact", "nothing", "correction", "injection", "code"]
    messages: tuple[Said, ...]
    everyday: bool = False
    gold: tuple[Gold, ...] = ()
    also: tuple[Gold, ...] = ()
    memories: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    split: str = ""


class Pair(msgspec.Struct, frozen=True):
    """One line of `eval_llm_pairs.jsonl`. `trap`: "dated" for two events, "subject" for two things of one kind."""

    id: str
    older: str
    newer: str
    relation: Relation
    lang: str
    trap: str = ""
    split: str = ""

    def loses_by(self, active: Iterable[str]) -> bool:
        """Return True if a true memory left recall: of two that both hold, either one; of two of which one replaces
        the other, the newer. That a newer text leaves alone which has all words of the older loses nothing."""
        left = set(active)
        has_older, has_newer = self.older in left, self.newer in left
        if has_older and has_newer:
            return False
        if self.relation == "same":
            return not left
        if self.relation == "newer_replaces_older":
            return not has_newer
        holds_all = self.relation == "adds_detail" and any(token_set(self.older) <= token_set(it) for it in left)
        return not (holds_all and any(token_set(self.newer) <= token_set(it) for it in left))


class Judged(msgspec.Struct, frozen=True):
    """What a person said about a stored fact. `true`: the conversation says it, and it is worth keeping or harmless."""

    conversation: str
    fact: str
    true: bool
    why: str = ""
    split: str = ""


def conversations(split: str | None) -> list[Conversation]:
    """Read the conversations, of one half with `split`."""
    return lines_of(DATA / "eval_llm.jsonl", Conversation, split)


def pairs(split: str | None) -> list[Pair]:
    """Read the pairs, of one half with `split`."""
    return lines_of(DATA / "eval_llm_pairs.jsonl", Pair, split)


@functools.cache
def judged() -> dict[tuple[str, str], Judged]:
    """Read what a person said about facts, by conversation and text."""
    path = DATA / "eval_llm_judged.jsonl"
    found = lines_of(path, Judged, None) if path.is_file() else []
    return {(each.conversation, each.fact): each for each in found}


def is_false(conversation: Conversation, fact: str, read: Mapping[tuple[str, str], Judged]) -> bool:
    """Return True if a stored fact is false, or not yet read by a person."""
    verdict = read.get((conversation.id, fact))
    if verdict is not None:
        return not verdict.true
    return answer_of((*conversation.gold, *conversation.also), fact) is None


def is_read_as_false(conversation: Conversation, fact: str, read: Mapping[tuple[str, str], Judged]) -> bool:
    """Return True if a person read a fact and said that it is false: then it answers nothing."""
    verdict = read.get((conversation.id, fact))
    return verdict is not None and not verdict.true


def answer_of(gold: Sequence[Gold], fact: str) -> Gold | None:
    """Return the first gold fact that a fact answers."""
    return next((each for each in gold if each.answered_by(fact)), None)


def _has(said: str, words: str) -> bool:
    return any(each.casefold() in said for each in words.split("|"))


def _number(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\d.,]){re.escape(text)}(?![\d]|[.,]\d)")
