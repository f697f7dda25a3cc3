"""link, unlink, related, pin and search over a real store: what is refused, repeated, replayed and redacted."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from mnemond.api.types_changes import LinkParams, RelatedParams, UnlinkParams
from mnemond.api.types_memories import ForgetParams, GetParams, PinParams, RememberParams, SearchParams
from mnemond.errors import AMBIGUOUS, INVALID_PARAMS, NOT_FOUND, STORAGE, MnemonError
from mnemond.model.answers import GetResult, InsightView, RecallResult, RelatedMemory
from mnemond.model.outcomes import LinkResult, PinResult, RememberResult, UnlinkResult
from tests.api.factories import CALL, Bench, bench
from tests.api.test_uses import fill
from tests.tables import each_row


async def remembered(over: Bench, *contents: str, **more: object) -> list[str]:
    """The ids of new memories, which no edge builder linked."""
    ids: list[str] = []
    for content in contents:
        over.clock.us += 48 * 3_600_000_000
        params = RememberParams(content=content, no_diff=True, source=f"source {len(ids)} {content}", **more)  # type: ignore[arg-type]
        result = await over.remembering.remember(CALL, params)
        assert isinstance(result, RememberResult)
        assert result.id is not None
        ids.append(result.id)
    return ids


async def linked(over: Bench, source: str, target: str, kind: str = "causal", **more: object) -> LinkResult:
    params = LinkParams(source_id=source, target_id=target, type=kind, **more)  # type: ignore[arg-type]
    result = await over.changes.link(CALL, params)
    assert isinstance(result, LinkResult)
    return result


async def unlinked(over: Bench, source: str, target: str, **more: object) -> UnlinkResult:
    result = await over.changes.unlink(CALL, UnlinkParams(source_id=source, target_id=target, **more))  # type: ignore[arg-type]
    assert isinstance(result, UnlinkResult)
    return result


async def around(over: Bench, start: str, **more: object) -> list[RelatedMemory]:
    result = await over.changes.related(CALL, RelatedParams(id=start, **more))  # type: ignore[arg-type]
    assert isinstance(result, list)
    return result


async def pinned(over: Bench, identifier: str, **more: object) -> PinResult:
    result = await over.changes.pin(CALL, PinParams(id=identifier, **more))  # type: ignore[arg-type]
    assert isinstance(result, PinResult)
    return result


async def test_a_repeat_is_answered_after_the_memories_left(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        one, other = await remembered(over, "zebra", "violin")
        await linked(over, one, other, op_id="mine")
        await pinned(over, one, op_id="pin it")
        await over.changes.forget(CALL, ForgetParams(id=one))
        assert (await linked(over, one, other, op_id="mine")).replayed is True
        assert (await pinned(over, one, op_id="pin it")).status == "pinned"
        with pytest.raises(MnemonError, match="it is forgotten") as caught:
            await linked(over, one, other)
        assert (caught.value.kind, caught.value.outcome) == (NOT_FOUND, "rejected")


@each_row(
    ("more", "fields"),
    [
        ({"metadata": {"a": {}}}, ["metadata"]),
        ({"metadata": {"a": "x" * 5000}}, ["metadata"]),
        ({"metadata": {"password": ["Tr0ub4dor&3"] * 250}}, ["metadata"]),
        ({"bidirectional": True}, ["bidirectional"]),
        ({"bidirectional": True, "metadata": {"created_by": "auto"}}, ["metadata", "bidirectional"]),
        ({"sub_type": "a", "metadata": {"sub_type": "b"}}, ["sub_type"]),
    ],
)
async def test_a_link_that_cannot_be_is_refused_at_once(
    tmp_path: Path, more: dict[str, object], fields: list[str]
) -> None:
    async with bench(tmp_path) as over:
        await over.warm()
        with pytest.raises(MnemonError) as caught:
            await over.changes.link(CALL, LinkParams(source_id="aaaaaa", target_id="bbbbbb", type="causal", **more))  # type: ignore[arg-type]
        assert caught.value.kind is INVALID_PARAMS
        assert [problem.field for problem in caught.value.problems] == fields


async def test_circles_and_self_links_are_refused_in_words(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        one, other = await remembered(over, "zebra", "violin")
        await linked(over, one, other)
        with pytest.raises(MnemonError, match=f"{other} → {one} → {other}"):
            await linked(over, other, one)
        with pytest.raises(MnemonError, match="the source itself"):
            await linked(over, one, one)
        assert (await linked(over, other, one, allow_cycle=True)).created is True
        both = await linked(over, one, other, bidirectional=True, allow_cycle=True)
        assert (both.created, both.updated, both.bidirectional) == (False, False, True)
        assert (await unlinked(over, one, other)).cause_other_way is True


async def test_no_secret_of_the_metadata_is_stored_unless_wanted(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        one, other = await remembered(over, "zebra", "violin")
        result = await linked(over, one, other, metadata={"password": "Tr0ub4dor&3"})
        assert result.metadata["password"] == "[REDACTED:password]"
        assert result.redacted == ["password"]
        await over.stores.close()
        for file in (tmp_path / "data" / "default").iterdir():
            assert b"Tr0ub4dor" not in file.read_bytes()
    async with bench(tmp_path) as over:
        kept = await linked(over, one, other, metadata={"password": "Tr0ub4dor&3"}, allow_secret=True)
        assert (kept.metadata["password"], kept.redacted) == ("Tr0ub4dor&3", [])


# ------------------------------------------------------------ related


async def test_related_tells_how_each_memory_is_reached(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        one, two, three = await remembered(over, "zebra", "violin", "quartz")
        await linked(over, one, two, weight=0.8)
        await linked(over, two, three, "semantic")
        assert await around(over, one) == [
            RelatedMemory(two, "violin", "general", 3, 1, "causal", 0.8),
            RelatedMemory(three, "quartz", "general", 3, 2, "semantic", 0.5),
        ]
        assert [each.id for each in await around(over, one, depth=1)] == [two]
        assert [each.id for each in await around(over, one, edge="semantic")] == []
        assert [each.id for each in await around(over, one, limit=1)] == [two]


async def test_related_starts_at_a_memory_that_the_reader_may_see(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        (one,) = await remembered(over, "zebra", user_id="ana", session_id="s1")
        (two,) = await remembered(over, "violin", session_id="s1")
        await linked(over, one, two)
        assert await around(over, one) == []  # of the session nothing is shown to who does not name it
        assert [each.id for each in await around(over, one, session_id="s1")] == [two]
        assert [each.id for each in await around(over, one, all_sessions=True)] == [two]
        with pytest.raises(MnemonError, match="meant for this user") as caught:
            await around(over, one, user_id="ben")
        assert caught.value.kind is NOT_FOUND
        with pytest.raises(MnemonError) as caught:
            await around(over, "aaaaaaaa")
        assert caught.value.kind is AMBIGUOUS
        with pytest.raises(MnemonError, match="no active memory"):
            await around(over, "bbbbbbbb")


# ------------------------------------------------------------ pin


async def test_pinning_says_what_changed_and_get_shows_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        (one,) = await remembered(over, "zebra")
        first = await pinned(over, one)
        assert (first.id, first.status, first.changed) == (one, "pinned", True)
        assert "never pruned" in first.message
        shown = await over.reads.get(CALL, GetParams(id=one))
        assert isinstance(shown, GetResult)
        assert shown.insight.pinned is True
        assert (await pinned(over, one)).message == "it was pinned already"
        assert (await pinned(over, one, unpin=True)).status == "unpinned"
        assert (await pinned(over, one, unpin=True)).message == "it was not pinned"
        with pytest.raises(MnemonError, match="no active memory"):
            await pinned(over, "bbbbbbbb")
        with pytest.raises(MnemonError, match="meant for this user"):
            await pinned(over, (await remembered(over, "violin", user_id="ana"))[0], user_id="ben")


# ------------------------------------------------------------ search


async def search(over: Bench, query: str, **more: object) -> list[InsightView]:
    result = await over.search.search(CALL, SearchParams(query=query, **more))  # type: ignore[arg-type]
    assert isinstance(result, RecallResult)
    return [hit.insight for hit in result.results]


async def test_a_link_says_its_sub_type(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        one, two = await fill(over, "the zebra sleeps", "a violin plays")
        three = (await over.remembering.remember(CALL, RememberParams(content="rain in Graz", source="bob"))).id
        await over.changes.link(CALL, LinkParams(source_id=one, target_id=two, type="causal", sub_type="enables"))
        await over.changes.link(CALL, LinkParams(source_id=one, target_id=two, type="entity"))
        found = (await over.reads.get(CALL, GetParams(id=two))).links
        assert {(link.id, link.edge_type, link.direction): link.sub_type for link in found} == {
            (one, "temporal", "both"): "backbone",
            (three, "temporal", "both"): "proximity",
            (one, "causal", "from"): "enables",
            (one, "entity", "both"): None,
        }
        there = (await over.reads.get(CALL, GetParams(id=one))).links
        assert ("causal", "to", "enables") in [(link.edge_type, link.direction, link.sub_type) for link in there]


@pytest.mark.parametrize("failure", ["refused", "hanging"])
async def test_links_are_shown_without_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    async with bench(tmp_path) as over:
        one, _ = await fill(over, "the zebra sleeps", "a violin plays")
        expected = (await over.reads.get(CALL, GetParams(id=one))).links
        warm = await over.warm()

        async def read(query: object) -> None:
            if failure == "hanging":
                await trio.sleep_forever()
            raise MnemonError(STORAGE, "the disk is gone")

        monkeypatch.setattr(warm.store, "read", read)
        monkeypatch.setattr("mnemond.api.recall.SUB_TYPES_S", 0.0)
        found = (await over.reads.get(CALL, GetParams(id=one))).links
        assert found == [replace(link, sub_type=None) for link in expected]
        monkeypatch.undo()
