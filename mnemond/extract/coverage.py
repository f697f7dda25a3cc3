"""The content words of texts, and the short list of the parts of a conversation that were left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mnemond.model.answers import Dropped
from mnemond.text.resources import regex, words_of
from mnemond.text.tokens import FUNCTION_WORDS, fold, index_term

MAX_SHOWN: Final = 50
"""Parts that are shown."""

SHOWN_LENGTH: Final = 400
"""Characters of a part that are shown."""

MAX_CHARACTERS: Final = 12_000
"""Characters of all parts that are shown together."""

_WORD: Final = regex(r"[^\W_]+(?:['’][^\W\d_]+)?")
_HAN: Final = regex("[\u3400-\u4dbf\u4e00-\u9fff]")
_EMPTY_HAN: Final = frozenset("的了我你您他她它们是在有和就都而及与着或一吗呢吧啊呀嘛哦嗯这那个")
_SHORT: Final = regex(r"(?:n?['’](?:t|s|re|ve|ll|d|m))\Z")
_LESS: Final = words_of("don doesn didn isn aren wasn weren haven hasn hadn won wouldn couldn shouldn cannot ca wo")


def content_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Stem, beginning and end of each content word of `text`: a Latin word, or a single Han character. Linear time."""
    for found in _WORD.finditer(text):
        word = found[0]
        if not word.isascii() and _HAN.search(word):
            yield from (
                (each[0], found.start() + each.start(), found.start() + each.end())
                for each in _HAN.finditer(word)
                if each[0] not in _EMPTY_HAN
            )
            word = _HAN.sub(" ", word).strip()
            if not word:
                continue
        stem = _stem(word)
        if stem:
            yield stem, found.start(), found.end()


def _stem(word: str) -> str:
    folded = _SHORT.sub("", fold(word).replace("’", "'"))
    if not folded or folded in FUNCTION_WORDS or folded in _LESS or (len(folded) < 2 and not folded.isdigit()):
        return ""
    folded = f"{folded[:-2]}" if folded.endswith("oes") else folded
    return index_term(folded) or folded


def stems(texts: Iterable[str]) -> set[str]:
    """The stems of the content words of some texts."""
    return {stem for text in texts for stem, _, _ in content_words(text)}


def shown(text: str) -> str:
    """The beginning of a part, on one line."""
    line = " ".join(text[: 4 * SHOWN_LENGTH].split())
    return line if len(line) <= SHOWN_LENGTH else line[: SHOWN_LENGTH - 1] + "…"


def bounded(dropped: Sequence[Dropped]) -> list[Dropped]:
    """At most `MAX_SHOWN` parts, each cut to `SHOWN_LENGTH` characters; `omitted` counts the words that are not shown.
    The
    last one stands for all that are too many."""
    found: list[Dropped] = []
    size = 0
    for at, each in enumerate(dropped):
        text = shown(each.text)
        if size + len(text) > MAX_CHARACTERS or (at >= MAX_SHOWN - 1 and len(dropped) > MAX_SHOWN):
            rest = dropped[at:]
            omitted = sum(len(part.text.split()) for part in rest)
            found.append(Dropped(f"{len(rest)} more parts", "not shown", omitted))
            break
        size += len(text)
        whole = len(each.text.split())
        found.append(Dropped(text, each.reason, whole - len(text.split()) if text.endswith("…") else 0))
    return found
