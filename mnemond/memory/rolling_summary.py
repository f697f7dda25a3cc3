"""The summary of a conversation: its weightiest sentences, or a model's words that pass the same checks.

Sentences are chosen by their cosine (tf·idf) to the centroid of the conversation, less what is alike among them (MMR,
Carbonell and Goldstein 1998); the sentences of the summary before take part again. See docs/decisions/0049. For a
thread: 400 sentences take some 20 ms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mnemond.extract.orders import is_attack, is_order
from mnemond.extract.prose import prose
from mnemond.extract.prose import sentences as split
from mnemond.llm.reader import Schema
from mnemond.store.conversations import Spoken
from mnemond.text.prompt_escape import inert
from mnemond.text.resources import regex
from mnemond.text.secrets import redact
from mnemond.text.tokens import index_terms

MAX_SENTENCES: Final = 10
MAX_LENGTH: Final = 1_200
"""Sentences and characters of a summary (the published numbers)."""

DIVERSITY: Final = 0.7
"""λ of MMR: the weight of what the conversation is about, against being like a sentence that was chosen before."""

MIN_TERMS: Final = 3
"""Terms that a sentence needs: one with fewer ("ok, do that") says nothing without those around it."""

MAX_SENTENCE: Final = 300
"""Characters of one sentence, so that several find room."""

MAX_CANDIDATES: Final = 400
"""Sentences that are compared, the newest: a matrix of 400 × 4,000 terms takes 6 MB."""

MAX_SAID: Final = 600
MAX_MESSAGES: Final = 20
"""Characters of a message that a model gets, and messages, the newest: some 3,000 tokens."""

MAX_TOKENS: Final = 500
"""Tokens of an answer: 1,200 characters in a script of one token each two or three characters."""

SUMMARY_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": {"summary": {"type": "string", "maxLength": MAX_LENGTH}},
    "required": ["summary"],
    "additionalProperties": False,
}

_NUMBER: Final = regex(r"\d+(?:[.,:]\d+){0,4}")
_SPEAKER: Final = regex(r"\((?:user|assistant)\) ")


def extracted(before: str, messages: Sequence[Spoken]) -> str:
    """Return the weightiest sentences of a conversation in their order, one a line with its speaker; "" without any.

    `before`: the summary of what was said earlier. Sentences that give orders to a reader are left out.
    """
    lines = _candidates(before, messages)
    if not lines:
        return ""
    weights = _weighted([index_terms(_SPEAKER.sub("", line, count=1)) for line in lines])
    return "\n".join(lines[place] for place in sorted(_chosen(lines, weights)))


def _candidates(before: str, messages: Sequence[Spoken]) -> list[str]:
    found = [line for line in before.split("\n") if _is_fit(line)]
    for message in messages:
        if is_attack(message.content):
            continue
        for each in prose(message.content).sentences:
            text = _shortened(inert(each.text), MAX_SENTENCE)
            if _is_fit(text):
                found.append(f"({message.role}) {text}")
    return list(dict.fromkeys(found))[-MAX_CANDIDATES:]


def _is_fit(sentence: str) -> bool:
    return len(set(index_terms(sentence))) >= MIN_TERMS and not is_order(sentence)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rpartition(" ")[0] + "…"


def _weighted(terms: Sequence[Sequence[str]]) -> npt.NDArray[np.float64]:
    """Return the vectors of sentences, given by their terms, shape (sentences, terms), each of length 1: tf·idf with
    idf = ln((N + 1)/(df + 1)) + 1."""
    known = {term: place for place, term in enumerate(dict.fromkeys(term for each in terms for term in each))}
    counts = np.zeros((len(terms), len(known)), np.float64)
    for row, each in enumerate(terms):
        for term, many in Counter(each).items():
            counts[row, known[term]] = many
    frequency = np.count_nonzero(counts, axis=0)
    weights = counts * (np.log((len(terms) + 1) / (frequency + 1)) + 1.0)
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    unit: npt.NDArray[np.float64] = weights / np.maximum(lengths, np.finfo(np.float64).tiny)
    return unit


def _chosen(lines: Sequence[str], vectors: npt.NDArray[np.float64]) -> list[int]:
    """Return the places of the sentences that MMR chooses, as many as find room; of equals the earlier."""
    centroid = vectors.mean(axis=0)
    about = vectors @ (centroid / max(float(np.linalg.norm(centroid)), np.finfo(np.float64).tiny))
    likeness = np.zeros(len(lines))
    left, room, chosen = set(range(len(lines))), MAX_LENGTH + 1, list[int]()
    while left and len(chosen) < MAX_SENTENCES:
        scores = DIVERSITY * about - (1.0 - DIVERSITY) * likeness
        best = max(sorted(left), key=lambda place: float(scores[place]))
        left.discard(best)
        if len(lines[best]) + 1 > room:
            continue
        room -= len(lines[best]) + 1
        chosen.append(best)
        likeness = np.maximum(likeness, vectors @ vectors[best])
    return chosen


# A model's summary.


def asked(before: str, messages: Sequence[Spoken]) -> tuple[str, str, str]:
    """Return the values of the prompt `rolling_summary`: the summary so far, the messages, the characters."""
    said = [
        f"{each.role}: {inert(each.content[:MAX_SAID])}"
        for each in messages[-MAX_MESSAGES:]
        if not is_attack(each.content)
    ]
    return inert(before) or "(none)", "\n".join(said) or "(none)", str(MAX_LENGTH)


def accepted(value: Any, before: str, messages: Sequence[Spoken]) -> tuple[str, str]:  # noqa: ANN401 - JSON
    """Return a model's summary, one sentence a line, and ""; or "" and why it is not taken."""
    said = " ".join((before, *(each.content for each in messages)))
    return checked(value, said, MAX_LENGTH + 1, lambda line: len(line) + 1)


def checked(value: Any, said: str, room: int, size: Callable[[str], int]) -> tuple[str, str]:  # noqa: ANN401 - JSON
    """Return the first sentences of a model's summary whose sizes have room, one a line, and ""; or "" and why it is
    not taken: it is no text, gives orders to its reader, or has numbers that are not in what was `said`."""
    text = value.get("summary") if isinstance(value, dict) else value
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        return "", "the model's answer has no summary"
    if is_order(text) or is_attack(text):
        return "", "the model's summary gives orders to its reader"
    lines = [inert(each) for line in redact(text).text.splitlines() for each in split(line.strip())]
    kept = []
    for line in filter(None, lines):
        if size(line) > room:
            break
        kept.append(line)
        room -= size(line)
    if not kept:
        return "", "the first sentence of the model's summary is too long"
    if made_up := set(_NUMBER.findall("\n".join(kept))) - set(_NUMBER.findall(said)):
        return "", f"the model's summary has numbers that are in nothing it was given: {len(made_up)}"
    return "\n".join(kept), ""
