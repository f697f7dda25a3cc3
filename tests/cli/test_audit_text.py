"""What history, undo, gc, log and receipt print besides the transcripts, and what they refuse to ask for."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli.grammar import Invocation, Output, parse, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.history import _COMPARED
from mnemond.cli.output import UNLIMITED, Style
from mnemond.model.answers import EdgeState, MemoryOperation, MemoryState
from mnemond.model.outcomes import Conflict, UndoneMemory
from tests.cli.audit_results import (
    AT,
    COLLECTABLE,
    COLLECTED,
    FIRST,
    HISTORY,
    ID,
    KEPT,
    OLD,
    REVIEWED,
    UNDONE,
)
from tests.tables import each_row


def shown(command: str, result: object, *, quiet: bool = False) -> str:
    return success(BY_NAME[command], result, Output("text", style=Style(columns=72, quiet=quiet))).stdout


def asked(*argv: str) -> tuple[str | None, dict[str, object]]:
    parsed = parse(CliRunParams(argv=list(argv)))
    assert isinstance(parsed, Invocation), parsed
    return parsed.method, parsed.params


def refused(*argv: str) -> str:
    parsed = parse(CliRunParams(argv=list(argv), tty_err=True))
    assert isinstance(parsed, CliRunResult)
    assert parsed.exit_code == 2
    return parsed.stderr


def test_undo_names_an_operation_or_none() -> None:
    assert asked("undo") == ("undo", {})
    assert asked("undo", "9f8e7d6c", "--op-id", "mine") == ("undo", {"operation": "9f8e7d6c", "op_id": "mine"})
    assert "only one (2 were given)" in refused("undo", "one", "two")


def test_gc_does_nothing_that_cannot_be_seen_first() -> None:
    assert asked("gc", "--threshold", ".3", "-n", "5") == ("gc", {"threshold": 0.3, "limit": 5})
    assert asked("gc", "--apply", "--yes") == ("gc", {"apply": True})
    assert asked("gc", "--purge-deleted", "90", "--yes") == ("gc", {"purge_deleted": 90})
    assert asked("gc", "--keep", "1a2b3c") == ("gc", {"keep": "1a2b3c"})
    assert "--apply takes memories out of recall; it needs --yes" in refused("gc", "--apply")
    assert "--purge-deleted removes memories for good; it needs --yes" in refused("gc", "--purge-deleted", "3")
    assert "first: mnemonctl list --retired" in refused("gc", "--purge-deleted", "3")
    assert "the id has 3 characters; it needs 6" in refused("gc", "--keep", "1a2")
    assert "takes no arguments" in refused("gc", "1a2b3c")


def test_a_memory_that_was_kept() -> None:
    text = "Kept 1a2b3c4d: effective importance 0.90, no prune will take it\nTo take it back: mnemonctl undo op-7\n"
    assert shown("gc", KEPT) == text
    assert shown("gc", KEPT, quiet=True) == ID + "\n"
    assert "no prune" not in shown("gc", msgspec.structs.replace(KEPT, immune=False))


def test_memories_to_review() -> None:
    assert (
        shown("gc", REVIEWED)
        == """\
1a2b3c4d  It is now 3 files
   - speaks of a moment
   - counts what changes
and 1 more, see --limit

