"""The names that clients give their writes: no secret among them, and each can be taken back by it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from mnemond.api.registry import METHODS
from mnemond.api.requests import digest
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
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory.draft import op_id_problems
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


@pytest.mark.parametrize(("name", "why"), [(SECRET, "looks like a secret"), ("a\0b", "NUL character")])
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


async def test_it_is_told_together_with_everything_else(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError) as caught:
            await over.remembering.remember(CALL, RememberParams(content=" ", op_id=SECRET))
        assert [problem.field for problem in caught.value.problems] == ["content", "op_id"]
        with pytest.raises(MnemonError) as caught:
            await over.remembering.remember(CALL, RememberParams(content=" ", op_id="a\0b"))
        assert [problem.field for problem in caught.value.problems] == ["content", "op_id"]
        with pytest.raises(MnemonError) as caught:
            await over.changes.update(CALL, UpdateParams(id=ONE, importance=9, op_id=SECRET))
        assert [problem.field for problem in caught.value.problems] == ["importance", "op_id"]


@each_row(
    "name", ["mine", "import of 2026; line 1", str(UUID(int=7 << 90)), UUID(int=9 << 99 | 1234567).hex, "Zusammenfügen"]
)
def test_what_people_and_programs_call_their_writes_is_taken(name: str) -> None:
    assert op_id_problems(name) == []


@pytest.mark.parametrize("name", ["k", "mine", "import of 2026; line 1"])
async def test_a_write_is_taken_back_by_any_name_it_was_given(tmp_path: Path, name: str) -> None:
    async with bench(tmp_path) as over:
        made = await over.remembering.remember(CALL, RememberParams(content="tea at four", op_id=name))
        assert isinstance(made, RememberResult)
        undone = await over.history.undo(CALL, UndoParams(operation=name))
        assert isinstance(undone, UndoResult)
        assert (undone.undone, undone.method) == (name, "remember")


async def test_the_beginning_of_a_name_has_six_characters_at_least(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await over.remembering.remember(CALL, RememberParams(content="tea at four", op_id="import-7"))
        with pytest.raises(MnemonError, match="whole") as caught:
            await over.history.undo(CALL, UndoParams(operation="impor"))
        assert caught.value.kind is NOT_FOUND
        await over.history.undo(CALL, UndoParams(operation="import"))


REQUESTS: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("remember", {"content": "tea", "metadata": {"b": 1, "a": [2]}}, {"session_id": "s"}),
    ("extract", {"messages": [{"content": "I like tea", "id": "m1"}]}, {"user_id": "u"}),
    ("forget", {"id": "abcdef"}, {"purge": True}),
    ("link", {"source_id": "abcdef", "target_id": "bcdefg", "type": "causal"}, {"metadata": {"k": "v"}}),
    ("update", {"id": "abcdef", "tags": ["a"]}, {"tags": []}),
    ("update", {"id": "abcdef", "tags": ["a"]}, {"content": "tea"}),
    ("gc", {"keep": "abcdef"}, {"session_id": "s"}),
]
"""Requests, and fields that make another request of them."""


@each_row(("method", "request_", "change"), REQUESTS)
def test_a_repeat_has_the_digest_of_the_request_and_another_request_has_not(
    method: str, request_: dict[str, object], change: dict[str, object]
) -> None:
    def digest_of(**more: object) -> str:
        return digest(msgspec.convert({**request_, **more}, METHODS[method].params))

    first = digest_of(op_id="op", store="work")
    assert len(first) == 32
    assert digest_of(op_id="op") == first
    assert digest_of(op_id="op", **change) != first
    assert digest_of() == ""
