"""`mnemonctl diff`."""

from __future__ import annotations

from mnemond.commands.candidates import MIN_CONTENT, note
from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, fraction, lines, short_id, shorten, wrap
from mnemond.commands.options import CATEGORIES, Split, add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.remembering import DiffMatch, DiffResult, DiffThresholds

_EFFECTS = {
    "ADD": "remember would add it",
    "DUPLICATE": "remember would add nothing",
    "CONFLICT": "remember would put it in the place of what it contradicts",
    "UPDATE": "remember would put it in the place of what it refines",
}

_KEPT = "remember would add it beside the memory that it would otherwise replace"

_HEADS = ("similarity", "words", "cosine", "novelty")

_SIGNS = len("negation, numbers")


def _parser() -> Parser:
    parser = Parser("diff", takes_text=True)
    parser.add_argument(
        "--category", "--cat", metavar="NAME", help=f"as which it would be stored: {CATEGORIES}; default general"
    )
    parser.add_argument(
        "--entity", action="append", dest="entities", metavar="NAME", help="a name in it; may be repeated"
    )
    parser.add_argument("--entities", action=Split, dest="entities", metavar="A,B", help="several names")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("diff", {**arguments.options, "content": arguments.text("diff", "the text to compare")})


def _render(result: DiffResult, style: Style) -> str:
    suggestion = one_line(result.suggestion)
    if style.quiet:
        return lines(suggestion)
    effect = _KEPT if _stays(result) else _EFFECTS.get(result.suggestion, "")
    if not result.matches:
        return lines(f"{style.strong(suggestion)}: {effect}; no memory is like it")
    heads = f"{'  '.join(_HEADS)}  {'contrast':<{_SIGNS}}  {'suggests':<9}  memory"
    return lines(
        f"{style.strong(suggestion)}: {effect}",
        "",
        style.faint(heads),
        *(_row(match, style) for match in result.matches),
        "",
        *(style.faint(line) for line in wrap(_scale(result.thresholds), style.columns)),
    )


def _stays(result: DiffResult) -> bool:
    """Whether the row that decides, the first with the suggestion of all, may not be replaced: its reason ends so."""
    deciding = next((match for match in result.matches if match.suggestion == result.suggestion), None)
    return deciding is not None and deciding.suggestion != "ADD" and deciding.reason.endswith("so both stay")


def _row(match: DiffMatch, style: Style) -> str:
    figures = (
        fraction(match.similarity),
        fraction(match.token_similarity),
        "-" if match.cosine_similarity is None else fraction(match.cosine_similarity),
        fraction(match.novelty),
    )
    cells = [figure.rjust(len(head)) for figure, head in zip(figures, _HEADS, strict=True)]
    head = f"{'  '.join(cells)}  {_differing(match):<{_SIGNS}}  {one_line(match.suggestion):<9}  {short_id(match.id)}"
    room = max(style.columns - 2, MIN_CONTENT)
    return lines(head, f"  {shorten(match.content, room)}", note(match.reason, style)).removesuffix("\n")


def _differing(match: DiffMatch) -> str:
    """What the two texts differ in that makes them contradict each other."""
    signs = ("negation" if match.polarity_flip else None, "numbers" if match.number_change else None)
    return ", ".join(sign for sign in signs if sign) or "-"


def _scale(limits: DiffThresholds) -> str:
    heard = "" if limits.cosine_override is None else f" · cosine heard from {fraction(limits.cosine_override)}"
    return (
        f"same place from similarity {fraction(limits.update)} · duplicate above {fraction(limits.duplicate)}"
        f" with novelty up to {fraction(limits.novelty)}{heard}"
    )


COMMAND = Command(
    name="diff",
    summary="Say what remember would do with a text, and beside which memories.",
    words="TEXT… | -",
    examples=(
        'mnemonctl diff "Deploys on Friday are not allowed"',
        'mnemonctl diff "API rate limit is 200 req/s" --category fact',
        "cat notes.txt | mnemonctl diff - --json",
    ),
    details=(
        "words: the share of the shorter text's words that the other has. cosine: likeness in meaning.",
        "similarity: the one of the two that decides. novelty: the share of the text's words the memory lacks.",
        "contrast: where one negates what the other says, or their numbers differ.",
        "-q prints the suggestion alone: ADD, DUPLICATE, CONFLICT or UPDATE.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
