"""Escape a memory's text for a prompt, and estimate its size there.

Every memory counts as hostile. Escaped text is one line, hides nothing, and has nothing that looks like a frame: the
"<" of a mark of ours, or of a token of a chat template, is replaced, also where only normalisation makes it one. So no
memory can open or close a fence, carry a date or a reference that is not its own, or write a token by which chat
templates mark the speaker. The text stays readable: every other "<" stays, as in code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from mnemond.text.resources import regex
from mnemond.text.tokens import MAX_MARKS, capped

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of invisible characters: controls, formats (bidi, zero-width, tags), surrogates, private, unassigned."""

_IGNORABLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"
_HIGH_IGNORABLE = range(0xE0100, 0xE01F0)
"""Invisible letters and marks (Default_Ignorable_Code_Point, Unicode 15): 256 variation selectors carry a hidden text,
a byte each."""

_OPENINGS = {"\uff1c": "‹", "\ufe64": "‹", "\u226e": "‹\u0338"}
"""Characters that are read as "<", and one that is decomposed (NFD) to one with a stroke."""

_OPENING = regex("<")
_MARK = regex(r"[\s/]{0,4}(?:recalled\W{0,2}data|ref:|t:\d|\|)", re.IGNORECASE)
"""What follows the "<" of a mark of ours (a fence, a reference, a date) or of a token of a chat template."""

_MARK_LENGTH = 24
"""Characters behind a "<" in which a match of `_MARK` lies."""

_MAY_SHRINK = regex(f"[{_IGNORABLE}{chr(_HIGH_IGNORABLE[0])}-{chr(_HIGH_IGNORABLE[-1])}\uff1c\ufe64]")
"""Characters that count as a token each, and are removed or narrower than that in inert text."""

_COLON = ":\uff1a\ufe55\ufe13\ua789\u2236\u02f8"
"""Characters that are a colon, become one (NFKC), or look like one."""

_COLONS = regex(f"[{_COLON}]")

_SPEAKERS = "system|developer|assistant|human|user|tool|ai|instructions?|input|response|系统|系統|用户|用戶|使用者|助手"
_SPEAKER = regex(
    rf"(?:{_SPEAKERS})(?:[ _*-]{{0,4}}(?:prompts?|messages?|instructions?|turn|notes?|override|提示词?|消息|指令))?"
    rf'(?=(?:(?!["{_COLON}])[\W\d_]){{0,16}}[{_COLON}])',
    re.IGNORECASE,
)
"""The name of a speaker at the beginning of a line. In quotes it is mentioned, not used."""

_SPEAKER_LENGTH = 64
"""Characters of a line in which a match of `_SPEAKER` lies."""

_BEFORE = regex(r"(?:[\W\d_]|[^\W\d_](?=[\].)）、]))*")
"""Characters before a speaker: marks, numbers, the letter of an entry in a list or of one that is ticked off."""

_BRACKETED = regex(r"[\[\uff3b]([^\[\]()\uff3b\uff3d]{1,32})[\]\uff3d]")
_CONTROLS = frozenset((
    "inst", "sys", "system", "user", "assistant", "human", "tool", "developer", "systemprompt", "availabletools",
    "toolcalls", "toolresults", "toolcontent", "modelsettings", "callid", "args", "think", "prefix", "middle",
    "suffix", "img", "imgbreak", "imgend", "audio", "beginaudio", "transcribe",
))  # fmt: skip
"""Control tokens in brackets of the chat templates of Llama, Mistral and others, without marks."""

_FENCES = regex("[`\u1fef\uff40]{3,}|[~\uff5e]{3,}")
"""The end of a block of code, also after normalisation: a host may put the text into one."""

_IMAGE = regex(r"([!\uff01])(?=[\[\uff3b])")
_TARGETED = regex(r"[\]\uff3d][(\uff08\[\uff3b]")
"""An image of Markdown: a host that shows one requests it from a server whose name may leak a memory."""


def surely_kept(text: str) -> str:
    """`text` without the characters that take less room in `inert` text: a lower bound of that, except for runs of
    marks and of fences."""
    return text if text.isascii() else _MAY_SHRINK.sub("", text)