forget: mnemonctl forget ID
"""
    )
    assert shown("gc", REVIEWED, quiet=True) == ID + "\n"
    assert "more" not in shown("gc", msgspec.structs.replace(REVIEWED, total_flagged=1))
    assert shown("gc", msgspec.structs.replace(REVIEWED, review_results=[], total_flagged=0)) == "nothing to review\n"


def test_memories_let_go_of() -> None:
    assert shown("gc", COLLECTED) == "Took 2 memories out of recall\nTo take it back: mnemonctl undo op-8\n"
    none = msgspec.structs.replace(COLLECTED, count=0, ids=[], replayed=True)
    assert shown("gc", none) == "Took 0 memories out of recall (done before, with the same op_id)\n"
    purged = msgspec.structs.replace(COLLECTED, status="purged", left=1200)
    assert shown("gc", purged) == "Removed 2 memories for good; 1,200 more to go\n"
    assert len(shown("gc", purged, quiet=True).splitlines()) == 2
    held = msgspec.structs.replace(purged, left=0, backups=("a.bak", "b"))
    told = "Removed 2 memories for good\n  files that may still hold some of it: a.bak, b\n"
    assert shown("gc", held) == told


def test_nothing_to_collect() -> None:
    none = msgspec.structs.replace(COLLECTABLE, candidates=[], candidates_found=0, max_insights=0)
    assert shown("gc", none) == "nothing below 0.5 (memories: 87)\n"
    assert "more" not in shown("gc", msgspec.structs.replace(COLLECTABLE, candidates_found=1))


def test_a_large_undo_is_told_in_short() -> None:
    many = [UndoneMemory(f"{number:08x}", "revised", []) for number in range(12)]
    text = shown("undo", msgspec.structs.replace(UNDONE, memories=many, edges_missing=1, embed_error="no model"))
    assert text.count("as it was before") == 10
    assert "\n  and 2 more\n" in text
    assert "1 link not put back, because the other memory is out of recall\n  not embedded: no model\n" in text
    bare = msgspec.structs.replace(UNDONE, edges_restored=0, edges_removed=0, replayed=True)
    assert "link" not in shown("undo", bare)
    assert "(done before, with the same op_id)" in shown("undo", bare)


def test_an_undo_says_what_is_at_odds_with_what_is_back() -> None:
    odd = Conflict(OLD, "CONFLICT", 0.91, "a number\x1b[31m differs")
    text = shown("undo", msgspec.structs.replace(UNDONE, memories=[UndoneMemory(ID, "restored", [odd])]))
    assert f"  {OLD[:8]} (CONFLICT, similarity .91): a number" in text
    assert f"\n    what is back holds: mnemonctl supersede {OLD[:8]} {ID[:8]}\n" in text
    assert f"\n    the other holds:    mnemonctl supersede {ID[:8]} {OLD[:8]}\n" in text
    assert "\x1b" not in text


def test_what_became_of_links_is_told_once() -> None:
    heir, other = "c0ffee00-0000-4000-8000-000000000003", OLD
    had = [
        EdgeState(ID, other, "temporal", 0.5, {}, "auto"),
        EdgeState(heir, other, "temporal", 0.4, {"sub_type": "proximity"}, "auto"),
        EdgeState(other, ID, "causal", 0.7, {}, "user"),
        EdgeState(ID, other, "entity", 0.3, {}, "auto"),
        EdgeState(ID, other, "semantic", 0.6, {}, "auto"),
    ]
    has = [
        EdgeState(heir, other, "temporal", 0.5, {"sub_type": "proximity"}, "auto"),
        EdgeState(other, heir, "causal", 0.7, {}, "user"),
        EdgeState(ID, other, "semantic", 0.8, {}, "auto"),
        EdgeState(other, heir, "entity", 0.3, {}, "auto"),
        EdgeState(ID, heir, "semantic", 0.9, {}, "user"),
    ]
    same = EdgeState(ID, heir, "temporal", 0.2, {}, "auto")
    before = msgspec.structs.replace(FIRST, edges=(*had, same))
    after = msgspec.structs.replace(FIRST, status="superseded", superseded_by=heir, edges=(*has, same))
    operation = MemoryOperation(
        id=9,
        operation_type="SUPERSEDE",
        before_state=before,
        after_state=after,
        triggered_by="user",
        op_id="op-9",
        created_at=AT,
        undoes=None,
    )
    history = msgspec.structs.replace(HISTORY, operations=[operation], total_operations=1)
    lines = [line.strip() for line in shown("history", history).splitlines() if " link " in line]
    assert lines == [
        "moved to c0ffee00: temporal link 1a2b3c4d ↔ 9f8e7d6c, weight 0.50",
        "moved to c0ffee00: causal link 9f8e7d6c → 1a2b3c4d, weight 0.70",
        "moved to c0ffee00: entity link 1a2b3c4d ↔ 9f8e7d6c, weight 0.30",
        "semantic link 1a2b3c4d ↔ 9f8e7d6c, weight 0.60, now 0.80",
        "+ semantic link 1a2b3c4d ↔ c0ffee00, weight 0.90",
    ]


FIELDS = {
    "source": ("bob", "source: user → bob"),
    "channel": ("hook", "channel: manual → hook"),
    "conversation_id": ("conv9", "conversation id: none → conv9"),
    "user_id": ("ana", "user id: none → ana"),
    "session_id": ("s1", "session id: none → s1"),
    "agent_id": ("a1", "agent id: none → a1"),
    "project": ("acme", "project: none → acme"),
    "created_at": ("2025-01-01T00:00:00.000000Z", f"created at: {AT} → 2025-01-01T00:00:00.000000Z"),
    "tags": ((), "tags: cache → none"),
    "metadata": ({"a": 1, "b": None}, 'metadata: {} → {"a":1,"b":null}'),
    "pinned": (True, "pinned: no → yes"),
}
"""A field that changed alone: its new value, and the line that tells of it."""


def changed(before: MemoryState, after: MemoryState, columns: int) -> list[str]:
    """The lines below an operation that made one state of the other."""
    operation = MemoryOperation(
        id=9,
        operation_type="UPDATE",
        before_state=before,
        after_state=after,
        triggered_by="user",
        op_id="op-9",
        created_at=AT,
        undoes=None,
    )
    history = msgspec.structs.replace(HISTORY, chain=[], operations=[operation], total_operations=1)
    text = success(BY_NAME["history"], history, Output("text", style=Style(columns=columns))).stdout
    return text.splitlines()[2:]


@each_row("field", FIELDS)
def test_every_field_that_changed_is_told(field: str) -> None:
    value, line = FIELDS[field]
    assert changed(FIRST, msgspec.structs.replace(FIRST, **{field: value}), 120) == [f"    {line}"]


def test_no_field_of_a_memory_is_left_out_of_its_history() -> None:
    told = {*_COMPARED, "edges", "id", "updated_at", "effective_importance", "project_id", "other_project"}
    assert told == {field.name for field in msgspec.structs.fields(MemoryState)}


def test_what_goes_to_a_program_is_not_cut() -> None:
    long = msgspec.structs.replace(FIRST, content="so it was " * 40)
    longer = msgspec.structs.replace(FIRST, content="so it is now " * 40)
    assert changed(long, longer, UNLIMITED) == [f"    content: {long.content} → {longer.content}"]


@each_row(("old", "new"), [("was " * 40, "is now " * 40), ("was", "is now " * 40), ("was " * 40, "is now")])
def test_a_terminal_shows_of_the_new_value_no_less_than_of_the_old(old: str, new: str) -> None:
    states = [msgspec.structs.replace(FIRST, content=content) for content in (old, new)]
    (line,) = changed(states[0], states[1], 80)
    assert len(line) == 80
    before, _, after = line.removeprefix("    content: ").partition(" → ")
    assert after == new or len(after) >= len(before)
    assert before == old or len(before) >= min(32, 68 - len(new))


def test_a_link_that_is_the_same_is_not_told() -> None:
    first = EdgeState(ID, OLD, "semantic", 1.0, {}, "auto")
    before = msgspec.structs.replace(FIRST, edges=(first,))
    for edge, lines in (
        (EdgeState(OLD, ID, "semantic", 1.0, {}, "auto"), []),
        (EdgeState(ID, OLD, "semantic", 0.999, {}, "auto"), ["weight 1.00, now 0.999"]),
        (EdgeState(ID, OLD, "semantic", 1.0, {"why": "x"}, "user"),
         ['weight 1.00, made by auto → user, metadata {} → {"why":"x"}']),
    ):  # fmt: skip
        shown_lines = changed(before, msgspec.structs.replace(FIRST, edges=(edge,)), 200)
        assert [line[line.index("weight") :] for line in shown_lines] == lines


def test_what_was_done_to_a_memory_that_is_purged_now() -> None:
    operations = [
        MemoryOperation(
            id=9,
            operation_type="CREATE",
            before_state=None,
            after_state=None,
            triggered_by="conversation",
            op_id="op-9",
            created_at=AT,
            undoes=None,
        ),
        MemoryOperation(
            id=10,
            operation_type="DELETE",
            before_state=None,
            after_state=None,
            triggered_by="user",
            op_id="op-10",
            created_at=AT,
            undoes=None,
        ),
        MemoryOperation(
            id=11,
            operation_type="DELETE",
            before_state=None,
            after_state=None,
            triggered_by="system:purge",
            op_id="op-11",
            created_at=AT,
            undoes=None,
        ),
    ]
    history = msgspec.structs.replace(HISTORY, chain=[], operations=operations, total_operations=3)
    told = [line[23:] for line in shown("history", history).splitlines()[1:]]
    assert told == [
        "remembered in a conversation, and purged since  operation op-9",
        "taken out of recall, and purged since  operation op-10",
        "purged by system:purge: nothing of it is kept  operation op-11",
    ]


def test_undo_says_what_it_is_about() -> None:
    memories = [
        UndoneMemory(ID, "restored", [], words="We chose \x1b[31mSQLite"),
        UndoneMemory(OLD, "retired", [], purged=True),
    ]
    text = shown("undo", msgspec.structs.replace(UNDONE, memories=memories))
    assert "\x1b" not in text
    assert f"\n  {ID[:8]}  back in recall    We chose " in text
    assert f"\n  {OLD[:8]}  out of recall     purged\n" in text
