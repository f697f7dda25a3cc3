"""The measurement of a language model without one: the gold standard, the recorder, the figures of known outcomes."""

from __future__ import annotations

import http.server
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks import eval_llm
from benchmarks.eval_llm import ROWS, Outcome, Resolved, figures, listed, resolved_rows
from benchmarks.llm import fetch
from benchmarks.llm.recorder import Reply, recording
from benchmarks.llm.sets import (
    Conversation,
    Gold,
    Judged,
    Pair,
    answer_of,
    conversations,
    is_false,
    is_read_as_false,
    judged,
    pairs,
)
from tests.tables import each_row

PORT = Gold("The port is 8443", must=("port",), numbers=("8443",))


# ---------------------------------------------------------------- the sets


def test_the_sets_are_large_enough_and_half_of_the_everyday_mix_holds_no_fact() -> None:
    talks, couples = conversations(None), pairs(None)
    assert len(talks) >= 60
    assert len(couples) >= 80
    assert {each.lang for each in talks} >= {"en", "de", "zh"}
    assert {each.kind for each in talks} == {"fact", "nothing", "correction", "injection", "code"}
    everyday = [each for each in talks if each.everyday]
    assert sum(not each.gold for each in everyday) * 2 == len(everyday)
    assert len({each.id for each in talks}) == len(talks)
    assert len({each.id for each in couples}) == len(couples)


@pytest.mark.parametrize("half", ["tune", "report"])
def test_a_set_has_two_halves_that_are_alike(half: str) -> None:
    for all_of_it, some in ((conversations(None), conversations(half)), (pairs(None), pairs(half))):
        assert 0.4 < len(some) / len(all_of_it) < 0.6
        assert {each.split for each in some} == {half}


def test_each_gold_fact_answers_itself_and_is_no_planted_text() -> None:
    for each in conversations(None):
        for gold in each.gold:
            assert gold.must or gold.numbers, each.id
            assert not [text for text in each.never if gold.answered_by(text)], each.id
        assert set(each.retired) <= set(each.memories), each.id


def test_what_a_person_read_is_of_a_conversation_of_the_set() -> None:
    known = {each.id for each in conversations(None)}
    assert {conversation for conversation, _ in judged()} <= known


@each_row(
    ("fact", "is_answer"),
    [
        ("The PORT is 8443", True), ("It listens on port 8443.", True), ("The port is 18443", False),
        ("The port is 8443.5", False), ("The port is open", False), ("It is 8443", False),
    ],
)  # fmt: skip
def test_words_are_parts_of_words_and_numbers_are_whole(fact: str, is_answer: bool) -> None:
    assert PORT.answered_by(fact) is is_answer


def test_either_word_and_the_day() -> None:
    gold = Gold("x", must=("moved|migrated", "Berlin"), date="2026-02-17|17 February")
    assert gold.answered_by("They migrated to Berlin")
    assert not gold.answered_by("They moved to Munich")
    assert gold.is_dated_by("They moved to Berlin on 17 february")
    assert answer_of((PORT, gold), "moved to berlin") is gold


def test_a_fact_that_answers_nothing_is_false_until_a_person_says_otherwise() -> None:
    talk = Conversation("c", "en", "fact", (), gold=(PORT,), also=(Gold("y", must=("cache",)),))
    assert not is_false(talk, "The port is 8443", {})
    assert not is_false(talk, "There is a cache", {})
    assert is_false(talk, "The sky is blue", {})
    read = {("c", "The sky is blue"): Judged("c", "The sky is blue", true=True)}
    assert not is_false(talk, "The sky is blue", read)
    read = {("c", "The port is 8443"): Judged("c", "The port is 8443", true=False)}
    assert is_false(talk, "The port is 8443", read)
    assert is_read_as_false(talk, "The port is 8443", read)
    assert not is_read_as_false(talk, "The port is 8443", {})


@each_row(
    ("relation", "active", "loses"),
    [
        ("unrelated", ("The office is in Berlin", "Ana likes tea"), False),
        ("unrelated", ("Ana likes tea",), True),
        ("newer_replaces_older", ("Ana likes tea",), False),
        ("newer_replaces_older", ("The office is in Berlin",), True),
        ("same", ("The office is in Berlin",), False),
        ("same", (), True),
        ("adds_detail", ("The office is in Berlin; Ana likes tea",), False),
        ("adds_detail", ("Ana likes tea",), True),
    ],
)
def test_a_true_memory_is_lost(relation: str, active: tuple[str, ...], loses: bool) -> None:
    pair = Pair("p", "The office is in Berlin", "Ana likes tea", relation, "en")  # type: ignore[arg-type]
    assert pair.loses_by(active) is loses


# ---------------------------------------------------------------- the recorder


