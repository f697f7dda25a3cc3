"""extract from parameters to result: every fact with its fate, and one that fails takes no other with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from mnemond.api.extract import ExtractHandlers
from mnemond.api.types_extract import ExtractContext, ExtractCounts, ExtractParams, ExtractResult, MessageParam
from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings
from mnemond.embed.embedder import Purpose
from mnemond.errors import BUSY, INVALID_PARAMS, UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector
from mnemond.model.outcomes import HostFact
from mnemond.store.operations import Write
from mnemond.store.store import OnResult
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.api.test_remembering import files_with
from tests.tables import each_row

SPEC = "My name is Ana. I work at Acme. I prefer tabs over spaces. Yesterday we decided to use GitHub Actions."
THEN = "2026-02-18T10:00:00Z"
SECRET = "AKIA" + "PIX6EA6QOM66ZJOJ"

FACT_KEYS = {
    "content", "entities", "importance", "importance5", "intent", "source_context", "confidence", "attributed_to",
    "action", "resolution", "memory_id", "previous_id", "reason",
}  # fmt: skip
"""Of spec 9."""


async def extract(over: Bench, messages: object = (), **more: object) -> ExtractResult:
    handlers = ExtractHandlers(over.open_stores, over.identities, over.clock, over.projects)
    params = msgspec.convert({"messages": messages, **more}, ExtractParams)
    result = await handlers.extract(CALL, params)
    assert isinstance(result, ExtractResult)
    return result


async def refused(over: Bench, messages: object = (), **more: object) -> MnemonError:
    with pytest.raises(MnemonError) as caught:
        await extract(over, messages, **more)
    return caught.value


async def test_the_exchange_of_the_specification(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        result = await extract(over, SPEC, observation_date=THEN, conversation_id="c1", user_id="u1")
        assert [each.action for each in result.facts] == ["CREATE"] * 4
        assert result.counts == ExtractCounts(create=4)
        assert (result.engine, result.retried, result.summary_updated, result.dropped) == ("rules", False, False, [])
        stored = (await over.warm()).store.snapshot
        assert stored.live == 4
        for fact in result.facts:
            row = stored.row_of(fact.memory_id or "")
            assert row is not None
            insight = stored.insight(row)
            assert (insight.content, insight.importance) == (fact.content, fact.importance5)
            assert (insight.channel, insight.conversation_id, insight.scope.user_id) == ("extract", "c1", "u1")
            assert insight.created_at.startswith("2026-02-18T10:00")
            assert stored.has_vector(row)
        assert set(msgspec.to_builtins(result.facts[0])) >= FACT_KEYS


async def test_messages_come_in_three_forms(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        message = {"role": "user", "content": "I prefer tabs over spaces", "id": "m1", "timestamp": THEN}
        for form in (message["content"], message, [message, {"role": "assistant", "content": "ok"}]):
            result = await extract(over, form, dry_run=True)
            assert [each.content for each in result.facts] == ["[User] I prefer tabs over spaces"]
        (fact,) = result.facts
        assert fact.source_context.message_ids == ("m1",)
        assert fact.said_at == "2026-02-18T10:00:00.000000Z"


async def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        result = await extract(over, SPEC, observation_date=THEN, dry_run=True)
        assert result.dry_run
        assert [(each.action, each.memory_id, each.op_id) for each in result.facts] == [("CREATE", None, None)] * 4
        assert (await over.warm()).store.snapshot.live == 0
        await extract(over, SPEC, observation_date=THEN)
        known = await extract(over, SPEC, observation_date=THEN, dry_run=True)
        assert {each.action for each in known.facts} == {"NONE"}
        assert all(each.memory_id for each in known.facts)


async def test_facts_of_the_host_are_only_resolved(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        facts = [
            {"content": "Ana works at Acme", "importance": 9, "event_time": THEN, "message_ids": ["m3"],
             "confidence": 0.5, "entities": ["Ana", {"text": "Acme", "type": "organization"}],
             "attributed_to": "assistant"},
            {"content": "trifles of the day", "importance": 1},
            {"content": "hi"},
        ]  # fmt: skip
        result = await extract(over, facts=facts)
        assert (result.engine, result.counts) == ("host", ExtractCounts(create=1, none=1))
        assert [each.reason for each in result.dropped] == ["importance 1"]
        first, second = result.facts
        assert (first.importance, first.importance5, first.band, first.confidence) == (9, 5, "critical", 0.5)
        assert (first.said_at[:10], first.source_context.message_ids) == ("2026-02-18", ("m3",))
        assert (second.action, second.memory_id, second.reason) == ("NONE", None, "says too little to be kept")


async def test_an_estimated_importance_raises_no_known_memory(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        said = "Never deploy on Fridays without asking Ana first."
        once = (await extract(over, facts=[{"content": said, "importance": 3}])).facts[0]
        known = (await extract(over, facts=[{"content": said}])).facts[0]
        assert (known.action, known.memory_id, known.united) == ("NONE", once.memory_id, None)


async def test_messages_as_they_are(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        said = [
            {"role": "system", "content": "x"},
            {"role": "user", "content": "ok"},
            {"role": "assistant", "content": "ok"},
        ]
        result = await extract(over, said, infer=False)
        assert (result.engine, result.counts) == ("verbatim", ExtractCounts(create=1))
        assert [each.reason for each in result.dropped] == ["said before"]


async def test_secrets_do_not_reach_the_store_or_the_answer(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        result = await extract(over, facts=[{"content": f"The deploy key of the box is {SECRET}"}])
        assert SECRET not in str(msgspec.to_builtins(result))
        assert result.facts[0].redacted
        uses = await extract(over, facts=[{"content": f"Ana uses {SECRET} for S3", "entities": [SECRET]}])
        assert SECRET not in str(msgspec.to_builtins(uses))
        spoken = await extract(over, f"We deploy with {SECRET} on AWS. We never deploy on Fridays.")
        assert [each.content for each in spoken.facts] == ["We never deploy on Fridays."]
        assert SECRET not in str(msgspec.to_builtins(spoken))
    assert not files_with(tmp_path, SECRET)


async def test_what_cannot_be_stored_is_left_out_of_what_was_said_and_refused_of_what_is_given(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        result = await extract(over, "I prefer\0tabs over e" + "\u0301" * 99 + " spaces")
        assert result.counts == ExtractCounts(create=1)
        plain = await extract(over, "one\0two three", infer=False)
        assert [each.content for each in plain.facts] == ["one two three"]
        for content in ("Ana\0 works at Acme", "x" * 9_000 + "\0", "e" + "\u0301" * 99):
            error = await refused(over, facts=[{"content": content}])
            assert [each.field for each in error.problems] == ["facts[0].content"]
        for asked in (
            {"messages": [{"content": "x", "id": SECRET}]},
            {"facts": [{"content": "x", "message_ids": [SECRET]}]},
        ):
            (problem,) = (await refused(over, **asked)).problems
            assert "looks like a secret" in problem.message
            assert SECRET not in problem.message


async def test_a_request_that_is_repeated_is_carried_out_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        first = await extract(over, SPEC, observation_date=THEN, op_id="mine")
        again = await extract(over, SPEC, observation_date=THEN, op_id="mine")
        assert [each.op_id for each in first.facts] == [f"mine/{number}" for number in (1, 2, 3, 4)]
        assert [each.memory_id for each in again.facts] == [each.memory_id for each in first.facts]
        assert [each.action for each in again.facts] == ["CREATE"] * 4
        assert (await over.warm()).store.snapshot.live == 4


async def test_one_that_fails_takes_no_other_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path) as over:
        store = (await over.warm()).store
        submit, seen = store.submit, []

        def sometimes(write: Write, done: OnResult) -> None:
            seen.append(write)
            if len(seen) in failing:
                done(MnemonError(BUSY, "too many writes are waiting", outcome="rejected"))
            else:
                submit(write, done)

        monkeypatch.setattr(store, "submit", sometimes)
        failing = {2}
        result = await extract(over, SPEC, observation_date=THEN)
        assert [each.action for each in result.facts] == ["CREATE", "FAILED", "CREATE", "CREATE"]
        assert result.facts[1].reason == "too many writes are waiting"
        assert result.counts == ExtractCounts(create=3, failed=1)
        failing = {5, 6, 7, 8}
        assert (await refused(over, SPEC, observation_date=THEN)).kind is BUSY


class Moody(ToyEmbedder):
    """Refuses several texts at once, or all there is."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.asked: list[int] = []

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        self.asked.append(len(texts))
        if len(texts) > self.most:
            raise MnemonError(UNAVAILABLE, "too much at once")
        return super().embed(texts, purpose=purpose)


