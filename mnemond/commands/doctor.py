"""`mnemonctl doctor`: run by the client, which asks the daemon about its stores; here its grammar and its text."""

from __future__ import annotations

from typing import Final

from mnemond.commands.command import Command
from mnemond.commands.layout import Style, lines, plural, wrap
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.doctor import CheckView, DoctorResult

WORDS: Final = {"ok": "ok", "problem": "PROBLEM", "note": "note", "skipped": "skipped"}
WIDTH: Final = max(map(len, WORDS.values())) + 2
MARGIN: Final = " " * WIDTH


def _parser() -> Parser:
    parser = Parser("doctor")
    parser.add_argument("--all", action="store_true", help="every store, not only the one that is used")
    parser.add_argument(
        "--full", action="store_true", help="every row, link, vector and page: about a second for 10,000"
    )
    add_globals(parser)
    return parser


def render(result: DoctorResult, style: Style) -> str:
    """Every check in a line, problems with where they are and what to do; with --quiet problems alone."""
    shown = [each for each in result.checks if not (style.quiet and each.ok)]
    said = [line for each in shown for line in _check(each, style)]
    if style.quiet:
        return lines(*said)
    total = [plural(result.problems, "problem"), plural(result.notes, "note"), plural(len(result.checks), "check")]
    return lines(*said, style.strong(", ".join(total)))


def _check(view: CheckView, style: Style) -> list[str]:
    word = WORDS[view.state].ljust(WIDTH)
    name = one_line(view.name if view.store is None else f"{view.store}: {view.name}")
    if not view.problems:
        line = [f"{word}{name}: {one_line(view.detail)}"]
        if view.state == "note":
            first, *rest = wrap(line[0], style.columns)
            return [first, *(MARGIN + each for each in rest)]
        return [style.faint(line[0])] if view.state != "ok" else line
    found: list[str] = []
    for problem in view.problems:
        for label, sentence in (("", problem.what), ("where: ", problem.where), ("next: ", problem.next)):
            head = f"{style.strong(word)}{name}: " if not label else MARGIN + label
            first, *rest = wrap(one_line(sentence), style.columns - WIDTH - 2)
            found += [head + first, *(f"{MARGIN}  {each}" for each in rest)]
    return found


COMMAND = Command(
    name="doctor",
    summary="Whether stores, files, daemon and service are sound (exit 1 if not). Changes nothing.",
    words="",
    examples=("mnemonctl doctor", "mnemonctl doctor --all --full", "mnemonctl doctor --store work --json"),
    details=(
        "Without a daemon it looks at files and rows; what a daemon has in memory is compared only where one runs.",
        "A daemon looks at the same, --full excepted, every hour by itself: mnemonctl jobs list.",
    ),
    parser=_parser(),
)