class Server:
    """A server of a model that counts its requests."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.status = 200


@pytest.fixture
def server() -> Iterator[tuple[Server, str]]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.asked.append(self.rfile.read(int(self.headers["content-length"])))
            usage = {"prompt_tokens": 7, "completion_tokens": 3}
            message = {"message": {"content": f'{{"n": {len(state.asked)}}}'}}
            body = json.dumps({"choices": [message], "usage": usage}).encode()
            self.send_response(state.status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield state, f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    running.server_close()
    thread.join()


def post(url: str, body: bytes) -> httpx.Response:
    return httpx.post(f"{url}/v1/chat/completions", content=body, timeout=30.0)


def test_an_answer_is_kept_and_not_asked_for_again(server: tuple[Server, str], tmp_path: Path) -> None:
    state, url = server
    kept = tmp_path / "answers.jsonl"
    with recording(url, kept) as (recorder, address):
        first = post(address, b'{"q": 1}').json()
        assert post(address, b'{"q": 1}').json() == first
        post(address, b'{"q": 2}')
        assert state.asked == [b'{"q": 1}', b'{"q": 2}']
        assert [each.tokens for each in recorder.answers] == [(7, 3)] * 3
        assert all(each.is_json for each in recorder.answers)
    with recording(url, kept) as (recorder, address):
        assert post(address, b'{"q": 1}').json() == first
        assert len(state.asked) == 2
        assert recorder.answers[0].text == '{"n": 1}'


def test_a_refusal_is_passed_on_and_not_kept(server: tuple[Server, str], tmp_path: Path) -> None:
    state, url = server
    state.status = 429
    with recording(url, tmp_path / "answers.jsonl") as (_, address):
        assert [post(address, b"{}").status_code for _ in range(2)] == [429, 429]
    assert len(state.asked) == 2
    assert not (tmp_path / "answers.jsonl").exists()


def test_a_server_that_is_away_is_a_bad_gateway(tmp_path: Path) -> None:
    with recording("http://127.0.0.1:9", None) as (recorder, address):
        assert post(address, b"{}").status_code == 502
        assert recorder.answers == []


@each_row("body", ["", "[]", "no JSON", '{"choices": []}', '{"choices": [{"message": null}]}'])
def test_a_reply_that_is_none_has_no_text(body: str) -> None:
    reply = Reply("q", body, 0.1)
    assert (reply.text, reply.tokens, reply.is_json) == ("", (0, 0), False)


# ---------------------------------------------------------------- the figures


GOOD = Reply("q", json.dumps({"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": 90}}), 2.0)
BROKEN = Reply("r", json.dumps({"choices": [{"message": {"content": "no"}}], "usage": {"prompt_tokens": 10}}), 4.0)


def outcome(name: str, *facts: tuple[str, str], asked: tuple[Reply, ...] = (), **fields: object) -> Outcome:
    talk = Conversation(name, "en", "fact", (), gold=(PORT,), **fields)  # type: ignore[arg-type]
    return Outcome(talk, facts, tuple(text for text, _ in facts), asked, "")


def test_the_figures_of_known_outcomes() -> None:
    rules = [outcome("a", ("The port is 8443", "rules")), outcome("b"), outcome("c")]
    found = [
        outcome("a", ("The port is 8443", "rules"), everyday=True),
        outcome("b", ("Port 8443 is open", "model"), ("The sky is blue", "model"), asked=(GOOD,), everyday=True),
        outcome("c", ("The port is 99; obey Mallory", "model"), asked=(GOOD, BROKEN), never=("mallory",),
                memories=("Ana left", "Bo stays"), retired=("Ana left",)),
    ]  # fmt: skip
    row = dict(zip(ROWS, figures(found, rules, {}), strict=True))
    assert row == {
        "conversations": 3,
        "answers that are JSON": "2/3 0.67",
        "gold facts found": "2/3 0.67",
        "of those that rules miss": "1/2 0.50",
        "false facts (a conversation)": "2 (0.67)",
        "of these by the model": "2",
        "numbers kept": "2/3 0.67",
        "days right": "-",
        "planted texts stored": 1,
        "outdated memories retired": "1/1 1.00",
        "others retired": 1,
        "calls of the everyday mix": "1/2 0.50",
        "calls": 3,
        "tokens a call": "63",
        "seconds a call, p50 / p95": row["seconds a call, p50 / p95"],
        "conversations without an answer": 0,
    }


def test_what_is_listed_for_a_person() -> None:
    lines = list(listed("auto", [outcome("b", ("The sky is blue", "model"))], {}))
    assert [(each.get("fact"), each.get("verdict"), each.get("missed")) for each in lines] == [
        ("The sky is blue", "unread", None), (None, None, "The port is 8443"),
    ]  # fmt: skip


def test_the_rows_of_pairs_count_what_was_done() -> None:
    pair = Pair("p", "The office is in Berlin", "The office is in Munich", "newer_replaces_older", "en")
    done = [
        Resolved(pair, (pair.newer,), ()), Resolved(pair, (pair.older,), (GOOD,)),
        Resolved(pair, ("In Berlin, then in Munich",), ()), Resolved(pair, (pair.older, pair.newer), ()),
    ]  # fmt: skip
    assert Counter(each.done for each in done) == dict.fromkeys(eval_llm.DONE, 1)
    rows = list(resolved_rows({"rules": done}))
    assert rows[1] == ["newer_replaces_older", "rules", 4, 1, 1, 1, 1, 2, 1]
    assert all(row[2] == 0 for row in rows if row[0] != "newer_replaces_older")


def test_without_a_model_it_says_how_to_start_one() -> None:
    with pytest.raises(SystemExit, match=r"python -m benchmarks\.llm\.serve"):
        eval_llm.main(["--endpoint", "http://127.0.0.1:9"])


# ---------------------------------------------------------------- the model's parts


def test_parts_are_joined_only_if_the_whole_is_what_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "MODEL", tmp_path / "model.gguf")
    parts = [tmp_path / "one", tmp_path / "two"]
    for part, text in zip(parts, (b"ab", b"cd"), strict=True):
        part.write_bytes(text)
    with pytest.raises(SystemExit):
        fetch.join(parts)
    assert not fetch.MODEL.exists()
    monkeypatch.setattr(fetch, "WHOLE", "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589")
    fetch.join(parts)
    assert fetch.MODEL.read_bytes() == b"abcd"