def inert(text: str) -> str:
    """Escape `text`: one line, its white space single, as data that a model may be shown.

    Invisible characters are removed. The "<" of a mark becomes "‹", a code fence three apostrophes, "[INST]" gets round
    brackets, an image becomes a link, and the name of a speaker at the beginning of a line gets quotes. Linear time,
    idempotent.
    """
    lines = map(_speakerless, _shown(text).splitlines())
    plain = _BRACKETED.sub(_rounded, " ".join(" ".join(lines).split()))
    if _TARGETED.search(plain):
        plain = _IMAGE.sub(r"\1 ", plain)
    return _OPENING.sub(_unmarked, _speakerless(_FENCES.sub(_unfenced, plain)))


def _unmarked(found: re.Match[str]) -> str:
    following = found.string[found.end() : found.end() + _MARK_LENGTH]
    return "‹" if _MARK.match(unicodedata.normalize("NFKC", following)) else "<"


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
    """The one character that `char` is normalised to, else `char`."""
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) == 1 else char


def _rounded(found: re.Match[str]) -> str:
    letters = filter(str.isalnum, unicodedata.normalize("NFKC", found[1]).casefold())
    return f"({found[1]})" if "".join(letters) in _CONTROLS else found[0]


def _unfenced(found: re.Match[str]) -> str:
    """A drawn-out sound in Chinese or Japanese is no fence: two waves of it stay."""
    return found[0][:2] if set(found[0]) == {"\uff5e"} else "'''"


def _shown(text: str) -> str:
    """`text` without invisible characters and what is read as "<"; white space of any kind stays."""
    if not (text.isprintable() and text.isascii()):
        text = _without_high(_HIDDEN_RUN.sub("", text))
    for opening, instead in _OPENINGS.items():
        text = text.replace(opening, instead)
    return capped(text) if not text.isascii() and _LONG_MARKS.search(text) else text


def _without_high(text: str) -> str:
    """`text` without invisible characters beyond the first 65,536 code points, each checked once."""
    high = filter("\uffff".__lt__, set(text))
    gone = [ord(char) for char in high if unicodedata.category(char) in HIDDEN or ord(char) in _HIGH_IGNORABLE]
    return text.translate(dict.fromkeys(gone)) if gone else text


def _hidden_run() -> str:
    spots = [chr(code) for code in range(0x10000) if unicodedata.category(chr(code)) in HIDDEN]
    return f"[{_IGNORABLE}{_class(char for char in spots if not char.isspace())}]+"


_HIDDEN_RUN = regex(_hidden_run)
"""Invisible characters of the first 65,536: one expression is twenty times as fast as checking each."""


def _long_marks() -> str:
    marks = (chr(code) for code in range(0x300, 0x10000) if unicodedata.combining(chr(code)))
    return f"[{_class(marks)}]{{{MAX_MARKS + 1}}}|[\U00010000-\U0001efff]"


_LONG_MARKS = regex(_long_marks)
"""May be a run of marks that is too long: of the first 65,536 characters, or with one of the others in it."""


def _class(chars: Iterable[str]) -> str:
    """The inside of a character class of characters that ascend, one range for each run of neighbours."""
    runs: list[list[str]] = []
    for char in chars:
        if runs and ord(char) == ord(runs[-1][1]) + 1:
            runs[-1][1] = char
        else:
            runs.append([char, char])
    return "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in runs)


# ---------------------------------------------------------------- size in a prompt
#
# An estimate that needs no tokenizer, in quarters of a token, which add up: the sizes of the parts of a text sum up to
# the size of the whole.

QUARTERS = 4
"""Quarters of a token, and letters of an alphabet that make one."""

_LETTERS = regex("[\u0000-\u10ff\u1e00-\u2bff]+")
"""Runs of the alphabets of Europe and Western Asia, Latin and Greek supplements, punctuation and symbols. Every other
character is a token: Han, Kana, Hangul and their marks, emoji. Runs, because a match takes as long as 100 letters:
8,000 characters of Chinese take .13 ms, and 1.1 ms one by one."""

ELLIPSIS = "…"


def quarters(text: str) -> int:
    """The size of `text`: 1 for a letter of an alphabet, 4 for a CJK character."""
    if text.isascii():
        return len(text)
    return len(text) + (QUARTERS - 1) * len(_LETTERS.sub("", text))


def token_count(size: int) -> int:
    """Tokens, rounded up, of a text of `size` quarters."""
    return -(-size // QUARTERS)


def cut(text: str, size: int) -> str:
    """`text`, or its beginning and "…", in at most `size` quarters (1 at least); no mark is parted from its letter."""
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
