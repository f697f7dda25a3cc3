"""Lines of an export: whole, of one moment, in order, chosen and redacted."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from mnemonctl import rpc
from mnemond.api import requests
from mnemond.api.types_changes import LinkParams
from mnemond.api.types_interchange import ExportParams, ExportResult
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.errors import BUSY, STORAGE, MnemonError
from mnemond.interchange import export
from mnemond.wire.dispatch import Call
from tests.api.factories import CALL, Bench, ToyEmbedder, bench, spooled
from tests.api.test_op_ids import files_with
from tests.tables import each_row

KEY = "AKIA" + "PIX6EA6QOM66ZJOJ"


async def remember(over: Bench, content: str, **fields: Any) -> str:
    made = await over.remembering.remember(CALL, RememberParams(content=content, **fields))
    assert made.id is not None
    return made.id


async def exported(over: Bench, call: Call = CALL, **params: Any) -> str:
    with rpc.spooled(over.path) as (name, file):
        result = await over.exports.export(call, ExportParams(spool=name, **params))
        text = file.read().decode()
    assert result.lines == text.count("\n")
    return text


def decoded(text: str) -> list[dict[str, Any]]:
    assert text.endswith("\n")
    return [msgspec.json.decode(line) for line in text.split("\n")[:-1]]


def of_kind(text: str, kind: str) -> list[dict[str, Any]]:
    return [line for line in decoded(text) if line["kind"] == kind]


async def test_a_store_as_lines(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        one = await remember(over, "Alice leads the payments team", category="fact", tags=("b", "a"), cues=("who",))
        two = await remember(over, "The deploys go out on Thursdays", project="none", metadata={"z": 1, "a": [1.0]})
        await over.changes.link(CALL, LinkParams(source_id=one, target_id=two, type="causal"))
        await over.changes.forget(CALL, ForgetParams(id=await remember(over, "Not for long, says Bob")))
        text = await exported(over)
        assert text == await exported(over), "the same store gives the same bytes"
    found = decoded(text)
    assert found[0] == {"mnemond": 1, "kind": "meta", "whole": True, "redacted": False, "links_read": False}
    kinds = [line["kind"] for line in found]
    assert kinds == sorted(kinds, key=[*dict.fromkeys(kinds)].index), "lines of one kind are together"
    memories = {line["id"]: line for line in of_kind(text, "memory")}
    assert [line["status"] for line in memories.values()].count("forgotten") == 1
    assert memories[one]["cues"] == [{"text": "who", "source": "given"}]
    assert memories[one]["tags"] == ["b", "a"]
    assert memories[two]["metadata"] == {"z": 1, "a": [1.0]}
    assert "embedding" not in memories[one]
    causal = [line for line in of_kind(text, "edge") if line["edge_type"] == "causal"]
    assert [(line["source_id"], line["target_id"]) for line in causal] == [(one, two)]
    operations = of_kind(text, "operation")
    assert [line["operation_type"] for line in operations].count("CREATE") == 3
    assert operations[0]["after_state"]["insight"]["content"] == "Alice leads the payments team"


async def test_a_purged_memory_is_a_tombstone(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        gone = await remember(over, "The word zanzibar is here")
        await remember(over, "And another")
        await over.changes.forget(CALL, ForgetParams(id=gone, purge=True))
        text = await exported(over)
    assert [line["id"] for line in of_kind(text, "tombstone")] == [gone]
    assert "zanzibar" not in text


async def interrupted(over: Bench, monkeypatch: pytest.MonkeyPatch, work: Callable[[], Awaitable[object]]) -> str:
    """Export, and do something between the first two portions."""
    real, begun, done = export.portions, threading.Event(), threading.Event()

    def portions(*arguments: Any) -> Any:
        found = real(*arguments)
        yield next(found)
        begun.set()
        done.wait(30)
        yield from found

    monkeypatch.setattr(export, "portions", portions)
    found: list[str | MnemonError] = []

    async def run() -> None:
        try:
            found.append(await exported(over))
        except MnemonError as error:
            found.append(error)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.to_thread.run_sync(begun.wait, 30)
        try:
            await work()
        finally:
            done.set()
    if isinstance(found[0], MnemonError):
        raise found[0]
    return found[0]


async def test_a_filter_chooses_memories_and_what_belongs_to_them(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        mine = await remember(over, "Alice prefers Postgres in Berlin", user_id="ada")
        await remember(over, "Carol keeps zanzibar in Lisbon", user_id="eve")
        over.clock.us += 86_400_000_000
        later = await remember(over, "Alice moved to Hamburg", user_id="ada")
        text = await exported(over, user_id="ada")
        assert {line["id"] for line in of_kind(text, "memory")} == {mine, later}
        assert {line["memory_id"] for line in of_kind(text, "operation")} == {mine, later}
        assert "zanzibar" not in text
        assert "Carol" not in text
        assert "Lisbon" not in text
        assert decoded(text)[0]["whole"] is False
        since = await exported(over, user_id="ada", since="2026-02-03")
        assert [line["id"] for line in of_kind(since, "memory")] == [later]


async def test_the_past_is_no_filter_of_an_export(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, "One")
        with pytest.raises(MnemonError, match="leave as_of, known_at, include_invalid and status out"):
            await exported(over, as_of="2026-01-01")


async def test_secrets_are_cut_out_of_every_text(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, f"The key is {KEY} for the bucket", allow_secret=True)
        assert KEY in await exported(over)
        text = await exported(over, redact=True)
    assert KEY not in text
    assert "for the bucket" in of_kind(text, "memory")[0]["content"]
    assert decoded(text)[0]["redacted"] is True


async def test_a_purge_ends_an_export_and_wipes_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PORTION_BYTES", 1)
    async with bench(tmp_path) as over:
        gone = await remember(over, "The word zanzibar is here")
        await remember(over, "And another")
        with pytest.raises(MnemonError, match="memories were purged") as ended:
            await interrupted(over, monkeypatch, lambda: over.changes.forget(CALL, ForgetParams(id=gone, purge=True)))
        assert ended.value.kind is BUSY
        await remember(over, "One more write, after which the log is emptied")
    assert files_with(tmp_path, "zanzibar") == []


async def test_it_says_how_far_it_is_and_ends_with_its_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PORTION_BYTES", 1)
    monkeypatch.setattr(requests, "EVERY_S", 0.0)
    said: list[bytes] = []
    watching = msgspec.structs.replace(CALL, notify=said.append)
    async with bench(tmp_path) as over:
        await remember(over, "One")
        text = await exported(over, watching)
        assert said == [], "it did not ask for that"
        assert await exported(over, watching, progress=True) == text
        await trio.testing.wait_all_tasks_blocked()
        found = [msgspec.json.decode(line) for line in said]
        assert {each["method"] for each in found} == {"progress"}
        done = [each["params"]["done"] for each in found]
        assert done == sorted(done)
        assert done[-1] == found[-1]["params"]["total"]
        with pytest.raises(MnemonError, match="the client has ended"):
            await exported(over, msgspec.structs.replace(CALL, gone=lambda: True))


async def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path) as over:
        await remember(over, "One")
        name = spooled(tmp_path)
        full = Path("/dev/full").open("wb")  # noqa: ASYNC230, SIM115
        monkeypatch.setattr("mnemond.api.interchange.taken", lambda *_, **__: full)
        with pytest.raises(MnemonError, match="cannot be written: No space left on device") as refused:
            await over.exports.export(CALL, ExportParams(spool=name))
        assert refused.value.kind is STORAGE


@each_row(
    "text", ['{"a":1}', '[1.5,"x",{"b":null}]', '{"a": 1}', '{"a":1,"a":2}', "{broken", "[1e400]", '"x"', "plain", "[]"]
)
def test_json_is_part_of_a_line_where_that_loses_nothing(text: str) -> None:
    found = export.embedded(text)
    if isinstance(found, msgspec.Raw):
        assert msgspec.json.encode(msgspec.json.decode(bytes(found))).decode() == text
    else:
        assert found == text


def test_deep_json_stays_a_text() -> None:
    deep = "[" * 5000 + "]" * 5000
    assert export.embedded(deep) == deep
    most = "[" * export.MAX_NESTING + "]" * export.MAX_NESTING
    assert export.embedded(most) != most
    assert export.embedded(f"[{most}]") == f"[{most}]"


async def test_what_is_shared_names_the_store_and_the_project(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        await remember(over, "Prices are in cents", project="shop#1a2b3c4d")

        async def found(**params: Any) -> ExportResult:
            return await over.exports.export(CALL, ExportParams(spool=spooled(tmp_path), **params))

        plain = await found(project="shop")
        assert (plain.store_id, plain.project) == (None, None)
        shared = await found(project="shop", share=True)
        assert shared.project == "shop#1a2b3c4d"
        assert shared.store_id is not None
        assert len(shared.store_id) == 16
        again = await found(project="none", share=True)
        assert (again.store_id, again.project) == (shared.store_id, "")
