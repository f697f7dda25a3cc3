"""Lines of an export: whole, of one moment, in order, chosen and redacted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from mnemond.api.interchange import MAX_EXPORTS, is_whole
from mnemond.api.transfers import IDLE_S
from mnemond.api.types_changes import LinkParams, UpdateParams
from mnemond.api.types_interchange import ExportOpenParams, ExportReadParams
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.interchange import export
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.api.test_op_ids import files_with
from tests.tables import each_row

KEY = "AKIA" + "PIX6EA6QOM66ZJOJ"


async def remember(over: Bench, content: str, **fields: Any) -> str:
    made = await over.remembering.remember(CALL, RememberParams(content=content, **fields))
    assert made.id is not None
    return made.id


async def exported(over: Bench, **params: Any) -> str:
    begun = await over.exports.open(CALL, ExportOpenParams(**params))
    return await rest_of(over, begun.export)


async def rest_of(over: Bench, name: str, portion: int = 0) -> str:
    texts = []
    while (found := await over.exports.read(CALL, ExportReadParams(export=name, portion=portion))).lines:
        assert found.lines == found.text.count("\n")
        texts.append(found.text)
        portion += 1
    return "".join(texts)


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


async def test_it_shows_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PORTION_BYTES", 1)
    async with bench(tmp_path) as over:
        one = await remember(over, "As it was")
        begun = await over.exports.open(CALL, ExportOpenParams())
        await over.changes.update(CALL, UpdateParams(id=one, content="As it is now"))
        await remember(over, "Made later")
        text = await rest_of(over, begun.export)
        assert [line["content"] for line in of_kind(text, "memory")] == ["As it was"]
        assert len(of_kind(await exported(over), "memory")) == 2


async def test_a_portion_may_be_read_again_but_none_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PORTION_BYTES", 1)
    async with bench(tmp_path) as over:
        await remember(over, "One")
        name = (await over.exports.open(CALL, ExportOpenParams())).export
        first = await over.exports.read(CALL, ExportReadParams(export=name, portion=0))
        assert await over.exports.read(CALL, ExportReadParams(export=name, portion=0)) == first
        with pytest.raises(MnemonError, match="portion 2 is not the next: 1") as caught:
            await over.exports.read(CALL, ExportReadParams(export=name, portion=2))
        assert caught.value.kind is INVALID_PARAMS
        assert first.text + await rest_of(over, name, 1) == await exported(over)
        with pytest.raises(MnemonError, match="no such export any more") as caught:
            await over.exports.read(CALL, ExportReadParams(export=name, portion=0))
        assert caught.value.kind is NOT_FOUND


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
            await over.exports.open(CALL, ExportOpenParams(as_of="2026-01-01"))


async def test_secrets_are_cut_out_of_every_text(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, f"The key is {KEY} for the bucket", allow_secret=True)
        assert KEY in await exported(over)
        text = await exported(over, redact=True)
    assert KEY not in text
    assert "for the bucket" in of_kind(text, "memory")[0]["content"]
    assert decoded(text)[0]["redacted"] is True


async def test_only_so_many_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, "One")
        for _ in range(MAX_EXPORTS):
            await over.exports.open(CALL, ExportOpenParams())
        with pytest.raises(MnemonError, match="exports are being read already") as caught:
            await over.exports.open(CALL, ExportOpenParams())
        assert caught.value.kind is BUSY


async def test_an_export_that_nobody_reads_ends(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PORTION_BYTES", 1)
    async with bench(tmp_path) as over, trio.open_nursery() as nursery:
        await nursery.start(over.exports.run)
        await remember(over, "One")
        name = (await over.exports.open(CALL, ExportOpenParams())).export
        for _ in range(4):
            mock_clock.jump(IDLE_S / 2)
            await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(MnemonError, match="no such export"):
            await over.exports.read(CALL, ExportReadParams(export=name, portion=0))
        nursery.cancel_scope.cancel()


async def test_a_purge_ends_an_export_and_wipes_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PORTION_BYTES", 1)
    async with bench(tmp_path) as over:
        gone = await remember(over, "The word zanzibar is here")
        await remember(over, "And another")
        name = (await over.exports.open(CALL, ExportOpenParams())).export
        await over.exports.read(CALL, ExportReadParams(export=name, portion=0))
        await over.changes.forget(CALL, ForgetParams(id=gone, purge=True))
        with pytest.raises(MnemonError, match="no such export any more"):
            await over.exports.read(CALL, ExportReadParams(export=name, portion=1))
        await remember(over, "One more write, after which the log is emptied")
    assert files_with(tmp_path, "zanzibar") == []


def test_whole_means_no_filter() -> None:
    assert is_whole(ExportOpenParams(store="a", directory="/x", redact=True))
    for each in ({"category": "fact"}, {"user_id": "a"}, {"all_sessions": True}, {"since": "2026-01-01"}):
        assert not is_whole(ExportOpenParams(**each))


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
        plain = await over.exports.open(CALL, ExportOpenParams(project="shop"))
        assert (plain.store_id, plain.project) == (None, None)
        found = await over.exports.open(CALL, ExportOpenParams(project="shop", share=True))
        assert found.project == "shop#1a2b3c4d"
        assert found.store_id is not None
        assert len(found.store_id) == 16
        again = await over.exports.open(CALL, ExportOpenParams(project="none", share=True))
        assert (again.store_id, again.project) == (found.store_id, "")
