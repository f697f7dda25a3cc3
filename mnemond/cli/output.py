"""Memory text is hostile until shown otherwise: nothing in it may drive the reader's terminal.

Characters are judged by Unicode category, never by a list: a list forgets (U+206A, tag characters, the next
version of Unicode). An escaped character stays visible, as the text another program would write for it.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import msgspec

from mnemond.model.answers import RecallMeta, RecallResult
from mnemond.model.outcomes import CausalCandidate, Conflict, EdgesCreated, RememberResult, SemanticCandidate
from mnemond.wire.params import plural

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, formats (bidi, joiners, tags), surrogates, private, unassigned, line and paragraph separators."""

JOINERS = frozenset("\u200c\u200d")
"""Zero-width non-joiner and joiner: part of how Persian, Indic scripts and emoji are spelt (Unicode 15, 23.2)."""

_JOINED = frozenset("LMS")
"""First letters of the categories between which a joiner spells something: letters, marks, symbols."""

_ASTRAL = 0x10000


def _joins(text: str, at: int) -> bool:
    """Whether the character there is a joiner with something to join. Beside ASCII it would only hide."""
    if text[at] not in JOINERS or not 0 < at < len(text) - 1:
        return False
    return all(not char.isascii() and unicodedata.category(char)[0] in _JOINED for char in (text[at - 1], text[at + 1]))


def _is_unsafe(char: str) -> bool:
    return unicodedata.category(char) in UNSAFE


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _ASTRAL else f"\\U{code:08x}"


def neutralise(text: str) -> str:
    r"""`text` with every unsafe character but "\n" and "\t" replaced by a visible escape such as "\u202e".

    A "\r\n" counts as a line break. A joiner between two letters, marks or symbols beyond ASCII stays.
    """
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(
        _visible(char) if char not in "\n\t" and _is_unsafe(char) and not _joins(text, at) else char
        for at, char in enumerate(text)
    )


def one_line(text: str) -> str:
    r"""`neutralise`, and line breaks and tabs shown as "\n" and "\t": for names, tags and other short fields."""
    return neutralise(text).replace("\n", "\\n").replace("\t", "\\t")


def escape_json(document: str) -> str:
    """A JSON document that means the same and whose strings are safe to show on a terminal.

    JSON leaves DEL, C1 controls and format characters unescaped; here they become \\uXXXX (a pair beyond the BMP).
    Outside strings JSON has no such characters, except line breaks and tabs, which stay.
    """
    if document.isprintable():
        return document
    return "".join(_json_escape(char) if char not in "\n\t" and _is_unsafe(char) else char for char in document)


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < _ASTRAL:
        return f"\\u{code:04x}"
    offset = code - _ASTRAL
    return f"\\u{0xD800 + (offset >> 10):04x}\\u{0xDC00 + (offset & 0x3FF):04x}"


# How text is laid out for people: widths, wrapping, short forms of ids, dates and scores.


SHORT_ID = 8
"""Characters of an id that are shown; the daemon accepts any unique prefix of at least six."""

UNLIMITED = 1 << 30
"""Columns of what is not a terminal: a program reads it, so nothing is cut or wrapped."""

SHORTENED = 8
"""Characters looked at for each cell of a short form: marks and joiners take none, a hidden one is written as six."""

MIN_WRAP = 20
"""Columns below which wrapping makes text worse, not better."""


class Style(msgspec.Struct, frozen=True):
    """The reader's terminal. Colours are added by us alone, after everything shown was made harmless."""

    columns: int = 80
    color: bool = False
    quiet: bool = False

    def strong(self, text: str) -> str:
        """`text` in bold."""
        return f"\x1b[1m{text}\x1b[0m" if self.color else text

    def faint(self, text: str) -> str:
        """`text` dimmed."""
        return f"\x1b[2m{text}\x1b[0m" if self.color else text


def char_width(char: str) -> int:
    """Terminal cells of one character: 2 for wide East Asian ones, 0 for combining marks and joiners, else 1
    (UAX #11)."""
    if char < "\u0300":
        return 1
    if char in JOINERS or unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def text_width(text: str) -> int:
    """Terminal cells of `text`, which holds no line break."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at spaces where there are any. Line breaks in `text` are kept."""
    width = max(width, MIN_WRAP)
    return [line for paragraph in text.split("\n") for line in _wrap_paragraph(paragraph.expandtabs(4), width)]


def _wrap_paragraph(text: str, width: int) -> list[str]:
    lines: list[str] = []
    while (cut := fitting(text, width)) < len(text):
        space = text.rfind(" ", 0, cut + 1)
        if space > 0:
            lines.append(text[:space].rstrip())
            text = text[space + 1 :]
        else:
            lines.append(text[:cut])
            text = text[cut:]
    lines.append(text)
    return lines


