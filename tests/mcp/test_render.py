"""Short texts for models."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond import errors
from mnemond.api.types_knowledge import CommunitiesResult
from mnemond.errors import MnemonError
from mnemond.hooks.prompt_text import references
from mnemond.mcp import render
from mnemond.model.memory import Scope
from mnemond.model.outcomes import (
    CausalCandidate,
    Conflict,
    EdgesCreated,
    RememberResult,
    SemanticCandidate,
    United,
)
from tests.cli.knowledge_results import CONSOLIDATED, GROUPED, SUMMED
from tests.tables import each_row

NONCE = "0123456789abcdef"
ID, OTHER = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"

PERHAPS = "It may have been written all the same: call again with the same words, a repeat does no harm."

PLAIN = RememberResult(
    id=ID, action="added", diff_suggestion="ADD", replaced_id=None, duplicate_of=None, similarity=None,
    matched_id=None, reason="no memory is like it", edges_created=EdgesCreated(), semantic_candidates=[],
    causal_candidates=[], quality_warnings=[], quality_details=[], redacted=[], embedded=True, embed_error=None,
    effective_importance=0.5, auto_pruned=0, redundancy=None, substance=None, trigger_type=None,
    hypothetical_queries=[], conflicts=[], scope=Scope(), store="default", op_id="o",
    dry_run=False, replayed=False, cues=1,
)  # fmt: skip


def told(**changes: object) -> str:
    return render.remembered(render.Remembered(msgspec.structs.replace(PLAIN, **changes), []), NONCE)


@each_row(
    ("action", "changes", "text"),
    [
        ("added", {}, f"Remembered: {ID}."),
        ("replaced", {"replaced_id": OTHER}, f"Remembered: {ID}. It takes the place of {OTHER}, which left recall."),
        ("skipped", {"id": None, "duplicate_of": OTHER}, f"Known already: {OTHER} says it. Nothing was stored."),
        ("skipped", {"id": OTHER, "united": United(["<x>", "y"], [], 3, 4)},
         f"Known already: {OTHER} says it. Added tags <x>, y; importance 3 -> 4."),
        ("skipped", {"id": OTHER, "united": United(omitted="it is for others")},
         f"Known already: {OTHER} says it. Nothing was stored. Not added: it is for others."),
        ("merged", {}, f"Remembered as part of {ID}."),
        ("discarded", {"id": None, "reason": "it says <nothing>"}, "Not stored: it says <nothing>."),
    ],
)  # fmt: skip
def test_what_became_of_a_memory(action: str, changes: dict[str, object], text: str) -> None:
    assert told(action=action, **changes) == text


def test_what_left_recall_is_said_by_its_text() -> None:
    result = msgspec.structs.replace(PLAIN, action="replaced", replaced_id=OTHER, no_longer="It is red")
    for text, shown in (("It is red", 0), ("It is red. It <stands> here.", 1)):
        lines = render.remembered(render.Remembered(result, [(OTHER, text)]), NONCE).splitlines()
        assert lines[0] == f"Remembered: {ID}. It takes the place of {OTHER}, which left recall."
        assert lines.count("<ref:bbbbbbbb left recall> It is red. It <stands> here.") == shown
        assert lines.count("<ref:bbbbbbbb is no longer held> It is red") == 1
    plain = msgspec.structs.replace(result, no_longer=None)
    lines = render.remembered(render.Remembered(plain, [(OTHER, "x" * 500)]), NONCE).splitlines()
    assert lines[1:] == [
        render.WARNING, f"<recalled-data {NONCE}>", f"<ref:bbbbbbbb left recall> {'x' * 400}… (100 more)",
        f"</recalled-data {NONCE}>",
    ]  # fmt: skip


def test_what_there_is_to_know_besides() -> None:
    text = told(
        redacted=["aws key", "password"],
        quality_warnings=["it has no subject"],
        auto_pruned=3,
        degraded=True,
        degraded_reason="the disk is full",
    )
    assert text.splitlines() == [
        "Note: the disk is full.",
        f"Remembered: {ID}.",
        "Cut out before it was stored: aws key, password.",
        "Consider: it has no subject.",
        "3 of the least important memories left recall to make room.",
    ]


def cause(direction: Literal["from_candidate", "to_candidate"], **fields: object) -> CausalCandidate:
    found = CausalCandidate(OTHER, "It <broke>\nat night", 1, "temporal", "because", "causes", direction, 0.5)
    return msgspec.structs.replace(found, **fields)


@each_row("fields", [{"causal_signal": None}, {"overlap": 0.1}])
def test_what_was_only_said_at_the_same_time_is_no_cause(fields: dict[str, object]) -> None:
    assert told(causal_candidates=[cause("from_candidate", **fields)]) == f"Remembered: {ID}."


def test_nothing_is_to_be_judged_twice() -> None:
    text = told(
        causal_candidates=[cause("from_candidate"), cause("to_candidate", id="c" * 36)],
        semantic_candidates=[SemanticCandidate("c" * 36, "x", "fact", None, 0.7)],
        conflicts=[Conflict(OTHER, "CONFLICT", 0.6, "the numbers differ")],
    )
    assert [line.partition(">")[0] for line in text.splitlines() if line.startswith("<ref:")] == [
        "<ref:bbbbbbbb may contradict it", "<ref:cccccccc may be the effect",
    ]  # fmt: skip


def test_what_there_is_to_judge_is_fenced() -> None:
    kin = SemanticCandidate("d" * 36, "x" * 500, "fact", None, 0.7)
    text = told(
        causal_candidates=[cause("from_candidate"), cause("to_candidate")],
        semantic_candidates=[msgspec.structs.replace(kin, auto_linked=True), *[kin] * 5],
        conflicts=[Conflict("e" * 36, "CONFLICT", 0.6, "the numbers differ", "It is <7>")],
        action="replaced",
        replaced_id="f" * 36,
        no_longer="It <never> broke",
    )
    lines = text.splitlines()
    assert lines[1].startswith("Judge for yourself, then link or correct.")
    assert lines[2] == f"<recalled-data {NONCE}>"
    assert lines[3] == "<ref:ffffffff is no longer held> It <never> broke"
    assert lines[4] == "<ref:eeeeeeee may contradict it> the numbers differ: It is <7>"
    assert lines[5] == "<ref:bbbbbbbb may be the cause> It <broke> at night"
    assert lines[6] == "<ref:bbbbbbbb may be the effect> It <broke> at night"
    assert lines[7:10] == [f"<ref:dddddddd may belong together> {'x' * 160}… (340 more)"] * 3
    assert lines[10:] == [f"</recalled-data {NONCE}>"]


@each_row(
    ("error", "text"),
    [
        (MnemonError(errors.INVALID_PARAMS, "too long.", outcome="rejected"), "too long."),
        (MnemonError(errors.BUSY, "busy", hint="wait"), "busy. Try again in a moment. Next: wait."),
        (MnemonError(errors.STORAGE, "disk full", outcome="unknown"), f"disk full. {PERHAPS}"),
        (
            MnemonError(errors.AMBIGUOUS, "two <begin> so"),
            "two <begin> so. Ids are those that recall and related show.",
        ),
    ],
)
def test_why_something_was_not_done(error: MnemonError, text: str) -> None:
    assert render.refused(error) == text


def test_ids_that_begin_alike_are_shown_whole() -> None:
    assert references([ID, OTHER]) == ["aaaaaaaa", "bbbbbbbb"]
    assert references([ID, ID.replace("1", "2")]) == [ID, ID.replace("1", "2")]


def test_communities_and_what_says_nearly_the_same() -> None:
    none = CommunitiesResult(store="default", communities=[], total=0, outside=3)
    assert render.grouped(none, NONCE) == "No memories belong together yet."
    groups = render.grouped(GROUPED, NONCE)
    assert "<community 2, 12 memories>\n<ref:1a2b3c4d> Redis holds the sessions\n" in groups
    same = render.consolidated(CONSOLIDATED, NONCE)
    assert same.startswith("Asked the user about 1 pair of 3. ")
    assert "<ref:9f8e7d6c DUPLICATE? review 3> The index is rebuilt each night" in same
    assert "<ref:7c7c7c7c MERGE? review none yet>" in same
    assert render.summed_up(SUMMED, NONCE).startswith("Summary 7c7c7c7c of 2 memories. ")
