"""What the log says names the operation that undo takes, whatever method did it, and undo says what that was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mnemond.api.types_changes import LogParams, UndoParams
from mnemond.api.types_jobs import GcParams
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.model.answers import LogLine
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.api.test_undo_of_everything import OPERATIONS, TEXTS
from tests.tables import each_row

METHOD_OF = {
    "backdated": "remember",
    "skipped": "remember",
    "united": "remember",
    "with a relation": "remember",
    "new with a relation": "remember",
    "replaced": "remember",
    "backdate": "update",
    "keep": "gc",
    "collect": "gc",
}
"""Where the test is not called like the method."""


async def log(over: Bench, limit: int = 20) -> list[LogLine]:
    lines = await over.history.log(CALL, LogParams(limit=limit))
    assert isinstance(lines, list)
    return lines


async def filled(over: Bench) -> list[str]:
    ids: list[str] = []
    for text in (*TEXTS, "The runner is out of disk space"):
        over.clock.us += 3_600_000_000
        result: Any = await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True))
        ids.append(result.id)
    over.clock.us += 1
    await over.changes.forget(CALL, ForgetParams(id=ids[4]))
    over.clock.us += 1
    return ids


@each_row("name", OPERATIONS)
async def test_a_line_names_its_operation(tmp_path: Path, name: str) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        ids = await filled(over)
        before = len(await log(over))
        done: Any = await OPERATIONS[name](over, ids)
        lines = await log(over)
        assert {line.op_id for line in lines[:-before]} == {done.op_id}
        over.clock.us += 1
        undone: Any = await over.history.undo(CALL, UndoParams(operation=lines[0].op_id))
        assert (undone.undone, undone.method) == (done.op_id, METHOD_OF.get(name, name))
        over.clock.us += 1
        again: Any = await over.history.undo(CALL, UndoParams(operation=(await log(over))[0].op_id))
        assert (again.undone, again.method) == (undone.op_id, "undo")


async def test_what_changed_no_memory_has_no_operation_to_name(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        assert await log(over) == []
        await over.remembering.remember(CALL, RememberParams(content="ok", channel="hook"))
        await over.collecting.gc(CALL, GcParams(apply=True))
        assert [(line.operation, line.op_id) for line in await log(over)] == [("gc", None), ("discard", None)]


async def test_two_operations_at_one_microsecond_are_told_apart(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made: Any = await over.remembering.remember(CALL, RememberParams(content="tea at four"))
        gone: Any = await over.changes.forget(CALL, ForgetParams(id=made.id))
        assert [line.op_id for line in await log(over)] == [gone.op_id, made.op_id]
        undone: Any = await over.history.undo(CALL, UndoParams())
        assert (undone.undone, undone.method) == (gone.op_id, "forget")


async def test_what_the_log_forgot_is_taken_back_without_its_method(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made: Any = await over.remembering.remember(CALL, RememberParams(content="tea at four"))
        warm = await over.warm()
        await warm.store.read(lambda connection: connection.run("DELETE FROM oplog"))
        undone: Any = await over.history.undo(CALL, UndoParams())
        assert (undone.undone, undone.method) == (made.op_id, None)
