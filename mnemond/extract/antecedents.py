"""What "it" at the beginning of a sentence stands for: the last thing its group named, or nobody can tell (spec 9)."""

from __future__ import annotations

import re
from typing import Final

_EXPLETIVE: Final = re.compile(
    r"(?:it|that) (?:turn(?:s|ed) out|was (?:decided|agreed)|is (?:not allowed|forbidden|important|mandatory))\b",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(
    r"(?P<word>it|its|this|that|these|those|they|their|he|she|his|her)(?P<is>['’]s)?\b", re.IGNORECASE
)
_VERB: Final = re.compile(
    r"\s+(?:is|was|has|had|will|can|must|may|uses?|runs?|lives?|needs?|requires?|depends?|listens?|costs?|supports?"
    r"|allows?|works?"
    r"|expires?|starts?|ends?|belongs?|only|also|always|never)\b",
    re.IGNORECASE,
)
_LASTING: Final = re.compile(
    r"(?:this|that) (?:project|repo|repository|codebase|team|company|year|app|machine|laptop|service|monorepo)\b",
    re.IGNORECASE,
)


def resolved(sentence: str, last: str | None) -> str | None:
    """`sentence` with its leading pronoun replaced by `last`, what its group named last; None where that is unclear.

    "This project" and "it turned out" need nothing; "they", "he" and "she" may be anybody.
    """
    found = _PRONOUN.match(sentence)
    if found is None or _EXPLETIVE.match(sentence) or _LASTING.match(sentence):
        return sentence
    word, rest = found["word"].lower(), sentence[found.end() :]
    if last is None or word not in ("it", "its", "this", "that"):
        return None
    if word == "its":
        return f"{last}'s{rest}"
    if found["is"]:
        return f"{last} is{rest}"
    return f"{last}{rest}" if _VERB.match(rest) else None
