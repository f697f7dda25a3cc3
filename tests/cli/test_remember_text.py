"""What people read of remember and diff, for everything that can become of a memory."""

from __future__ import annotations

import msgspec
import pytest

from mnemond.api.types_daemon import CliRunParams
from mnemond.cli.grammar import Invocation, parse
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from mnemond.cli.remember import MIN_ALIKE
from mnemond.model.answers import DiffResult, DiffThresholds
from mnemond.model.outcomes import EdgesCreated, Redundancy, RememberResult, United
from tests.cli.results import DIFFERENCES, ID, OLD, REMEMBERED, REPLACED
from tests.cli.test_terminal import PAYLOADS, unsafe_left
from tests.cli.test_text import hostile, shown
from tests.tables import each_row

replace = msgspec.structs.replace

EVERYTHING = """\
Remembered 1a2b3c4d in place of 9f8e7d6c in store "default", 3 links (1 temporal, 2 entity)
  no longer held: API rate limit is 100 req/s
  because they are 83% alike in words, but the numbers differ
  redacted: aws_access_key, password (--allow-secret keeps it)
  Counts resources, and the count will change.
  says much of what 9a170000 says; the two are a pair now
  not embedded: no model
  2 memories pruned for being least important: the store was full
  undo: mnemonctl undo op-1
To review:
  c0f11c70 (UPDATE, similarity .70): similarity 0.70 is in the band
  it says: It is 7
    mnemonctl supersede c0f11c70 1a2b3c4d
Perhaps related:
  .72  Something alike, number 0
    mnemonctl link 1a2b3c4d 5e3a0000 --type semantic --weight 0.72
  .72  Something alike, number 1
    mnemonctl link 1a2b3c4d 5e3a1000 --type semantic --weight 0.72
  .72  Something alike, number 2
    mnemonctl link 1a2b3c4d 5e3a2000 --type semantic --weight 0.72
  1 other: --json shows all
Perhaps cause and effect:
  cause  The team lacks Redis experience
    mnemonctl link ca05e000 1a2b3c4d --type causal --sub-type causes
  effect  Redis is not used
    mnemonctl link 1a2b3c4d effec000 --type causal --sub-type causes
"""

UNDO = "  undo: mnemonctl undo op-1"

SKIPPED = replace(
    REMEMBERED, action="skipped", diff_suggestion="DUPLICATE", id=OLD, duplicate_of=OLD, matched_id=OLD, similarity=1.0,
    reason="the texts are the same", edges_created=EdgesCreated(),
)  # fmt: skip
UNITED = United(["x", "y"], ["Bob"], 3, 4, "z: a memory has at most 20 tags")
DISCARDED = replace(
    REMEMBERED, id=None, action="discarded", reason="says too little to be kept", edges_created=EdgesCreated()
)


def test_a_reply_with_everything_in_it() -> None:
    assert shown("remember", REPLACED) == EVERYTHING


@each_row(
    ("result", "expected"),
    [
        (SKIPPED, ['Known already as 9f8e7d6c in store "default"; nothing was added',
                   "  because the texts are the same", UNDO]),
        (replace(SKIPPED, united=UNITED),
         ['Known already as 9f8e7d6c in store "default"',
          "  added tags x, y; added entities Bob; importance 3 -> 4",
          "  not added: z: a memory has at most 20 tags", "  because the texts are the same", UNDO]),
        (replace(SKIPPED, united=United(omitted="the memory is for others as well")),
         ['Known already as 9f8e7d6c in store "default"; nothing was added',
          "  not added: the memory is for others as well", "  because the texts are the same", UNDO]),
        (replace(SKIPPED, united=United(["x"]), dry_run=True),
         ['Known already as 9f8e7d6c in store "default"; nothing was written',
          "  would add tags x", "  because the texts are the same"]),
        (DISCARDED, ['Not stored in store "default": says too little to be kept']),
        (replace(REMEMBERED, edges_created=EdgesCreated(), matched_id=OLD, similarity=0.41, reason="below the line"),
         ['Remembered 1a2b3c4d in store "default"', "  nearest 9f8e7d6c: below the line", UNDO]),
        (replace(REMEMBERED, replayed=True),
         ['Remembered before as 1a2b3c4d in store "default" (op_id op-1); nothing was written again']),
        (replace(DISCARDED, replayed=True), ["Discarded before (op_id op-1); nothing was written again"]),
    ],
)  # fmt: skip
def test_what_became_of_a_memory(result: RememberResult, expected: list[str]) -> None:
    assert shown("remember", result).splitlines() == expected