@each_row(("most", "asked", "vectors"), [(9, [4], 4), (1, [4, 1, 1, 1, 1, 1], 4), (0, [4, 1], 0)])
async def test_facts_are_embedded_at_once_or_one_by_one(
    tmp_path: Path, most: int, asked: list[int], vectors: int
) -> None:
    embedder = Moody(most)
    async with bench(tmp_path, embedder) as over:
        await over.warm()
        embedder.asked.clear()
        result = await extract(over, SPEC, observation_date=THEN)
        assert result.counts == ExtractCounts(create=4)
        assert embedder.asked == asked
        assert (await over.warm()).store.snapshot.embedded == vectors


async def test_whoever_finds_facts_by_themselves_is_shown_what_they_need(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await extract(over, "My name is Ana. I work at Acme. We never deploy on Fridays.")
        talk = [
            {"content": "x" * 400}, {"role": "assistant", "content": f"use {SECRET}"},
            {"content": "Do we deploy on Fridays?", "name": "ana"}, {"role": "assistant", "content": "no"},
        ]  # fmt: skip
        handlers = ExtractHandlers(over.open_stores, over.identities, over.clock, over.projects)
        asked = msgspec.convert({"messages": talk, "show_context": True, "observation_date": THEN}, ExtractParams)
        shown = await handlers.extract(CALL, asked)
        assert isinstance(shown, ExtractContext)
        assert [len(each.content) for each in shown.earlier] == [300, len("use [REDACTED:aws_access_key]")]
        assert [each.content for each in shown.latest] == ["Do we deploy on Fridays?", "no"]
        assert [(each.number, each.content) for each in shown.known] == [(1, "We never deploy on Fridays.")]
        assert (shown.speaker, shown.summary, shown.observed_at[:10]) == ("Ana", None, "2026-02-18")
        assert (await over.warm()).store.snapshot.live == 3
        error = await refused(over, facts=[{"content": "Ana works at Acme"}], show_context=True)
        assert [each.field for each in error.problems] == ["show_context"]


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async with bench(tmp_path, config=Config(extraction=ExtractionSettings(enabled=False))) as over:
        error = await refused(over, "We never deploy on Fridays")
        assert (error.kind, error.outcome) == (UNAVAILABLE, "rejected")


async def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        error = await refused(
            over, [{"content": "x", "timestamp": "then"}], observation_date="never", user_id=f"u {SECRET}", op_id="a\0b"
        )
        assert error.kind is INVALID_PARAMS
        assert [each.field for each in error.problems] == [
            "op_id", "user_id", "observation_date", "messages[0].timestamp"
        ]  # fmt: skip
        bad = [{"content": " ", "category": "fakt", "entities": ["x" * 300], "event_time": "soon"}]
        error = await refused(over, facts=bad)
        assert [each.field for each in error.problems] == [
            "facts[0].event_time", "facts[0].category", "facts[0].entities[0]", "facts[0].content"
        ]  # fmt: skip
        assert [each.field for each in (await refused(over)).problems] == ["messages"]
        both = await refused(over, "x", facts=[{"content": "Ana works at Acme"}])
        assert [each.field for each in both.problems] == ["facts"]


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"messages": [{"content": "x", "rolle": "user"}]}, ExtractParams)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"facts": [{"content": "x", "importance": 11}]}, ExtractParams)
    assert msgspec.convert({"content": "x"}, MessageParam).role == "user"
    assert msgspec.convert({"content": "x"}, HostFact).confidence == 1.0


KEY = "Zx81QmLp0Tyw9KdRFA"


async def test_a_secret_of_one_text_is_in_none_of_what_is_derived_from_it(tmp_path: Path) -> None:
    """A name taken out of its sentence, a given entity, a tag and an answer say no longer that it is a secret."""
    async with bench(tmp_path) as over:
        fact = HostFact(content=f"The API token is {KEY}.", entities=(KEY, "Ana"))
        said = [{"role": "user", "content": f"the API token is {KEY}"}, {"role": "assistant", "content": f"Set {KEY}."}]
        results = [
            await extract(over, facts=[msgspec.to_builtins(fact)]),
            await extract(over, said, infer=False),
            await extract(over, said),
        ]
        assert [KEY in msgspec.json.encode(each).decode() for each in results] == [False] * 3, results
        assert [each.text for each in results[0].facts[0].entities] == ["Ana", "API"]
    assert not files_with(tmp_path, KEY)
