"""Questions to a server that answers badly, late or not at all: every reason is given, and nothing is held up."""

from __future__ import annotations

import json
import socket

import pytest
import trio

from mnemond.config.writing import LlmSettings
from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError
from mnemond.http import NoAnswerError
from mnemond.llm.client import target_of
from mnemond.llm.replies import TruncatedError, UnreadableError
from mnemond.model_servers import CHAT_BYTES
from tests.llm.scripted import BAD, FACTS, NEVER, READABLE, Bench, Kept, Reply, Scripted, ollama_says, says, scripted
from tests.tables import each_row

SCHEMA = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "kind": {"enum": ["fact", "event", None]},
                    "n": {"type": ["integer", "null"]},
                },
            },
        }
    },
}
LOADING = Reply(b'{"error": {"message": "Loading model", "code": 503}}', 503)


async def asked(bench: Bench, prompt: str = "What is said?") -> object:
    return (await bench.reader.ask(prompt, SCHEMA, max_tokens=50)).value


async def refused(bench: Bench) -> MnemonError:
    with pytest.raises(MnemonError) as caught:
        await asked(bench)
    assert caught.value.kind is UNAVAILABLE
    return caught.value


def content(server: Scripted, number: int = -1) -> str:
    return str(server.requests[number]["messages"][0]["content"])


async def test_a_question_is_sent_with_its_schema() -> None:
    async with scripted([says(FACTS)]) as server:
        bench = Bench(server.url, environment={"KEY": "k1"}, api_key_env="KEY")
        answer = await bench.reader.ask("What is said?", SCHEMA, max_tokens=50)
    assert answer.value == json.loads(FACTS)
    assert (answer.model, answer.prompt_tokens, answer.completion_tokens) == ("tiny", 100, 20)
    (sent,) = server.requests
    assert (server.paths, server.keys) == (["/v1/chat/completions"], ["bearer k1"])
    assert (sent["model"], sent["max_tokens"], sent["temperature"], sent["stream"]) == ("tiny", 50, 0, False)
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    status = bench.reader.status()
    assert (status.sent, status.model, status.answered, status.failed) == (server.url, "tiny", 1, 0)
    assert (status.calls_today, status.tokens_today, status.waiting) == (1, 120, None)


async def test_ollama_is_asked_in_its_own_way() -> None:
    async with scripted([ollama_says(FACTS)]) as server:
        bench = Bench(server.url, provider="ollama", model=None)
        assert await asked(bench) == json.loads(FACTS)
    (sent,) = server.requests
    assert server.paths == ["/api/chat"]
    assert (sent["model"], sent["format"]) == ("qwen2.5:3b", SCHEMA)
    assert sent["options"]["num_predict"] == 50
    shape = '{"facts": [{"text": <string>, "kind": "fact" or "event" or null, "n": <integer or null>}, ...]}'
    assert content(server).endswith(shape)


@each_row("name", READABLE)
async def test_a_value_is_found_however_it_is_wrapped(name: str) -> None:
    async with scripted([says(READABLE[name])]) as server:
        value = await asked(Bench(server.url))
    assert isinstance(value, dict)
    assert len(value["facts"]) == 1
    assert "lives in" in value["facts"][0]["text"]


@each_row("name", BAD)
async def test_a_bad_answer_is_an_error_with_its_reason(name: str) -> None:
    async with scripted([BAD[name]]) as server:
        bench = Bench(server.url)
        error = await refused(bench)
    assert error.hint
    status = bench.reader.status()
    assert (status.answered, status.failed, status.waiting) == (0, 1, error.message)
    assert isinstance(error, TruncatedError) == (name == "truncated")
    readable = {"HTML with 200", "10 MB", "no choices", "server error"}
    assert isinstance(error, UnreadableError) == (name not in readable)
    if name == "10 MB":
        assert f"more than {CHAT_BYTES:,} bytes" in error.message


async def test_of_ollama_a_reply_that_is_cut_off_is_not_repaired() -> None:
    async with scripted([ollama_says(FACTS, reason="length")]) as server:
        assert isinstance(await refused(Bench(server.url, provider="ollama")), TruncatedError)


async def test_a_model_that_loads_is_waited_for() -> None:
    async with scripted([LOADING, LOADING, LOADING, says(FACTS)]) as server:
        bench = Bench(server.url)
        assert await asked(bench) == json.loads(FACTS)
    assert bench.waits.waited == [1.0, 2.0, 4.0]
    assert bench.reader.status().calls_today == 1


async def test_a_model_that_loads_for_too_long_is_left_alone_for_a_while() -> None:
    async with scripted([LOADING] * 4 + [says(FACTS)]) as server:
        bench = Bench(server.url, timeout_s=8.0)
        assert "is still loading its model (status 503)" in (await refused(bench)).message
        sent = len(server.requests)
        assert "is still loading" in (await refused(bench)).message
        assert len(server.requests) == sent
        bench.waits.now += 100
        assert await asked(bench) == json.loads(FACTS)


async def test_too_many_requests_are_repeated_when_the_server_says() -> None:
    busy = Reply(b"{}", 429, (("Retry-After", "7"),))
    async with scripted([busy, says(FACTS)]) as server:
        bench = Bench(server.url)
        assert await asked(bench) == json.loads(FACTS)
    assert bench.waits.waited == [7.0]


async def test_a_server_that_wants_to_be_left_alone_is_left_alone() -> None:
    busy = Reply(b"{}", 429, (("Retry-After", "600"),))
    async with scripted([busy, says(FACTS)]) as server:
        bench = Bench(server.url)
        assert "has had too many requests" in (await refused(bench)).message
        bench.waits.now = 599.0
        await refused(bench)
        assert (len(server.requests), bench.waits.waited) == (1, [])
        bench.waits.now = 601.0
        assert await asked(bench) == json.loads(FACTS)


