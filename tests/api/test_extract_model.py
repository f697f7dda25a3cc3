"""extract and the job with a language model: waited for, then given up, and every reason told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trio.testing import MockClock

from mnemond.api.extract import ExtractHandlers
from mnemond.api.types_extract import ExtractContext, ExtractParams, ExtractResult
from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings, LlmSettings
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.extract.facts import Engine
from mnemond.llm.prompts import read_prompts
from mnemond.memory.exchanges import propose_queueing
from mnemond.memory.questions.asking import Model
from mnemond.memory.questions.conversations import engine_of
from mnemond.model.changes import QueuedExchange
from mnemond.model.memory import Scope
from mnemond.store import exchanges
from tests.api.factories import CALL, Bench, bench
from tests.hooks.prompt_replies import session
from tests.llm.scripted import BAD, NEVER, Reply, says, scripted
from tests.llm.scripted import Bench as ReaderBench
from tests.tables import each_row

DROPPED = "We tried Redis, dropped it because the team lacks experience."
SAID = f"{DROPPED} Never use MySQL."
FOUND = DROPPED.rstrip(".")
"""A fact of the model that copies a sentence is stored in the sentence's own words."""

COPY = "The team dropped Redis because it lacks experience"
ANSWER = says(json.dumps({"facts": [{"text": COPY, "kind": "fact", "importance": 6}]}))
AUTO = Config(extraction=ExtractionSettings(engine="auto"))


def engine_at(url: str, tmp_path: Path, **fields: Any) -> Callable[[Config], Engine]:
    reader = ReaderBench(url, **fields).reader
    model = Model(reader, lambda: read_prompts(tmp_path, "small"), "small")
    return lambda config: engine_of(config, model)


async def extract(over: Bench, engine: Callable[[Config], Engine], messages: object, **more: object) -> ExtractResult:
    handlers = ExtractHandlers(over.open_stores, over.identities, over.clock, over.projects, engine)
    result = await handlers.extract(CALL, msgspec.convert({"messages": messages, **more}, ExtractParams))
    assert isinstance(result, ExtractResult)
    return result


async def test_the_facts_of_both_are_stored_with_their_source(tmp_path: Path) -> None:
    async with scripted([ANSWER]) as server, bench(tmp_path, config=AUTO) as over:
        await extract(over, engine_at(server.url, tmp_path), "We never deploy on Fridays")
        result = await extract(over, engine_at(server.url, tmp_path), SAID)
        assert [(each.content, each.model) for each in result.facts] == [("Never use MySQL.", None), (FOUND, "tiny")]
        assert (result.engine, result.retried, result.unread, result.job_id) == ("auto", False, None, None)
        stored = (await over.warm()).store.snapshot
        row = stored.row_of(result.facts[1].memory_id or "")
        assert row is not None
        metadata = msgspec.json.decode(stored.insight(row).metadata, type=dict[str, Any])
        assert (metadata["model"], len(metadata["prompt"])) == ("tiny", 12)
        assert DROPPED in server.requests[-1]["messages"][0]["content"]


@each_row("name", BAD)
async def test_after_a_bad_answer_the_facts_of_the_rules_are_stored_and_a_job_reads_again(
    tmp_path: Path, name: str
) -> None:
    async with scripted([BAD[name]]) as server, bench(tmp_path, config=AUTO) as over:
        result = await extract(over, engine_at(server.url, tmp_path), SAID)
        assert [each.content for each in result.facts] == ["Never use MySQL."]
        assert result.unread
        waiting = await (await over.warm()).store.read(exchanges.backlog)
        assert waiting.pending == 1
        assert result.job_id is not None


async def test_a_model_that_never_answers_is_given_up_in_time(tmp_path: Path) -> None:
    config = msgspec.structs.replace(AUTO, llm=LlmSettings("ollama", timeout_s=0.05))
    async with scripted([Reply(NEVER)]) as server, bench(tmp_path, config=config) as over:
        result = await extract(over, engine_at(server.url, tmp_path, timeout_s=600.0), SAID)
        assert [each.content for each in result.facts] == ["Never use MySQL."]
        assert result.unread == "the language model gave no answer within 0.05 s"


async def test_a_model_that_was_given_up_is_left_alone_for_a_while(tmp_path: Path) -> None:
    config = msgspec.structs.replace(AUTO, llm=LlmSettings("ollama", timeout_s=0.05))
    async with scripted([Reply(NEVER)]) as server, bench(tmp_path, config=config) as over:
        engine = engine_at(server.url, tmp_path, timeout_s=0.05)
        for _ in range(3):
            result = await extract(over, engine, SAID)
            assert "did not answer within" in str(result.unread)
        assert len(server.requests) <= 1  # none if a busy machine sent the first one too late


