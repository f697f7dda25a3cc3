"""Reword what has ended, as memories are compared by these words: "no longer goes" for "doesn't go any more"."""

from __future__ import annotations

import re
from typing import Final

from mnemond.extract.english_grammar import grammar
from mnemond.extract.first_person import with_name
from mnemond.text.resources import regex

_MORE: Final = r"(?: (?P<rest>.{0,160}?))? (?:any ?more|any longer)\b"
_DOES: Final = regex(
    rf"(?P<subject>(?!you\b).{{1,80}}?) (?P<form>don't|doesn't|do not|does not) (?!need\b"
    rf"|have\b)(?P<verb>[a-z]+){_MORE}",
    re.IGNORECASE,
)
_IS: Final = regex(
    r"(?P<subject>(?!you\b).{1,80}?)(?: (?P<form>is|are|am)(?:n't| not)|'(?P<short>m|s|re) not)" + _MORE, re.IGNORECASE
)
_FORMS: Final = {"m": "am", "s": "is", "re": "are"}
_BOTHER: Final = regex(
    r"(?:please )?(?:don't|do not|no need to|(?:you )?(?:don't|do not) (?:need|have) to|needn't) bother (?:with )?"
    r"(?P<verb>[a-z]+ing)\b(?P<rest>.+)",
    re.IGNORECASE,
)
_STOP: Final = regex(
    r"(?:please )?(?:(?:you (?:can|may|should|must)|(?:can|could|would|will) you) (?:now )?)?(?:please )?"
    r"stop (?P<verb>[a-z]+ing)\b(?P<rest>.+)",
    re.IGNORECASE,
)


def no_longer(part: str) -> str:
    """`part`, a clause with straight apostrophes, with "no longer" for "not … any more", and "don't … any more" for
    "stop …ing"; any other clause as it is."""
    if (does := _DOES.match(part)) is not None:
        verb = with_name(does["verb"]) if does["form"].lower().startswith("does") else does["verb"]
        return _joined(does["subject"], "no longer", verb, does["rest"], part[does.end() :])
    if (ended := _IS.match(part)) is not None:
        form = ended["form"] or _FORMS[ended["short"].lower()]
        return _joined(ended["subject"], form, "no longer", ended["rest"], part[ended.end() :])
    if (stopped := _STOP.match(part)) is not None:
        base = grammar().gerunds.get(stopped["verb"].lower()) or stopped["verb"][: -len("ing")]
        return f"Don't {base}{stopped['rest'].rstrip(' .!')} any more"
    if (bother := _BOTHER.match(part)) is not None:
        base = grammar().gerunds.get(bother["verb"].lower()) or bother["verb"][: -len("ing")]
        return f"Don't {base}{bother['rest'].rstrip(' .!')}"
    return part


def _joined(*parts: str | None) -> str:
    return re.sub(r" (?=[,.;!])", "", " ".join(filter(None, (each and each.strip() for each in parts))))
