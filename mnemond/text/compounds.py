"""German compounds: cut into two words, and joined from two, by the letters that German puts between them.

No dictionary: the caller knows which words exist. A word may be cut at any place that leaves two parts of
enough letters; what is between them may be one of `LINKS`, as in Rechnung-s-lauf, Klasse-n-arbeit, Schul(e)-hof.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mnemond.text.caches import text_cache
from mnemond.text.prompt_words import function_words
from mnemond.text.resources import regex
from mnemond.text.tokens import fold, index_term

SHORTEST: Final = 4
"""Letters of a part: shorter ones are in words that are no compounds ("Be-amter", "Ur-laub")."""

SHORTEST_LAST: Final = 3
"""Letters of the last part, which carries the meaning: Schul-hof, Arbeits-tag."""

LONGEST: Final = 40
"""Letters of a word that is cut."""

LINKS: Final = ("", "s", "n", "en", "es", "er", "e")
"""Letters between the two parts of a German compound."""

_ENDINGS: Final = ("", "e", "en", "n", "er")
"""Endings of a part that stands alone in another case or number: "Rechnungen" beside Rechnungs-lauf."""

_WORD: Final = regex(r"[a-zäöü]+")
_ANY: Final = regex(r"[^\W\d_]{3,40}")
_MARKED: Final = regex(
    r"[äöü]|(?:ung|heit|keit|schaft|ion|tät|ling|tum)s[a-zäöü]{3}|\b(?:de[rsmn]|die|das|vo[nm]) [a-zäöü]+ungs?\b"
)
"""A text that looks German without function words: a German letter, or an s behind a German ending."""


class Split(NamedTuple):
    """Index terms of the forms in which each part of a compound may stand alone."""

    first: tuple[str, ...]
    last: tuple[str, ...]


def german_words(text: str) -> list[str]:
    """Return the different words of a text, folded, that may be compounds or their parts: all if the text is German;
    without English function words, those that look German and what stands beside them."""
    plain = fold(text)
    german, english = function_words(plain)
    words = list(dict.fromkeys(_ANY.findall(plain)))
    return words if german > english or (not english and _MARKED.search(plain) is not None) else []


@text_cache(maxsize=1024)
def splits(word: str) -> tuple[Split, ...]:
    """Return each way to cut a folded word."""
    if not SHORTEST + SHORTEST_LAST <= len(word) <= LONGEST or _WORD.fullmatch(word) is None:
        return ()
    found: list[Split] = []
    for at in range(SHORTEST, len(word) - SHORTEST_LAST + 1):
        stems = [word[:at].removesuffix(link) for link in LINKS if word[:at].endswith(link)]
        found.append(Split(_forms([stem for stem in stems if len(stem) >= SHORTEST]), _forms([word[at:]])))
    return tuple(found)


@text_cache(maxsize=1024)
def joined(first: str, last: str) -> tuple[str, ...]:
    """Return index terms of the compounds that two folded words may make in this order; none if one is too short."""
    if len(first) < SHORTEST or len(last) < SHORTEST_LAST or max(len(first), len(last)) > LONGEST:
        return ()
    stems = [first, *(first.removesuffix(end) for end in ("e", "en") if first.endswith(end))]
    whole = (f"{stem}{link}{last}" for stem in stems if len(stem) >= SHORTEST for link in LINKS)
    return tuple(dict.fromkeys(map(index_term, whole)))


def rest_of(compound: str, part: str) -> tuple[str, ...]:
    """Return index terms of the other part of a word that begins or ends with `part`; none if it does not."""
    if compound.endswith(part):
        rest = compound.removesuffix(part)
        stems = [rest.removesuffix(link) for link in LINKS if rest.endswith(link)]
    elif compound.startswith(part):
        rest = compound.removeprefix(part)
        stems = [rest.removeprefix(link) for link in LINKS if rest.startswith(link)]
    else:
        return ()
    return _forms([stem for stem in stems if len(stem) >= SHORTEST])


def _forms(stems: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(index_term(stem + ending) for stem in stems for ending in _ENDINGS))
