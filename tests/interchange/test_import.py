"""Imports over the handlers: looked at first, taken back as one, out of briefs for a day."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from mnemond.api import imports, requests
from mnemond.api.types_changes import UndoParams
from mnemond.api.types_interchange import ImportAcceptParams, ImportParams, ImportResult
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.hooks.briefing import Briefs
from mnemond.interchange.items import Item
from mnemond.interchange.recognise import items_of
from mnemond.wire.dispatch import Call
from mnemond.wire.params import SPOOL
from tests.api.factories import CALL, Bench, ToyEmbedder, bench, spooled
from tests.interchange.test_export import exported, remember

DAY_US = 86_400_000_000


async def imported(over: Bench, text: str, call: Call = CALL, **fields: Any) -> ImportResult:
    digest = hashlib.sha256(text.encode()).hexdigest()
    params = {"kind": "mnemond", "digest": digest, "spool": spooled(over.path, text), **fields}
    return await over.imports.run(call, ImportParams(**params))


def made(path: Path) -> Path:
    """A data directory."""
    path.mkdir(exist_ok=True)
    return path


async def source(path: Path, count: int = 3) -> str:
    """An export of a store with a few memories, one of them forgotten."""
    async with bench(made(path)) as over:
        for number in range(count):
            await remember(over, f"The rule number {number} is to greet guest {number} kindly", category="preference")
        gone = await remember(over, "This one was not for long")
        await over.changes.forget(CALL, ForgetParams(id=gone))
        return await exported(over)


async def test_it_comes_back_byte_for_byte(tmp_path: Path) -> None:
    text = await source(tmp_path / "a")
    async with bench(made(tmp_path / "b"), ToyEmbedder()) as over:
        result = await imported(over, text)
        assert (result.memories, result.added["memory"], result.dry_run) == (3, 4, False)
        assert await exported(over) == text
        again = await imported(over, text)
        assert (again.memories, again.added, again.known["memory"]) == (0, {}, 4)
        assert await exported(over) == text
        assert list((over.path / SPOOL).iterdir()) == []


async def test_a_dry_run_says_what_would_be_and_writes_nothing(tmp_path: Path) -> None:
    text = await source(tmp_path / "a")
    async with bench(made(tmp_path / "b")) as over:
        await over.warm()
        before = await exported(over)
        looked = await imported(over, text, dry_run=True)
        assert looked.dry_run
        assert (looked.memories, looked.added["memory"]) == (3, 4)
        assert looked.samples[0].startswith("The rule number 0")
        assert looked.waits_until is None
        assert await exported(over) == before
        assert (await imported(over, text)).added == looked.added


async def test_one_undo_takes_it_back_and_another_brings_it_again(tmp_path: Path) -> None:
    text = await source(tmp_path / "a")
    async with bench(made(tmp_path / "b")) as over:
        over.ids.made = 1000
        own = await remember(over, "Mine was here before")
        result = await imported(over, text)
        undone = await over.history.undo(CALL, UndoParams(operation=result.op_id))
        assert len(undone.memories) == 3
        snapshot = (await over.warm()).store.snapshot
        assert [snapshot.insight(row).id for row in snapshot.alive().nonzero()[0].tolist()] == [own]
        await over.history.undo(CALL, UndoParams(operation=undone.op_id))
        assert (await over.warm()).store.snapshot.live == 4


async def brief(over: Bench) -> set[str]:
    selected = await Briefs(over.open_stores, over.clock).select(None)
    return {it.content for it in selected.all()}


async def test_sessions_do_not_begin_with_it_for_a_day_or_until_it_is_accepted(tmp_path: Path) -> None:
    text = await source(tmp_path / "a", 1)
    rule = "The rule number 0 is to greet guest 0 kindly"
    for accepts in (False, True):
        async with bench(made(tmp_path / f"b{accepts}")) as over:
            over.ids.made = 1000
            await remember(over, "Always write tests first", category="preference")
            result = await imported(over, text)
            assert await brief(over) == {"Always write tests first"}
            if accepts:
                done = await over.imports.accept(CALL, ImportAcceptParams(operation=result.op_id))
                assert (done.accepted, done.memories) == ([result.op_id], 2)
                assert (await over.imports.accept(CALL, ImportAcceptParams())).accepted == []
            else:
                over.clock.us += DAY_US - 1
                assert rule not in await brief(over)
                over.clock.us += 2
            assert rule in await brief(over)


@pytest.mark.parametrize("tty", [True, False])
async def test_rules_that_are_enforced_come_with_a_person_at_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, tty: bool
) -> None:
    """The client says what its output is; whether a person is there is read from its process."""
    monkeypatch.setattr("mnemond.api.requests.is_person", lambda call: call.at_terminal)
    text = await source(tmp_path / "a", 1)
    rule = b'"when":[{"pattern":"Bash:git push*","enforce":"deny","state":"on"}],'
    kept = text.encode().replace(b'"updated_at"', rule + b'"updated_at"', 1).decode()
    assert kept != text
    async with bench(made(tmp_path / "b")) as over:
        if tty:
            assert (await imported(over, kept, tty=True)).added["memory"] == 2
            return
        with pytest.raises(MnemonError, match="which only a person at a terminal does"):
            await imported(over, kept)


async def test_an_unknown_import_cannot_be_accepted(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError, match="no import 'nothing' in this store") as caught:
            await over.imports.accept(CALL, ImportAcceptParams(operation="nothing"))
        assert caught.value.kind is NOT_FOUND


SMALL = Config(lifecycle=LifecycleSettings(max_insights=2))


async def test_a_store_that_is_too_small_says_so_and_may_be_made_larger(tmp_path: Path) -> None:
    text = await source(tmp_path / "a")
    async with bench(made(tmp_path / "b"), config=SMALL) as over:
        looked = await imported(over, text, dry_run=True)
        assert looked.over_cap == 1
        with pytest.raises(MnemonError, match=r"3 active memories; its maximum is 2 \(lifecycle.max_insights\)") as no:
            await imported(over, text)
        assert no.value.kind is INVALID_PARAMS
        assert (await over.warm()).store.snapshot.live == 0
        result = await imported(over, text, raise_cap=True)
        assert (result.memories, result.raised_cap) == (3, 1000)
        assert (await over.warm()).config.lifecycle.max_insights == 1000
        over.ids.made = 1000
        await over.remembering.remember(CALL, RememberParams(content="Room for one more"))
        assert (await over.warm()).store.snapshot.live == 4


async def test_a_broken_line_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    text = await source(tmp_path / "a")
    async with bench(made(tmp_path / "b")) as over:
        await remember(over, "Mine")
        before = await exported(over)
        for broken in (text[:-20], text.replace('"memory"', '"memory', 1), "x", "", "[]\n"):
            if broken:
                with pytest.raises(MnemonError, match=r"^line \d+ ") as caught:
                    await imported(over, broken)
                assert caught.value.kind is INVALID_PARAMS
            else:
                assert (await imported(over, broken)).added == {}
        assert await exported(over) == before


async def test_a_client_that_ended_ends_it_and_an_export_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "EVERY_S", 0.0)
    monkeypatch.setattr(imports, "ITEMS_AT_ONCE", 1)
    text, ended = await source(tmp_path / "a"), msgspec.structs.replace(CALL, gone=lambda: True)
    said: list[bytes] = []
    watching = msgspec.structs.replace(CALL, notify=said.append)
    async with bench(made(tmp_path / "b")) as over:
        await remember(over, "Mine")
        before = await exported(over)
        with pytest.raises(MnemonError, match="the client has ended"):
            await imported(over, text, ended)
        assert await exported(over) == before
        with pytest.raises(MnemonError, match="the client has ended"):
            await imported(over, draft_lines(), ended, kind="mnemon-draft")
        assert (await over.warm()).store.snapshot.live == 2, "one, and then no more"
        assert (await imported(over, draft_lines(), watching, kind="mnemon-draft", progress=True)).memories == 2
        await imported(over, text, watching, progress=True)
        await trio.testing.wait_all_tasks_blocked()
    of = [msgspec.json.decode(line)["params"] for line in said]
    assert {each["total"] for each in of} == {len(text.encode()), len(draft_lines().encode())}
    assert of[-1]["done"] == of[-1]["total"]


async def test_a_store_that_is_closed_meanwhile_gets_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "ITEMS_AT_ONCE", 1)
    real = imports.ImportHandlers._import_items
    async with bench(made(tmp_path / "a")) as over:

        async def closing(*arguments: Any) -> None:
            await real(*arguments)
            async with over.stores.exclusive("default"):
                pass

        monkeypatch.setattr(imports.ImportHandlers, "_import_items", closing)
        with pytest.raises(MnemonError, match="the store was closed meanwhile"):
            await imported(over, draft_lines(), kind="mnemon-draft")
        assert (await over.warm()).store.snapshot.live == 1


async def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError, match="there is no import of 'floppy'"):
            await imported(over, "x", kind="floppy")


KEY = "token=ghp_" + "a1B2" * 9
DRAFT = {
    "schema_version": "1",
    "insights": [{"content": "Chose Qdrant over Milvus for search"}, {"content": "The budget was cut in March"},
                 {"content": "The cluster moved to smaller nodes"}],
    "edges": [
        {"source_index": 0, "target_index": 1, "edge_type": "semantic", "weight": 0.4, "reason": "same meeting"},
        {"source_index": 2, "target_index": 1, "edge_type": "causal", "weight": 0.9, "reason": KEY},
    ],
}  # fmt: skip


def draft_lines() -> str:
    kind, items = items_of("/x/draft.json", msgspec.json.encode(DRAFT), None)
    assert kind == "mnemon-draft"
    return "".join(msgspec.json.encode(each).decode() + "\n" for each in items)


async def host_links(over: Bench) -> list[tuple[str, str, str, float, str]]:
    sql = (
        "SELECT a.content, b.content, edge_type, weight, e.metadata FROM edges e JOIN insights a ON a.id = source_id"
        " JOIN insights b ON b.id = target_id WHERE e.created_by = 'host' AND a.deleted_at IS NULL ORDER BY 3, 1"
    )
    return await (await over.warm()).store.read(lambda connection: connection.rows(sql))


async def test_links_of_a_draft_are_made_with_the_memories_and_taken_back_with_them(tmp_path: Path) -> None:
    search, budget, nodes = (each["content"] for each in DRAFT["insights"])  # type: ignore[index]
    async with bench(made(tmp_path / "a")) as over:
        looked = await imported(over, draft_lines(), kind="mnemon-draft", dry_run=True)
        assert looked.added == {"memory": 3, "edge": 2}
        done = await imported(over, draft_lines(), kind="mnemon-draft")
        assert done.added == {"memory": 3, "edge": 2}
        found = await host_links(over)
        assert [each[:4] for each in found] == [
            (nodes, budget, "causal", 0.9), (search, budget, "semantic", 0.4), (budget, search, "semantic", 0.4),
        ] or [each[:4] for each in found] == [
            (nodes, budget, "causal", 0.9), (budget, search, "semantic", 0.4), (search, budget, "semantic", 0.4),
        ]  # fmt: skip
        assert "same meeting" in found[1][4]
        assert "ghp_" not in found[0][4], "secrets are cut out"
        assert (await imported(over, draft_lines(), kind="mnemon-draft")).added == {}
        assert await host_links(over) == found
        undone = await over.history.undo(CALL, UndoParams(operation=done.op_id))
        assert (len(undone.memories), await host_links(over)) == (3, [])
        await over.history.undo(CALL, UndoParams(operation=undone.op_id))
        assert await host_links(over) == found


async def test_a_link_to_a_memory_that_was_not_imported_is_left_out(tmp_path: Path) -> None:
    async with bench(made(tmp_path / "a")) as over:
        await remember(over, "The budget was cut in March")
        done = await imported(over, draft_lines(), kind="mnemon-draft")
        assert done.added == {"memory": 2}
        assert await host_links(over) == []


async def test_a_dry_run_shows_what_is_at_odds_with_the_store_and_what_it_knows(tmp_path: Path) -> None:
    items = [
        Item(source="1", content="The staging server listens on port 9090", origin="mem0"),
        Item(source="2", content="Ada prefers tea in the morning", origin="mem0"),
        Item(source="3", content="The office has a garden on the roof", origin="mem0"),
    ]
    lines = "".join(msgspec.json.encode(each).decode() + "\n" for each in items)
    async with bench(made(tmp_path / "a"), ToyEmbedder()) as over:
        over.ids.made = 1000
        here = await remember(over, "The staging server listens on port 8080")
        await remember(over, "Ada prefers tea in the morning")
        before = await exported(over)
        looked = await imported(over, lines, kind="mem0", dry_run=True)
        assert await exported(over) == before
        assert (looked.added, looked.known, looked.memories) == ({"memory": 2}, {"memory": 1}, 2)
        (odd,) = looked.contradictions
        assert (odd.id, odd.content, odd.imported) == (
            here, "The staging server listens on port 8080", "The staging server listens on port 9090",
        )  # fmt: skip
        assert looked.contradictions_found == 1
        done = await imported(over, lines, kind="mem0")
        assert (done.added, done.known, done.memories) == (looked.added, looked.known, looked.memories)
        assert (await over.warm()).store.snapshot.live == 4, "both stay"
