"""A memory's text as it may stand in a prompt: on one line, nothing hidden in it, nothing that looks like a frame.

A memory is hostile until shown otherwise. Every mark of a frame begins with "<", and no text made here has one, nor
gets one by normalisation: so no memory can open or close a fence, carry a date or a reference that is not its own, or
write a token by which chat templates tell who speaks. What is changed stays readable.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from mnemond.text.resources import regex
from mnemond.text.tokens import LONGEST_RUN, capped

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of what does not show: controls, formats (bidi, zero-width, tags), surrogates, private, unassigned."""

_IGNORABLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"
_HIGH_IGNORABLE = range(0xE0100, 0xE01F0)
"""Letters and marks that do not show either (Default_Ignorable_Code_Point, Unicode 15): 256 variation selectors carry a
hidden text, a byte each."""

_OPENINGS = {"<": "‹", "\uff1c": "‹", "\ufe64": "‹", "\u226e": "‹\u0338"}
"""What begins a tag, and what is read as such, or is one with a stroke through it when it is taken apart (NFD)."""

_DIMINISHED = regex(f"[{_IGNORABLE}{chr(_HIGH_IGNORABLE[0])}-{chr(_HIGH_IGNORABLE[-1])}\uff1c\ufe64]")
"""What counts for a token and is nothing, or as wide as a letter, once it is inert."""

_COLON = ":\uff1a\ufe55\ufe13\ua789\u2236\u02f8"
"""What is a colon, becomes one (NFKC), or looks like one."""

_COLONS = regex(f"[{_COLON}]")

_SPEAKERS = "system|developer|assistant|human|user|tool|ai|instructions?|input|response|系统|系統|用户|用戶|使用者|助手"
_SPEAKER = regex(
    rf"(?:{_SPEAKERS})(?:[ _*-]{{0,4}}(?:prompts?|messages?|instructions?|turn|notes?|override|提示词?|消息|指令))?"
    rf'(?=(?:(?!["{_COLON}])[\W\d_]){{0,16}}[{_COLON}])',
    re.IGNORECASE,
)
"""Who speaks, where a line begins. Quoted, it is mentioned instead of meant."""

_SPEAKER_LENGTH = 64
"""Characters in which all of that lies."""

_BEFORE = regex(r"(?:[\W\d_]|[^\W\d_](?=[\].)）、]))*")
"""What may stand before a speaker: marks, numbers, the letter of an entry in a list or of one that is ticked off."""

_BRACKETED = regex(r"[\[\uff3b]([^\[\]()\uff3b\uff3d]{1,32})[\]\uff3d]")
_CONTROLS = frozenset((
    "inst", "sys", "system", "user", "assistant", "human", "tool", "developer", "systemprompt", "availabletools",
    "toolcalls", "toolresults", "toolcontent", "modelsettings", "callid", "args", "think", "prefix", "middle",
    "suffix", "img", "imgbreak", "imgend", "audio", "beginaudio", "transcribe",
))  # fmt: skip
"""Control tokens in brackets of the chat templates of Llama, Mistral and others, without what is neither letter nor
digit."""

_FENCES = regex("[`\u1fef\uff40]{3,}|[~\uff5e]{3,}")
"""What ends a block of code, or would after normalisation: a host may have put all of this into one."""

_IMAGE = regex(r"([!\uff01])(?=[\[\uff3b])")
_TARGETED = regex(r"[\]\uff3d][(\uff08\[\uff3b]")
"""An image of Markdown: a host that shows one asks another machine for it, whose name may tell what was recalled."""


def undiminished(text: str) -> str:
    """`text` without the characters that take less room once it is inert, piles of marks and of fences aside: what is
    left surely takes no less."""
    return text if text.isascii() else _DIMINISHED.sub("", text)


def inert(text: str) -> str:
    """`text` on one line, its white space single, as data that a model may be shown.

    Left out is what does not show. A "<" becomes "‹", a code fence three apostrophes, "[INST]" round, an image a link,
    and who speaks at the beginning of a line is put in quotes. Linear time; what is inert already stays the same.
    """
    lines = map(_speakerless, _shown(text).splitlines())
    plain = _BRACKETED.sub(_rounded, " ".join(" ".join(lines).split()))
    if _TARGETED.search(plain):
        plain = _IMAGE.sub(r"\1 ", plain)
    return _speakerless(_FENCES.sub(_unfenced, plain))


