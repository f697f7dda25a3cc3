"""Split a text into sentences, and these into clauses that each say one thing.

A clause begins behind a conjunction, or at a comma where both parts have a verb. English, German and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mnemond.text.frame_lists import BE, CALL, LOCATE, USE, WORK, lists
from mnemond.text.resources import one_of, regex
from mnemond.text.tokens import fold

_END: Final = regex(r"([!?;。！？；\n]+|\.+(?=\s|$)|:(?=\s\w{1,30}\s))")
_ABBREVIATED: Final = regex(
    r"(?:\b(?:dr|mr|ms|mrs|prof|st|nr|no|bzw|ca|inkl|vs|approx|e\.g|i\.e|z\.b|d\.h)|(?<![\w.])(?P<day>\d{1,2}))$",
    re.IGNORECASE,
)
"""A text before a dot that ends no sentence; `day`: one only before a month, "12. Juli"."""


def _beginning() -> Iterable[str]:
    """Verbs that begin a clause behind "and"."""
    known = lists()
    verbs = {word for word, name in known.relations.items() if name in (BE, LOCATE, WORK, CALL, USE)} | known.joined
    return {
        word
        for word in verbs | {word for word, form in known.classes.items() if form in ("change", "end")}
        if word.isalpha()
    }


_CLAUSE: Final = regex(
    lambda: (
        rf"\s+(?:and|und)\s+(?=(?:\w+ly |now |jetzt |nun )?(?:{one_of(_beginning())})\b)|"
        r",?\s+(?:because|but|while|whereas|so that|weil|denn|aber|sondern|und zwar"
        r"|since (?=i|we|it|they|he|she|the ))\s+"
        r"|,\s+(?:and|so|which|und|da|who|or)\s+|\s+[–—-]\s+|，|,\s+(?=(?:we|i|he|she|they|it|wir|ich|es|er|sie|unser|unsere|mein|meine|not|nicht|now|jetzt"
        r"|(?:\w+ ){1,3}(?:does|do|handles) (?:it|that|this)|das (?:macht|machen|übernimmt|übernehmen))\b)"
        r"|\s+and\s+(?=(?:we|i|he|she|they|it|now|moved|joined|switched|is|are|was|will|has|have)\b)"
        r"|\s+und\s+(?=(?:wir|ich|er|sie|es|ist|wurde|jetzt|nun|nutzt|nutzen)\b)"
        r"|,(?=[\u3400-\u9fff])|因为|由于|，?而是|所以|但是?(?=[\u3400-\u9fff])"
    ),
    re.IGNORECASE,
)


def clauses_in(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield each clause of a text, True if it begins a sentence, and the marks that end the sentence."""
    for sentence, end in _sentences(text):
        first = True
        for part in _CLAUSE.split(sentence):
            for clause in _at_commas(part) if part else ():
                if clause.strip():
                    yield clause.strip(), first, end
                    first = False


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence and the marks that end it. A colon ends one that has a verb: "No, that changed: …"."""
    parts = [*_END.split(text), ""]
    open_ended = ""
    for place in range(0, len(parts) - 1, 2):
        sentence, end = open_ended + parts[place], parts[place + 1]
        open_ended = ""
        if end.startswith((".", ":")) and _goes_on(sentence, end, parts[place + 2]):
            open_ended = sentence + end
        else:
            yield sentence, end


def _goes_on(sentence: str, end: str, behind: str) -> bool:
    if end == ":":
        return not has_verb(sentence)
    found = _ABBREVIATED.search(sentence[-8:]) if behind else None
    if found is None:
        return False
    return found["day"] is None or next(iter(fold(behind).split(maxsplit=1)), "").strip(".,") in lists().months


def _at_commas(text: str) -> Iterator[str]:
    """Yield the parts of a text between commas that have a verb each; the others belong to the part before them. What
    only dates the rest ("Since the move in May, …") is yielded with it."""
    clause = ""
    for part in text.split(", "):
        if clause and has_verb(part) and has_verb(clause):
            yield clause
            clause = part
        else:
            clause = f"{clause}, {part}" if clause else part
    yield clause


def has_verb(text: str) -> bool:
    """Return True if a word of the text leads from a subject to what is said of it."""
    known = lists()
    return any(
        word in known.relations or known.classes.get(word) in ("change", "end", "not")
        for word in fold(text).split()
        if word.isalpha()
    )
