"""Text for terminals: escaping, layout, and phrases that several commands share.

Memory text is hostile until shown otherwise: nothing in it may drive the reader's terminal. Characters are judged by
Unicode category, never by a list: a list forgets (U+206A, tag characters, the next version of Unicode). An escaped
character stays visible, as the text another program would write for it.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any

import msgspec

from mnemond.model.outcomes import Conflict, EdgesCreated
from mnemond.wire.params import plural

# Escaping.


UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, formats (bidi, joiners, tags), surrogates, private, unassigned, line and paragraph separators."""

JOINERS = frozenset("\u200c\u200d")
"""Zero-width non-joiner and joiner: part of how Persian, Indic scripts and emoji are spelt (Unicode 15, 23.2)."""

_JOINED = frozenset("LMS")
"""First letters of the categories between which a joiner spells something: letters, marks, symbols."""

_ASTRAL = 0x10000


def _joins(text: str, at: int) -> bool:
    """Return True if the character there is a joiner with something to join. Beside ASCII it would only hide."""
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
    r"""Replace every unsafe character but "\n" and "\t" by a visible escape such as "\u202e".

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
    """Return a JSON document of the same meaning whose strings are safe to show on a terminal.

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


# Layout: widths, wrapping, short forms.


SHORT_ID = 8
"""Characters of an id that are shown; the daemon accepts any unique prefix of at least six."""

UNLIMITED = 1 << 30
"""Columns of an output that is no terminal: a program reads it, so nothing is cut or wrapped."""

SHORTENED = 8
"""Characters looked at for each cell of a short form: marks and joiners take none, a hidden one is written as six."""

MIN_WRAP = 20
"""Columns below which wrapping makes text worse, not better."""

MIN_CONTENT = 20
"""Cells of a memory's text that are shown even where the terminal is too narrow for them."""


class Style(msgspec.Struct, frozen=True):
    """The reader's terminal. Colours are added here alone, to text that was escaped before."""

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
    """Count the characters of `text` that fit into `width` cells; at least one, so that wrapping always ends."""
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
    """Cut `text` to one line of at most `width` cells, with "…" if something was cut."""
    if len(text) > SHORTENED * width:
        text = text[: SHORTENED * width]  # more cannot be shown, and measuring all of it takes time
    line = one_line(text)
    if text_width(line) <= width:
        return line
    return line[: fitting(line, max(width - 1, 1))] + "…"


def body(text: str, style: Style, indent: str = "   ") -> str:
    """Memory text, escaped, wrapped and indented."""
    lines = wrap(neutralise(text), style.columns - len(indent))
    return "\n".join((indent + line).rstrip() for line in lines)


def row(head: str, content: str, style: Style, least: int = MIN_CONTENT) -> str:
    """A faint head, and as much of a text as fits beside it, in `least` cells at least."""
    return style.faint(head) + shorten(content, max(style.columns - len(head), least))


def hanging(head: str, text: str, columns: int, margin: int) -> list[str]:
    """A text wrapped beside a head, further lines below a margin of so many cells."""
    first, *rest = wrap(text, columns)
    return [head + first, *(" " * margin + line for line in rest)]


def lines(*parts: str | None) -> str:
    """Join the parts that are not None, with a line break after each."""
    return "".join(f"{part}\n" for part in parts if part is not None)


def and_more(found: int, shown: Sized, what: str = "") -> str | None:
    """The line after those of a list that is not whole; None after one that is."""
    return f"  and {found - len(shown):,} more{what}" if found > len(shown) else None


def ids(found: Iterable[Any]) -> str:
    """The id of each, on a line of its own."""
    return lines(*(one_line(each.id) for each in found))


def short_id(identifier: str) -> str:
    """The part of an id that people read and type."""
    return one_line(identifier)[:SHORT_ID]


def day(timestamp: str) -> str:
    """The date of an RFC 3339 timestamp."""
    return one_line(timestamp)[:10]


def second(timestamp: str) -> str:
    """An RFC 3339 timestamp down to its second."""
    return one_line(timestamp)[:19].replace("T", " ")


def fraction(value: float) -> str:
    """A number in [0, 1] in two decimals, without the leading zero: ".85", "1.0", "0"."""
    if value == 0:
        return "0"
    text = f"{value:.2f}"
    return text.removeprefix("0") if text != "1.00" else "1.0"