def _speakerless(line: str) -> str:
    if not _COLONS.search(line):
        return line
    before = _BEFORE.match(line)
    start = 0 if before is None else before.end()
    head = line[start : start + _SPEAKER_LENGTH]
    found = _SPEAKER.match(head if head.isascii() else "".join(map(_plain, head)))
    if found is None:
        return line
    return f'{line[:start]}"{head[: found.end()]}"{line[start + found.end() :]}'


def _plain(char: str) -> str:
    """The one character that normalisation makes of it, else itself."""
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 else char


def _rounded(found: re.Match[str]) -> str:
    letters = filter(str.isalnum, unicodedata.normalize("NFKC", found[1]).casefold())
    return f"({found[1]})" if "".join(letters) in _CONTROLS else found[0]


def _unfenced(found: re.Match[str]) -> str:
    """A drawn-out sound in Chinese or Japanese is not a fence yet: two waves of it stay."""
    return found[0][:2] if set(found[0]) == {"\uff5e"} else "'''"


def _shown(text: str) -> str:
    """`text` without what does not show, and without what begins a tag; white space of any kind stays."""
    if not (text.isprintable() and text.isascii()):
        text = _without_high(_HIDDEN_RUN.sub("", text))
    for opening, instead in _OPENINGS.items():
        text = text.replace(opening, instead)
    return capped(text) if not text.isascii() and _LONG_MARKS.search(text) else text


def _without_high(text: str) -> str:
    """`text` without what does not show beyond the first 65,536 characters, each looked at once."""
    high = filter("\uffff".__lt__, set(text))
    gone = [ord(char) for char in high if unicodedata.category(char) in HIDDEN or ord(char) in _HIGH_IGNORABLE]
    return text.translate(dict.fromkeys(gone)) if gone else text


def _hidden_run() -> str:
    spots = [chr(code) for code in range(0x10000) if unicodedata.category(chr(code)) in HIDDEN]
    return f"[{_IGNORABLE}{_class(char for char in spots if not char.isspace())}]+"


_HIDDEN_RUN = regex(_hidden_run)
"""What does not show of the first 65,536 characters: looked up in a table, twenty times as fast as one by one."""


def _long_marks() -> str:
    marks = (chr(code) for code in range(0x300, 0x10000) if unicodedata.combining(chr(code)))
    return f"[{_class(marks)}]{{{LONGEST_RUN + 1}}}|[\U00010000-\U0001efff]"


_LONG_MARKS = regex(_long_marks)
"""Where a run of marks that is too long may be: of the first 65,536 characters, or with one of the others in it."""


def _class(chars: Iterable[str]) -> str:
    """The inside of a character class of characters that ascend, one range for each run of neighbours."""
    runs: list[list[str]] = []
    for char in chars:
        if runs and ord(char) == ord(runs[-1][1]) + 1:
            runs[-1][1] = char
        else:
            runs.append([char, char])
    return "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in runs)


# How much room a text takes in a prompt: an estimate that needs no tokenizer (spec 12).
#
# Counted in quarters of a token, which add up: the parts of a text take together what the whole takes.


QUARTERS = 4
"""Letters of an alphabet a token (spec 12)."""

_LETTERS = regex("[\u0000-\u10ff\u1e00-\u2bff]+")
"""The alphabets of Europe and Western Asia, Latin and Greek supplements, punctuation and symbols. Everything else is a
token each: Han, Kana, Hangul and what stands with them, emoji. Runs, because each match takes longer than 100 letters:
8,000 characters of Chinese took 1.1 ms one by one and take .13 ms so."""

ELLIPSIS = "…"


def quarters(text: str) -> int:
    """The size of `text`: 1 for a letter of an alphabet, 4 for a CJK character."""
    if text.isascii():
        return len(text)
    return len(text) + (QUARTERS - 1) * len(_LETTERS.sub("", text))


def tokens(size: int) -> int:
    """Tokens, rounded up, of a text of that many quarters."""
    return -(-size // QUARTERS)


def cut(text: str, size: int) -> str:
    """`text`, or its beginning and "…" in at most `size` quarters (1 at least); no mark loses its letter."""
    if quarters(text) <= size:
        return text
    room = size - quarters(ELLIPSIS)
    end = 0
    while room > 0:
        room -= quarters(text[end])
        end += room >= 0
    while end and unicodedata.combining(text[end]):
        end -= 1
    return text[:end].rstrip() + ELLIPSIS