@each_row(
    ("result", "expected"),
    [
        (REMEMBERED, 'Would remember it in store "default", 3 links (1 temporal, 2 entity); nothing was written'),
        (SKIPPED, 'Known already as 9f8e7d6c in store "default"; nothing was written'),
        (DISCARDED, 'Would not store it in store "default": says too little to be kept; nothing was written'),
        (replace(REPLACED, edges_created=EdgesCreated()),
         'Would remember it in place of 9f8e7d6c in store "default"; nothing was written'),
    ],
)  # fmt: skip
def test_a_dry_run_names_no_memory_that_is_not_there(result: RememberResult, expected: str) -> None:
    text = shown("remember", replace(result, id=OLD if result is SKIPPED else None, dry_run=True))
    assert text.splitlines()[0] == expected
    assert "undo" not in text
    assert ID[:8] not in text


def test_a_conflict_of_a_dry_run_can_only_be_looked_at() -> None:
    assert "\n    mnemonctl get c0f11c70\n" in shown("remember", replace(REPLACED, id=None, dry_run=True))


def test_no_memory_is_offered_the_place_of_one_that_holds_several_things() -> None:
    several = [replace(each, several=True) for each in REPLACED.conflicts]
    text = shown("remember", replace(REPLACED, conflicts=several))
    assert "mnemonctl supersede" not in text
    assert '    mnemonctl update c0f11c70 --content "what still holds"\n' in text
    assert '    mnemonctl merge c0f11c70 1a2b3c4d --content "what holds of both"\n' in text


def test_only_what_is_much_alike_is_shown() -> None:
    one, other, *_ = REPLACED.semantic_candidates
    weak = replace(other, similarity=MIN_ALIKE - 0.01)
    text = shown("remember", replace(REPLACED, semantic_candidates=[replace(one, similarity=MIN_ALIKE), weak, weak]))
    assert one.content in text
    assert other.content not in text
    assert "other: --json" not in text
    assert "Perhaps related" not in shown("remember", replace(REPLACED, semantic_candidates=[weak]))


def test_a_pair_or_a_conflict_is_told_once() -> None:
    one, other = REPLACED.semantic_candidates[:2]
    conflict = replace(REPLACED.conflicts[0], id=one.id, reason="they contradict")
    pair = Redundancy(0.5, True, other.id, 1.0)
    result = replace(
        REPLACED, action="added", matched_id=one.id, reason="they contradict", conflicts=[conflict], redundancy=pair,
        semantic_candidates=[one, other],
    )  # fmt: skip
    text = shown("remember", result)
    assert "Perhaps related" not in text
    assert text.count("they contradict") == 1
    evicting = replace(result, redundancy=replace(pair, retired=one.id))
    assert f"takes the place of {one.id[:8]}, another wording of the same" in shown("remember", evicting)


@pytest.mark.check_all
@each_row("columns", [20, 72, 200])
@each_row("payload", [payload for payload in PAYLOADS.values() if "\ud800" not in payload])
def test_no_field_can_drive_the_terminal_at_any_width(columns: int, payload: str) -> None:
    for method, result in (("remember", REPLACED), ("diff", DIFFERENCES)):
        text = shown(method, hostile(result, payload * 60), Style(columns=columns))
        assert unsafe_left(text) == []


# ------------------------------------------------------------------ diff


def test_nothing_alike() -> None:
    result = DiffResult(suggestion="ADD", matches=[], thresholds=DiffThresholds(0.65, 0.9, 0.1, None))
    assert shown("diff", result) == "ADD: remember would add it; no memory is like it\n"
    assert shown("diff", result, Style(quiet=True)) == ""


def test_diff_does_not_promise_to_replace_what_has_to_stay() -> None:
    decides, other = DIFFERENCES.matches
    kept = replace(decides, reason=f"{decides.reason}; but it is pinned, so both stay")
    beside = "CONFLICT: remember would add it beside the memory that it would otherwise replace\n"
    assert shown("diff", replace(DIFFERENCES, matches=[kept, other])).startswith(beside)
    lesser = replace(kept, similarity=0.7)
    assert not shown("diff", replace(DIFFERENCES, matches=[decides, lesser])).startswith(beside)
    apart = replace(other, reason="similarity 0.70; but they are about other things, so both stay")
    told = shown("diff", replace(DIFFERENCES, suggestion="ADD", matches=[apart]))
    assert told.startswith("ADD: remember would add it\n")


# ------------------------------------------------------------------ the command lines


def parsed(*argv: str, stdin: str | None = None) -> Invocation:
    run = CliRunParams(argv=list(argv), stdin=stdin)
    found = parse(run)
    assert isinstance(found, Invocation)
    return found


def test_every_option_of_a_write_reaches_the_method() -> None:
    line = "remember x --entity-mode auto --no-diff --dry-run --allow-secret --channel hook --op-id k --user ana"
    assert parsed(*line.split()).params == {
        "content": "x", "entity_mode": "auto", "no_diff": True, "dry_run": True, "allow_secret": True,
        "channel": "hook", "op_id": "k", "user_id": "ana",
    }  # fmt: skip


def test_no_option_is_without_effect() -> None:
    helps = [option.help for command in BY_NAME.values() for option in command.parser.options]
    assert helps
    assert not any("no effect" in each for each in helps)
