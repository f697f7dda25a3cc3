"""Private parts of a prompt, and what is left of the answer without their words.

An answer may repeat in other words what a person did not want kept. So a sentence of it stays only if it has no word of
the private part that the public part has not, in any form: stems, names in camel case, numbers and identifiers that are
written together or apart. Where that leaves little, or cannot be said, nothing of the answer stays.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Final, NamedTuple

from mnemond.model.changes import LONGEST_PROMPT, LONGEST_REPLY
from mnemond.text.features import inner_terms
from mnemond.text.passages import without_sentences
from mnemond.text.prompt_words import empty_terms
from mnemond.text.resources import regex
from mnemond.text.tokens import fold, index_term, tokens

LEAST: Final = 0.5
"""Share of an answer that has to be left; an answer of which less is left is about the private part."""

SHORTEST: Final = 5
SHORTEST_NUMBER: Final = 3
"""Letters and digits of a word, and of one with a digit, that is not looked for inside of other words if it is
shorter."""

MARK: Final = regex(
    r"(?:[<＜﹤‹〈]|&lt;)\s{0,8}([/／]?)\s{0,8}private\b[^<>＜＞﹤﹥‹›〈〉]{0,400}?(?:[>＞﹥›〉]|&gt;)", re.IGNORECASE
)
"""A mark of a private part as people and input methods write it; the group is empty for one that begins it."""

_NUMBER: Final = regex(r"\d[\d\s.,:;/'_()+-]*\d")


class PrivateWords(NamedTuple):
    """Words that no kept sentence of an answer contains. `words`: content words of the private part that the public
    one has not, and their stems; `runs`: the longer ones, numbers and identifiers as letters and digits alone."""

    words: frozenset[str]
    runs: frozenset[str]


def private_spans(text: str) -> list[tuple[int, int]]:
    """Return where private parts with both marks stand in a text, in order; an inner one may be among them. Linear
    time."""
    found: list[tuple[int, int]] = []
    waiting: list[int] = []
    for mark in MARK.finditer(text):
        if not mark[1]:
            waiting.append(mark.start())
        elif waiting:
            found.append((waiting.pop(), mark.end()))
    return sorted(found)


def private_text(prompt: str) -> str:
    """Return what stands in the private parts of a prompt, as the host sends it. A part without an end goes to the end
    of the prompt, one without a beginning from the part before it. Linear time."""
    parts: list[str] = []
    begin = depth = 0
    for mark in MARK.finditer(prompt):
        if not mark[1]:
            begin, depth = (begin if depth else mark.end()), depth + 1
            continue
        depth = max(0, depth - 1)
        if not depth:
            parts.append(prompt[begin : mark.start()])
            begin = mark.end()
    return "\n".join([*parts, prompt[begin:]] if depth else parts)


def private_words(private: str, public: str) -> PrivateWords | None:
    """Return the words of a private part beside a public one; None if it has none, or is so long that it is a document,
    of which a whole answer is about."""
    if len(private) > LONGEST_PROMPT:
        return None
    words = _content(tokens(private)).difference(tokens(public))
    words |= _content(inner_terms(private)).difference(_words(public))
    if not words:
        return None
    plain = _squeezed(public)
    runs = {*words, *(run for run in private.split() if not words.isdisjoint(_words(run))), *_NUMBER.findall(private)}
    found = {
        run
        for run in map(_squeezed, runs)
        if len(run) >= (SHORTEST_NUMBER if any(map(str.isdigit, run)) else SHORTEST) and run not in plain
    }
    return PrivateWords(frozenset(words).union(filter(None, map(index_term, words))), frozenset(found))


def without_private(answer: str, private: PrivateWords | None) -> str:
    """Return an answer without sentences that may repeat a private part; "" if less than `LEAST` of it is left."""
    if private is None or len(answer) > 2 * LONGEST_REPLY:
        return ""
    left = without_sentences(answer, lambda sentence: _repeats(sentence, private))
    return left if len(left.strip()) >= LEAST * len(answer.strip()) else ""


def _repeats(sentence: str, private: PrivateWords) -> bool:
    words = _words(sentence)
    if not private.words.isdisjoint(chain(words, map(index_term, words))):
        return True
    plain = _squeezed(sentence)
    return any(run in plain for run in private.runs)


def _words(text: str) -> list[str]:
    return [*tokens(text), *inner_terms(text)]


def _content(words: list[str]) -> set[str]:
    return {word for word, empty in zip(words, empty_terms(words).foreign, strict=True) if not empty}


def _squeezed(text: str) -> str:
    """Return the letters and digits of a text, folded."""
    return "".join(filter(str.isalnum, fold(text)))
