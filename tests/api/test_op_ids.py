"""The names that clients give their writes: no secret among them, and each can be taken back by it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mnemond.api.types_changes import (
    LinkParams,
    MergeParams,
    RestoreParams,
    SupersedeParams,
    UndoParams,
    UnlinkParams,
    UpdateParams,
)
from mnemond.api.types_jobs import GcParams
from mnemond.api.types_memories import ForgetParams, PinParams, RememberParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.outcomes import RememberResult, UndoResult
from tests.api.factories import CALL, Bench, bench
from tests.tables import each_row

SECRET = "AKIA" + "PIX6EA6QOM66ZJOJ"

ONE, TWO = "aaaaaaaa-1", "aaaaaaaa-2"


def files_with(path: Path, text: str) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


WRITES: list[Callable[[Bench, str], Awaitable[object]]] = [
    lambda over, name: over.remembering.remember(CALL, RememberParams(content="x", op_id=name, allow_secret=True)),
    lambda over, name: over.changes.forget(CALL, ForgetParams(id=ONE, op_id=name)),
    lambda over, name: over.changes.forget(CALL, ForgetParams(id=ONE, op_id=name, purge=True)),
    lambda over, name: over.changes.update(CALL, UpdateParams(id=ONE, importance=2, op_id=name)),
    lambda over, name: over.changes.merge(CALL, MergeParams(id=ONE, other_id=TWO, op_id=name)),
    lambda over, name: over.changes.supersede(CALL, SupersedeParams(old_id=ONE, new_id=TWO, op_id=name)),
    lambda over, name: over.changes.restore(CALL, RestoreParams(id=ONE, op_id=name)),
    lambda over, name: over.changes.link(CALL, LinkParams(source_id=ONE, target_id=TWO, type="causal", op_id=name)),
    lambda over, name: over.changes.unlink(CALL, UnlinkParams(source_id=ONE, target_id=TWO, op_id=name)),
    lambda over, name: over.changes.pin(CALL, PinParams(id=ONE, op_id=name)),
    lambda over, name: over.collecting.gc(CALL, GcParams(apply=True, op_id=name)),
    lambda over, name: over.history.undo(CALL, UndoParams(op_id=name)),
]


@each_row(("name", "why"), [(SECRET, "looks like a secret"), ("a\0b", "NUL character")])
async def test_no_write_is_called_by_a_secret(tmp_path: Path, name: str, why: str) -> None:
    async with bench(tmp_path) as over:
        await over.warm()
        for write in WRITES:
            with pytest.raises(MnemonError, match=why) as caught:
                await write(over, name)
            assert caught.value.kind is INVALID_PARAMS
            assert [problem.field for problem in caught.value.problems] == ["op_id"]
            assert SECRET not in caught.value.message
    assert not files_with(tmp_path, SECRET)


@each_row("name", ["k", "mine", "import of 2026; line 1"])
async def test_a_write_is_taken_back_by_any_name_it_was_given(tmp_path: Path, name: str) -> None:
    async with bench(tmp_path) as over:
        made = await over.remembering.remember(CALL, RememberParams(content="tea at four", op_id=name))
        assert isinstance(made, RememberResult)
        undone = await over.history.undo(CALL, UndoParams(operation=name))
        assert isinstance(undone, UndoResult)
        assert (undone.undone, undone.method) == (name, "remember")