def fitting(text: str, width: int) -> int:
    """How many characters of `text` fit into `width` cells; at least one, so that wrapping always ends."""
    used = 0
    for index, char in enumerate(text):
        used += char_width(char)
        if used > width:
            return _before_joiners(text, index)
    return len(text)


def _before_joiners(text: str, cut: int) -> int:
    """The last place up to `cut` that takes no joined characters apart; `cut` itself where everything is joined."""
    at = max(cut, 1)
    while at > 1 and not JOINERS.isdisjoint(text[at - 1 : at + 1]):
        at -= 1
    return max(cut, 1) if at == 1 and text[1:2] in JOINERS else at


def shorten(text: str, width: int) -> str:
    """`text` on one line of at most `width` cells, with "…" where something was cut."""
    if len(text) > SHORTENED * width:
        text = text[: SHORTENED * width]  # more cannot be shown, and measuring all of it takes time
    line = one_line(text)
    if text_width(line) <= width:
        return line
    return line[: fitting(line, max(width - 1, 1))] + "…"


def body(text: str, style: Style, indent: str = "   ") -> str:
    """Memory text, harmless, wrapped and indented."""
    lines = wrap(neutralise(text), style.columns - len(indent))
    return "\n".join((indent + line).rstrip() for line in lines)


def short_id(identifier: str) -> str:
    """The part of an id that people read and type."""
    return one_line(identifier)[:SHORT_ID]


def day(timestamp: str) -> str:
    """The date of an RFC 3339 timestamp."""
    return one_line(timestamp)[:10]


def fraction(value: float) -> str:
    """A number in [0, 1] in two decimals, without the leading zero: ".85", "1.0", "0"."""
    if value == 0:
        return "0"
    text = f"{value:.2f}"
    return text.removeprefix("0") if text != "1.00" else "1.0"


def milliseconds(value: float) -> str:
    """A duration in milliseconds, with as many decimals as mean something."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def lines(*parts: str | None) -> str:
    """The parts that are there, one below the other, with a final line break."""
    kept = [part for part in parts if part is not None]
    return "\n".join(kept) + "\n" if kept else ""


# What a new memory may have to do with others, for people: conflicts to review and links to make, with commands.


SHOWN = 3
"""Conflicts and candidates of a kind that are shown; JSON has them all."""

MIN_CONTENT, MAX_CONTENT = 20, 160
"""Cells of a candidate that are shown even where the terminal is too narrow for them, and where it is no terminal: it
is shown to be recognised, and `mnemonctl get` shows the rest."""

MIN_ALIKE = 0.70
"""Similarity from which a memory is shown as perhaps related; weaker candidates are left to programs.