async def test_nothing_is_queued_for_a_dry_run(tmp_path: Path) -> None:
    async with scripted([BAD["prose"]]) as server, bench(tmp_path, config=AUTO) as over:
        engine = engine_at(server.url, tmp_path)
        assert (await extract(over, engine, SAID, dry_run=True)).job_id is None
        assert (await (await over.warm()).store.read(exchanges.backlog)).pending == 0


async def test_what_is_queued_is_for_the_same_readers(tmp_path: Path) -> None:
    ids = {"user_id": "ana", "session_id": "s-1", "agent_id": "coder", "conversation_id": "chat-7"}
    messages = [
        {"role": "user", "content": "We never deploy on Fridays"}, {"role": "assistant", "content": "Fine."},
        {"role": "user", "content": SAID},
    ]  # fmt: skip
    async with scripted([BAD["prose"]]) as server, bench(tmp_path, config=AUTO) as over:
        engine = engine_at(server.url, tmp_path)
        result = await extract(over, engine, messages, auto_resolve_conflicts=False, **ids)
        (waiting,) = await (await over.warm()).store.read(lambda it: exchanges.oldest(it, 9))
        assert result.job_id == waiting.id
        said = waiting.exchange
        assert (said.scope, said.conversation_id) == (Scope("ana", "s-1", "coder"), "chat-7")
        assert (said.prompt, said.reply, said.resolves) == (SAID, "", False)
        await extract(over, engine, messages, whole=True, user_id="ana")
        _, second = await (await over.warm()).store.read(lambda it: exchanges.oldest(it, 9))
        assert (second.exchange.prompt, second.exchange.resolves) == (f"We never deploy on Fridays\n\n{SAID}", True)
        assert second.exchange.reply == "Fine."


async def test_a_summary_is_context_of_the_same_readers_alone(tmp_path: Path) -> None:
    """Two users may give their conversations the same id."""
    async with scripted([ANSWER]) as server, bench(tmp_path, config=AUTO) as over:
        store = (await over.warm()).store
        for user in ("ana", "bo", ""):
            answer = f"The cause was a stale lease of {user or 'anyone'}."
            said = QueuedExchange(
                host="codex", conversation_id="chat-1", at_us=over.clock.us, prompt="Why?", reply=answer,
                user_id=user, key=answer,
            )  # fmt: skip
            await store.write(propose_queueing(said, over.identities.own("default", "test"), AUTO.extraction))
        engine = engine_at(server.url, tmp_path)
        for readers, whose in (
            ({"user_id": "ana"}, "ana"), ({"user_id": "bo"}, "bo"), ({}, "anyone"),
            ({"user_id": "ana", "agent_id": "coder"}, None), ({"user_id": "eve"}, None),
        ):  # fmt: skip
            handlers = ExtractHandlers(over.open_stores, over.identities, over.clock, over.projects, engine)
            given = {"messages": SAID, "conversation_id": "chat-1", **readers}
            shown = await handlers.extract(CALL, msgspec.convert({**given, "show_context": True}, ExtractParams))
            assert isinstance(shown, ExtractContext)
            assert shown.summary == (None if whose is None else f"The cause was a stale lease of {whose}.")
            await handlers.extract(CALL, msgspec.convert({**given, "dry_run": True}, ExtractParams))
            prompt = server.requests[-1]["messages"][0]["content"]
            assert [user for user in ("ana", "bo", "anyone") if f"lease of {user}." in prompt] == (
                [whose] if whose else []
            )


async def test_with_the_engine_host_facts_come_from_the_caller(tmp_path: Path) -> None:
    config = Config(extraction=ExtractionSettings(engine="host"))
    async with bench(tmp_path, config=config) as over:
        engine: Callable[[Config], Engine] = lambda it: engine_of(it, None)  # noqa: E731
        with pytest.raises(MnemonError, match='engine is "host"') as caught:
            await extract(over, engine, SAID)
        assert (caught.value.kind, caught.value.outcome) == (UNAVAILABLE, "rejected")
        handlers = ExtractHandlers(over.open_stores, over.identities, over.clock, over.projects, engine)
        given = msgspec.convert({"facts": [{"content": "Ana works at Acme"}]}, ExtractParams)
        result = await handlers.extract(CALL, given)
        assert isinstance(result, ExtractResult)
        assert [each.action for each in result.facts] == ["CREATE"]


@pytest.mark.parametrize(("reply", "fields"), [(BAD["prose"], {}), (ANSWER, {"max_tokens_per_day": 1})])
async def test_a_job_does_not_wait_for_a_model_that_will_not_answer(
    tmp_path: Path, mock_clock: MockClock, reply: Reply, fields: dict[str, Any]
) -> None:
    async with scripted([reply]) as server, session(tmp_path, mock_clock) as it:
        engine = engine_at(server.url, tmp_path, **fields)
        it.read_by(engine(AUTO))
        await it.say(SAID)
        await it.run()
        assert await it.contents() == ["Never use MySQL."]
