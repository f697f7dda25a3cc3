"""What a new memory may have to do with others, for people: conflicts to review and links to make, with commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mnemond.commands.layout import Style, body, fraction, lines, plural, short_id, shorten
from mnemond.commands.terminal import one_line
from mnemond.protocol.remembering import CausalCandidate, ConflictView, RememberResult, SemanticCandidate

SHOWN = 3
"""Conflicts and candidates of a kind that are shown; JSON has them all."""

MIN_CONTENT, MAX_CONTENT = 20, 160
"""Cells of a candidate that are shown even where the terminal is too narrow for them, and where it is no terminal: it
is shown to be recognised, and `mnemonctl get` shows the rest."""

LEAST_ALIKE = 0.70
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


def conflicts_of(insight_id: str, found: Sequence[ConflictView], style: Style) -> list[str]:
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
    found: Sequence[ConflictView], settle: Callable[[str], list[str]], style: Style, head: str = "To review:"
) -> list[str]:
    shown = [_conflict(each, settle, style) for each in found[:SHOWN]]
    return [head, *shown, *_more(len(found))] if shown else []


def _conflict(conflict: ConflictView, settle: Callable[[str], list[str]], style: Style) -> str:
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
        if each.similarity >= LEAST_ALIKE and not each.auto_linked and each.id not in told
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