Of sentence pairs that people scored below 2 of 5 (SICK and STS, 5,125 pairs in all), 2.5 % are that much alike by the
cosine of the static model and 2.7 % by their words; of those they scored 4 or more, 65 % and 70 %. At .40, where
candidates begin, it is 29 % and 33 % of the former, and in a store of some hundred memories a new one always finds one;
at .70 every third finds one in LoCoMo, every fifth among the commits of Tendermint.
"""

_INDENT = "  "


def note(sentence: str, style: Style) -> str:
    """A sentence below the first line, wrapped."""
    return body(one_line(sentence), style, _INDENT)


def conflicts(result: RememberResult, style: Style) -> list[str]:
    """Memories that the new one repeats, corrects or contradicts too, each with what would settle it."""
    stored = result.id if not result.dry_run else None

    def settle(other: str) -> list[str]:
        return [f"mnemonctl supersede {other} {short_id(stored)}" if stored else f"mnemonctl get {other}"]

    return _review(result.conflicts, settle, style)


def conflicts_of(insight_id: str, found: Sequence[Conflict], style: Style) -> list[str]:
    """Memories that one which is back repeats or contradicts, each with the two commands that settle it: nobody but the
    user knows which of both holds."""
    back = short_id(insight_id)

    def settle(other: str) -> list[str]:
        return [
            f"what is back holds: mnemonctl supersede {other} {back}",
            f"the other holds:    mnemonctl supersede {back} {other}",
        ]

    return _review(found, settle, style, f"To review, beside {back}:")


def _review(
    found: Sequence[Conflict], settle: Callable[[str], list[str]], style: Style, head: str = "To review:"
) -> list[str]:
    shown = [_conflict(each, settle, style) for each in found[:SHOWN]]
    return [head, *shown, *_more(len(found))] if shown else []


def _conflict(conflict: Conflict, settle: Callable[[str], list[str]], style: Style) -> str:
    subject = short_id(conflict.id)
    head = f"{subject} ({one_line(conflict.suggestion)}, similarity {fraction(conflict.similarity)}): {conflict.reason}"
    return "\n".join((note(head, style), *(f"{_INDENT}{_INDENT}{line}" for line in settle(subject))))


def candidates(result: RememberResult, style: Style) -> list[str]:
    """Memories that may be related in meaning or as cause and effect, each with the command that links them.

    Of a dry run there is nothing to link yet. What is a pair or a conflict with it is told already.
    """
    if result.id is None or result.dry_run:
        return []
    told = {each.id for each in result.conflicts} | {result.redundancy.paired_with if result.redundancy else None}
    semantic = [
        _semantic(each, result.id, style)
        for each in result.semantic_candidates
        if each.similarity >= MIN_ALIKE and not each.auto_linked and each.id not in told
    ]
    causal = [_causal(each, result.id, style) for each in result.causal_candidates if each.is_likely]
    return [*_block("Perhaps related:", semantic), *_block("Perhaps cause and effect:", causal)]


def _block(title: str, shown: list[str]) -> list[str]:
    return [title, *shown[:SHOWN], *_more(len(shown))] if shown else []


def _more(count: int) -> list[str]:
    return [f"{_INDENT}{plural(count - SHOWN, 'other')}: --json shows all"] if count > SHOWN else []


def _semantic(candidate: SemanticCandidate, insight_id: str, style: Style) -> str:
    ends = f"{short_id(insight_id)} {short_id(candidate.id)}"
    link = f"mnemonctl link {ends} --type semantic --weight {candidate.similarity:.2f}"
    return _candidate(fraction(candidate.similarity), candidate.content, link, style)


def _causal(candidate: CausalCandidate, insight_id: str, style: Style) -> str:
    is_cause = candidate.suggested_direction == "from_candidate"
    ends = (candidate.id, insight_id) if is_cause else (insight_id, candidate.id)
    kind = one_line(candidate.suggested_sub_type)
    link = f"mnemonctl link {short_id(ends[0])} {short_id(ends[1])} --type causal --sub-type {kind}"
    return _candidate("cause" if is_cause else "effect", candidate.content, link, style)


def _candidate(label: str, content: str, link: str, style: Style) -> str:
    head = f"{_INDENT}{label}  "
    room = min(max(style.columns - len(head), MIN_CONTENT), MAX_CONTENT)
    return lines(style.faint(head) + shorten(content, room), f"{_INDENT}{_INDENT}{link}").removesuffix("\n")


# How a written operation is named to whoever may want to take it back.


_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""An id that the daemon makes."""


def operation_name(op_id: str) -> str:
    """What names an operation in a shell: the beginning of an id that the daemon made, the whole of a caller's own."""
    return short_id(op_id) if _UUID.fullmatch(op_id) else shlex.quote(one_line(op_id))


def undo_hint(op_id: str, style: Style) -> str:
    """How to take a write back."""
    return style.faint(f"  undo: mnemonctl undo {operation_name(op_id)}")


# What a reader of a recall has to know beside its results: how they are ordered, and how far to trust them.


DOUBTED_BELOW = 0.45
"""Trust from which on nothing is said of it. At least a third of the best results are somebody else's below it, for
trust is never under .70 times their agreement (recall/ranking.py)."""

REASONS = {"short_query": "the question has fewer than three words"}
"""Why there was no second look, in words; another reason says itself."""


def notes(result: RecallResult) -> Iterator[str]:
    """A sentence for each."""
    meta = result.meta
    yield from _of_window(meta)
    if result.results and meta.trust < DOUBTED_BELOW:
        yield f"trust {fraction(meta.trust)}: much of this is not from whom the question names"
    if meta.rerank.reason is not None:
        yield f"no second look: {REASONS.get(meta.rerank.reason, one_line(meta.rerank.reason))}"
    scores = [hit.score for hit in result.results]
    if meta.intent == "WHY" and scores != sorted(scores, reverse=True):
        yield "causes stand before what they led to"


def _of_window(meta: RecallMeta) -> Iterator[str]:
    if meta.window is not None:
        only = "nothing else was looked at" if meta.window.hard else "other times count for less"
        yield f"asked about {day(meta.window.since)} to {day(meta.window.until)}; {only}"


# What the commands that change a memory show alike.


DONE_BEFORE = " (done before, with the same op_id)"


def new_links(edges: EdgesCreated) -> str:
    """How many links a memory got, "" for none."""
    count = edges.temporal + edges.entity + edges.causal + edges.semantic
    return f", {plural(count, 'new link')}" if count else ""


def remarks(
    embed_error: str | None, redacted: Sequence[str] = (), warnings: Sequence[str] = ()
) -> tuple[str | None, ...]:
    """Lines below the first: what was taken out, what is doubtful, why there is no vector."""
    return (
        f"  redacted: {one_line(', '.join(redacted))} (--allow-secret keeps it)" if redacted else None,
        *(f"  {one_line(warning)}" for warning in warnings),
        f"  not embedded: {one_line(embed_error)}" if embed_error else None,
    )
