"""`mnemonctl doctor`: run by the client, which asks the daemon about its stores; here its grammar and its text."""

from __future__ import annotations

from typing import Final

from mnemond.commands.command import Command
from mnemond.commands.layout import Style, lines, plural, wrap
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.doctor import CheckView, DoctorResult, SalvageResult

WORDS: Final = {"ok": "ok", "problem": "PROBLEM", "note": "note", "skipped": "skipped"}
WIDTH: Final = max(map(len, WORDS.values())) + 2
MARGIN: Final = " " * WIDTH


def _parser() -> Parser:
    parser = Parser("doctor")
    parser.add_argument("--all", action="store_true", help="every store, not only the one that is used")
    parser.add_argument(
        "--full", "--verify", action="store_true", help="every row, link, vector and page: about a second for 10,000"
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="read what can be read of a damaged store into a new one; no daemon may run",
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


def render_salvage(result: SalvageResult, style: Style) -> str:
    """Where what was read lies, what was lost, and what to do next."""
    held = f"{plural(result.memories, 'memory')}, {result.retired:,} out of recall"
    said = [f"{style.strong(result.store)}: {held}, read from {result.of}, which is as it was", f"  {result.path}"]
    for each in result.tables:
        parts = [f"{each.kept:,} rows kept"]
        parts += [f"{each.doubtful:,} of them from damaged pages"] if each.doubtful else []
        parts += [f"{each.left_out:,} left out"] if each.left_out else []
        parts += [f"{plural(each.gaps, 'place')} that nobody can read"] if each.gaps else []
        said.append(f"  {each.table}: {', '.join(parts)}")
    said.append("  nothing was lost" if result.whole else "  what is not named was read whole")
    return lines(*said, f"mnemonctl store set {result.store} makes it the one that is used")


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
    summary="Whether stores, files, daemon and service are sound (exit 1 if not). Changes nothing stored.",
    words="",
    examples=("mnemonctl doctor", "mnemonctl doctor --all --full", "mnemonctl doctor --store work --json"),
    details=(
        "Without a daemon it looks at files and rows; what a daemon has in memory is compared only where one runs.",
        "--salvage makes a store NAME-salvaged; the damaged one is only read. Exit 1 when something was lost.",
        "A daemon looks at the same, --full excepted, every hour by itself: mnemonctl jobs list.",
    ),
    parser=_parser(),
)
