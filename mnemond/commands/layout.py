"""How text is laid out for people: widths, wrapping, short forms of ids, dates and scores."""

from __future__ import annotations

import unicodedata

import msgspec

from mnemond.commands.terminal import JOINERS, neutralise, one_line

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


def plural(count: int, noun: str) -> str:
    """ "1 store", "2 stores" (a final "y" becomes "ies")."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def lines(*parts: str | None) -> str:
    """The parts that are there, one below the other, with a final line break."""
    kept = [part for part in parts if part is not None]
    return "\n".join(kept) + "\n" if kept else ""