def milliseconds(value: float) -> str:
    """A duration in milliseconds, with as many decimals as mean something."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def duration(seconds: float) -> str:
    """Seconds as "3 s", "4 min", "5 h" or "6 d"."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def size(count: int) -> str:
    """Bytes in the unit that suits them."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def counts(found: Mapping[str, int]) -> str:
    """Counts by name: "fact 1,000, decision 234"; "none"."""
    return ", ".join(f"{one_line(name)} {count:,}" for name, count in found.items()) or "none"


def kind(memory: Any) -> str:  # noqa: ANN401 - every view of a memory has both
    """Category and importance: "decision/4"."""
    return f"{one_line(memory.category)}/{memory.importance}"


# Phrases of the commands that write.


_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""An id that the daemon makes."""


def operation_name(op_id: str) -> str:
    """The name of an operation in a shell: the beginning of an id that the daemon made, the whole of a caller's own."""
    return short_id(op_id) if _UUID.fullmatch(op_id) else shlex.quote(one_line(op_id))


def undo_hint(op_id: str, style: Style) -> str:
    """The command that takes a write back, below the first line."""
    return style.faint(f"  undo: mnemonctl undo {operation_name(op_id)}")


def undo_line(op_id: str) -> str:
    """The same as a sentence."""
    return f"To take it back: mnemonctl undo {operation_name(op_id)}"


def repeated(result: Any) -> str:  # noqa: ANN401 - every result of a write has it
    """A remark for a write that was done before."""
    return " (done before, with the same op_id)" if result.replayed else ""


def affected(count: int, what: str) -> str:
    """ ", 2 links removed", or nothing for none."""
    return f", {plural(count, 'link')} {what}" if count else ""


def new_links(edges: EdgesCreated) -> str:
    """ ", 2 new links", or nothing for none."""
    count = edges.temporal + edges.entity + edges.causal + edges.semantic
    return f", {plural(count, 'new link')}" if count else ""


def remarks(
    embed_error: str | None, redacted: Sequence[str] = (), warnings: Sequence[str] = ()
) -> tuple[str | None, ...]:
    """Lines below the first: what was redacted, warnings, why there is no vector."""
    return (
        f"  redacted: {one_line(', '.join(redacted))} (--allow-secret keeps it)" if redacted else None,
        *(f"  {one_line(warning)}" for warning in warnings),
        f"  not embedded: {one_line(embed_error)}" if embed_error else None,
    )


# Conflicts, each with the commands that settle it.


MAX_SHOWN = 3
"""Conflicts and candidates of a kind that are shown; JSON has them all."""


def first_words(words: str | None, *, purged: bool) -> str:
    """Return the first words of a memory as they were looked up; "purged" where nothing of it is kept."""
    return "purged" if purged else words or ""


MAX_SAID = 160
"""Cells of a memory in a remark, even without a terminal: it is to be recognised, `mnemonctl get` shows the rest."""


def conflicts_of(insight_id: str, found: Sequence[Conflict], style: Style) -> list[str]:
    """Memories that a restored one repeats or contradicts, each with the two commands that settle it: only the user
    knows which of both holds."""
    back = short_id(insight_id)

    def settle(conflict: Conflict) -> list[str]:
        other = short_id(conflict.id)
        return [
            f"what is back holds: mnemonctl supersede {other} {back}",
            f"the other holds:    mnemonctl supersede {back} {other}",
        ]

    return review(f"To review, beside {back}:", found, settle, style)


def review(head: str, found: Sequence[Conflict], settle: Callable[[Conflict], list[str]], style: Style) -> list[str]:
    """A head, conflicts, and the commands that `settle` returns for each."""
    shown = [head] if found else []
    for each in found[:MAX_SHOWN]:
        other = short_id(each.id)
        suggestion = f"{one_line(each.suggestion)}, similarity {fraction(each.similarity)}"
        shown.append(note(f"{other} ({suggestion}): {each.reason}", style))
        if each.content:
            shown.append(note(f"it says: {shorten(each.content, MAX_SAID)}", style))
        shown += [f"    {line}" for line in settle(each)]
    return shown + unshown(len(found))


def unshown(count: int) -> list[str]:
    """A line about those of `count` that are not shown."""
    return [f"  {plural(count - MAX_SHOWN, 'other')}: --json shows all"] if count > MAX_SHOWN else []


def note(sentence: str, style: Style) -> str:
    """A sentence below the first line, wrapped."""
    return body(one_line(sentence), style, "  ")
