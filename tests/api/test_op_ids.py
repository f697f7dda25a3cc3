"""The names that clients give their writes: no secret among them, and each can be taken back by it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from mnemond.api.registry import METHODS
from mnemond.api.requests import digest
from mnemond.api.types_admin import GcParams
from mnemond.api.types_changes import (
    LinkParams,
    MergeParams,
    RestoreParams,
    SupersedeParams,
    UndoParams,
    UnlinkParams,
    UpdateParams,
)
from mnemond.api.types_memories import ForgetParams, PinParams, RememberParams
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory.draft import op_id_problems
from mnemond.model.outcomes import RememberResult, UndoResult
from mnemond.wire.params import ScopedWriteParams, WriteParams
from tests.api.factories import CALL, Bench, bench

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


@pytest.mark.parametrize(
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


DIGESTS: list[tuple[str, dict[str, object], str]] = [
    (
        "remember",
        {"content": "tea", "tags": ["a"], "metadata": {"b": 1, "a": [2]}, "session_id": "s", "channel": "x"},
        "7abb1e2d341593f280ebf7c28e78abcd",
    ),
    (
        "extract",
        {"messages": [{"content": "I like tea", "id": "m1"}], "user_id": "u", "dry_run": True},
        "28ffe0ac09c3f80799910cff722b3d87",
    ),
    ("forget", {"id": "abcdef", "purge": True, "agent_id": "a"}, "e5afeb415c38216802607486b5844c42"),
    (
        "link",
        {"source_id": "abcdef", "target_id": "bcdefg", "type": "causal", "metadata": {"k": "v"}, "user_id": "u"},
        "f726204de2473b54eff553ac25a154d3",
    ),
    ("unlink", {"source_id": "abcdef", "target_id": "bcdefg"}, "3a1291ba1a46c175fb815d620f85d1e4"),
    ("pin", {"id": "abcdef", "user_id": "u"}, "45fc22c7ea5a9f1a8f0a44d0406e1218"),
    ("feedback", {"id": "abcdef", "verdict": "useful"}, "57f4f65e9ff1a070078d2c2b78521a7d"),
    (
        "update",
        {"id": "abcdef", "tags": ["a"], "conversation_id": None, "user_id": "u"},
        "723d04106ff4f08db38ee53990e0bb24",
    ),
    ("supersede", {"old_id": "abcdef", "new_id": "bcdefg"}, "c1d02ae7b2aed5e9718cc926d3353943"),
    ("merge", {"id": "abcdef", "other_id": "bcdefg", "content": "tea"}, "543126930d5762744d19b54715f39bf2"),
    ("summarize", {"ids": ["abcdef", "bcdefg"]}, "ca69433bbd2d4c1e2cf2667f5a965e37"),
    ("cues.apply", {"memories": [{"id": "abcdef", "cues": ["tea"]}]}, "b38abd353e088e3c92a8da99c828c4ee"),
    ("core.update", {"user_id": "u"}, "83f477e28aa62199159d59d5e9fa0bbc"),
    ("core.set", {"text": "I like tea", "user_id": "u"}, "0a5220f21d154135bb049dc20a81d07f"),
    (
        "relations.add",
        {"source": "Ana", "type": "works_at", "target": "Acme", "since": "2024"},
        "cff0f91ef0d0bb5c94602e8727943f7e",
    ),
    ("relations.close", {"source": "Ana", "type": "works_at"}, "2a36ca9821206159fe68c2b68eaad810"),
    ("entity.merge", {"name": "Ana", "other": "Anita"}, "9205b28197e9dfcfed31fa5b89508c83"),
    ("entity.split", {"name": "Ana", "other": "Anita"}, "2403e4f774f54fd586ce83695e41c7a3"),
    ("entity.not_same", {"name": "Ana", "other": "Anita"}, "2403e4f774f54fd586ce83695e41c7a3"),
    ("entity.alias", {"name": "Ana", "other": "Anita", "user_id": "u"}, "a7872f60249da412e0787316836d2121"),
    ("resolve", {"id": 1, "resolution": "COEXIST"}, "a34fb2fe20bd20bdb595371e8d467d5a"),
    ("restore", {"id": "abcdef", "force": True}, "f356b1200d5ab3419241440a2b17dd0b"),
    ("undo", {"operation": "abcdef"}, "9b444c5167147c7a9d076a83e38c8475"),
    ("gc", {"keep": "abcdef", "session_id": "s"}, "c5eaf4faa855f3f44498176be92fbd37"),
    ("embed.run", {"all": True}, "fba0f5f15cee98e96fb663426d4579d0"),
    ("embed.switch", {"provider": "ollama", "model": "m"}, "b503e006d423b62a6315dadfca106e6a"),
    ("rules.set", {"id": "abcdef", "state": "off"}, "fe972761a2ac44fedffdc41ea7dd2c1f"),
    ("embed.calibrate", {}, "8d4002a89598d5ca54daf266375f070e"),
]
"""Requests, and the digests that version 0.1.0 kept of them: stores keep those of the last week."""


@pytest.mark.parametrize(("method", "request_", "known"), DIGESTS)
def test_a_repeat_is_recognised_by_later_versions(method: str, request_: dict[str, object], known: str) -> None:
    kind = METHODS[method].params
    named = msgspec.json.encode({"op_id": "op", "store": "work", **request_})
    assert digest(msgspec.json.decode(named, type=kind)) == known
    assert digest(msgspec.convert(request_, kind)) == ""


def test_every_write_has_a_known_digest() -> None:
    """A new one gets a line above, so that its fields keep their order in digests."""
    writes = {name for name, method in METHODS.items() if issubclass(method.params, ScopedWriteParams | WriteParams)}
    assert {method for method, _, _ in DIGESTS} == writes