async def test_a_date_as_time_to_wait_counts_as_none() -> None:
    busy = Reply(b"{}", 429, (("Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"),))
    async with scripted([busy, says(FACTS)]) as server:
        bench = Bench(server.url)
        await asked(bench)
    assert bench.waits.waited == [1.0]


async def test_a_server_that_never_answers_is_given_up_and_rested() -> None:
    async with scripted([Reply(NEVER)]) as server:
        bench = Bench(server.url, timeout_s=0.05)
        assert "did not answer within 0.1 s" in (await refused(bench)).message
        assert isinstance(await refused(bench), MnemonError)
        assert len(server.requests) == 1
        assert bench.reader.status().waiting


async def test_nothing_that_listens_is_an_error_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = await refused(Bench(f"http://127.0.0.1:{taken.getsockname()[1]}"))
    assert isinstance(error, NoAnswerError)
    assert "connection refused" in error.message


async def test_cancellation_passes() -> None:
    async with scripted([Reply(NEVER)]) as server:
        bench = Bench(server.url)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(asked, bench)
            while not server.requests:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert bench.reader.status().failed == 0


async def test_a_server_without_schemas_is_asked_once_more_and_that_is_remembered() -> None:
    unknown = Reply(b'{"error": {"message": "response_format json_schema is not supported"}}', 400)
    async with scripted([unknown, says(FACTS)]) as server:
        bench = Bench(server.url)
        assert await asked(bench) == json.loads(FACTS)
        assert await asked(bench) == json.loads(FACTS)
    shapes = [each["response_format"]["type"] for each in server.requests]
    assert shapes == ["json_schema", "json_object", "json_object"]
    assert '"facts": [' in content(server)
    assert "JSON" in content(server)
    assert '"properties"' not in content(server)
    assert bench.reader.status().calls_today == 3


async def test_another_bad_request_is_not_repeated() -> None:
    async with scripted([Reply(b'{"error": "no such model"}', 400)]) as server:
        assert "failed (status 400)" in (await refused(Bench(server.url))).message
    assert len(server.requests) == 1


async def test_a_missing_model_of_ollama_comes_with_the_command_that_fetches_it() -> None:
    async with scripted([Reply(b'{"error": "model not found"}', 404)]) as server:
        error = await refused(Bench(server.url, provider="ollama"))
    assert "has no model tiny" in error.message
    assert error.hint == "fetch it: ollama pull tiny"


async def test_secrets_are_cut_before_they_are_sent() -> None:
    secret = "sk-proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"
    async with scripted([says(FACTS)]) as server:
        await asked(Bench(server.url), f"user: my key is OPENAI_API_KEY={secret}")
    assert secret not in json.dumps(server.requests)


async def test_a_maximum_of_calls_stops_and_says_so_once() -> None:
    async with scripted([says(FACTS)]) as server:
        bench = Bench(server.url, max_calls_per_day=2)
        await asked(bench)
        await asked(bench)
        for _ in range(3):
            assert "llm.max_calls_per_day is reached (2)" in (await refused(bench)).message
        assert len(server.requests) == 2
        assert len(bench.warnings) == 1
        assert "llm.max_calls_per_day" in str(bench.reader.status().waiting)
        bench.day = "2026-11-25"
        await asked(bench)
        assert bench.reader.status().calls_today == 1


async def test_a_maximum_of_tokens_is_not_passed() -> None:
    async with scripted([says(FACTS, tokens=(300, 100))]) as server:
        bench = Bench(server.url, max_tokens_per_day=450)
        await asked(bench)
        assert "llm.max_tokens_per_day is reached (400 of 450 used" in (await refused(bench)).message
    assert bench.reader.status().tokens_today == 400


async def test_a_server_that_counts_no_tokens_is_counted_by_estimate() -> None:
    async with scripted([says(FACTS, tokens=(0, 0))]) as server:
        bench = Bench(server.url)
        await asked(bench)
    assert bench.reader.status().tokens_today == 55


async def test_counts_outlast_a_restart() -> None:
    kept = Kept()
    async with scripted([says(FACTS)]) as server:
        await asked(Bench(server.url, kept, max_calls_per_day=1))
        assert "is reached" in (await refused(Bench(server.url, kept, max_calls_per_day=1))).message


async def test_a_call_is_counted_before_it_is_sent() -> None:
    kept = Kept()
    async with scripted([BAD["server error"]]) as server:
        await refused(Bench(server.url, kept))
        assert Bench(server.url, kept).reader.status().calls_today == 1


async def test_a_damaged_count_begins_anew() -> None:
    kept = Kept()
    kept.content = b"{"
    assert Bench("http://localhost:1", kept).reader.status().calls_today == 0


async def test_without_room_to_count_nothing_is_sent() -> None:
    kept = Kept()
    kept.fails = True
    async with scripted([says(FACTS)]) as server:
        assert "cannot be counted" in (await refused(Bench(server.url, kept))).message
    assert server.requests == []


@each_row("endpoint", ["http://example.com", "http://10.0.0.1:8080", "ftp://h", "http://169.254.169.254"])
def test_conversations_leave_this_machine_encrypted_or_not_at_all(endpoint: str) -> None:
    with pytest.raises(MnemonError, match=r"llm\.endpoint") as caught:
        target_of(LlmSettings("openai", endpoint, "m"), {})
    assert caught.value.kind is CONFIG


def test_without_a_provider_nothing_is_sent_anywhere() -> None:
    assert target_of(LlmSettings(endpoint="https://host"), {}) is None
