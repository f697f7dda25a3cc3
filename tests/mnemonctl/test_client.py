"""The library's client against daemons that behave badly, and what it has for each method."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import assert_type

import msgspec
import pytest

from mnemonctl import client as library
from mnemonctl import fast
from mnemonctl.client import Client
from mnemonctl.connection import given
from mnemond.api.registry import METHODS
from mnemond.api.types_extract import ExtractContext, ExtractResult
from mnemond.api.types_jobs import JobsRunResult
from mnemond.api.types_memories import QuestionParams
from mnemond.errors import DATA_DIR, INTERNAL, STOPPING, TOO_LARGE, UNREACHABLE, Kind, MnemonError
from mnemond.model import answers, outcomes
from mnemond.wire.jsonrpc import encode_error, encode_result
from tests.mnemonctl.daemons import fake_daemon
from tests.tables import each_row

NOT_FOR_PROGRAMS = {"cli.run", "subscribe", "unsubscribe"}
"""What only the command line sends, and what `Client.events` does on a connection of its own."""

GROUPS = {"store": "stores", "backup": "backups", "import": "imports"}
"""Words that stand for another attribute."""


def connected(directory: Path, timeout_s: float = 10) -> Client:
    return Client(data_dir=directory, timeout_s=timeout_s, start=False)


def answering(*bodies: bytes | None) -> Callable[[bytes], bytes | None]:
    """One answer a message, its id filled in where it says ID."""
    left = list(bodies)

    def behave(message: bytes) -> bytes | None:
        body = left.pop(0)
        number = str(json.loads(message)["id"]).encode()
        return None if body is None else body.replace(b"ID", number)

    return behave


@each_row("name", sorted(METHODS.keys() - NOT_FOR_PROGRAMS))
def test_a_client_has_every_method_of_the_daemon(name: str, tmp_path: Path) -> None:
    found: object = Client(data_dir=tmp_path)
    first, _, second = name.partition(".")
    for word in (GROUPS.get(first, first), second) if second else (first,):
        found = getattr(found, word)
    assert inspect.ismethod(found)
    assert (found.__name__, found.__doc__) == (name, METHODS[name].summary)


def test_only_what_was_chosen_is_sent() -> None:
    assert given(QuestionParams(query="x", touch=True)) == {"query": "x"}
    assert given(QuestionParams(query="x", touch=False)) == {"query": "x", "touch": False}


def test_a_write_names_itself_and_a_caller_may_name_it(tmp_path: Path) -> None:
    refusal = b'{"jsonrpc":"2.0","id":ID,"error":{"code":1016,"message":"leaving","data":{}}}\n'
    with fake_daemon(tmp_path, answering(refusal, refusal, refusal)) as daemon, connected(tmp_path) as client:
        for op_id in (None, None, "mine"):
            with pytest.raises(MnemonError) as refused:
                client.remember(content="x", op_id=op_id)
            assert refused.value.kind is STOPPING
            client.close()
    sent = [json.loads(message)["params"]["op_id"] for message in daemon.messages]
    assert len(set(sent)) == 3
    assert sent[2] == "mine"


def test_a_broken_connection_is_made_anew_once_and_the_write_sent_again(tmp_path: Path) -> None:
    pong = b'{"jsonrpc":"2.0","id":ID,"result":{"ok":true}}\n'
    forgotten = (
        b'{"jsonrpc":"2.0","id":ID,"result":{"id":"x","status":"deleted","message":"","edges_removed":0,'
        b'"op_id":"o","replayed":false}}\n'
    )
    with fake_daemon(tmp_path, answering(pong, forgotten)) as daemon, connected(tmp_path) as client:
        client.ping()  # the daemon hangs up after each answer
        assert client.forget(id="abcdef").status == "deleted"
    assert [json.loads(message)["method"] for message in daemon.messages] == ["ping", "forget"]


def test_a_fresh_connection_that_is_closed_at_once_is_an_error(tmp_path: Path) -> None:
    with fake_daemon(tmp_path, answering(b"", b"")) as daemon, connected(tmp_path) as client:
        with pytest.raises(MnemonError) as silent:
            client.remember(content="x")
        assert silent.value.kind is UNREACHABLE
        assert silent.value.outcome == "unknown"
        assert "--op-id" in str(silent.value.hint)
    assert len(daemon.messages) == 1


def test_a_read_without_an_answer_stored_nothing(tmp_path: Path) -> None:
    with fake_daemon(tmp_path, answering(b"", b"")), connected(tmp_path) as client:
        with pytest.raises(MnemonError, match="closed the connection") as silent:
            client.ping()
        assert (silent.value.outcome, str(silent.value.hint)[:13]) == (None, "It only reads")


def test_what_cannot_be_repeated_is_not_sent_twice(tmp_path: Path) -> None:
    pong = b'{"jsonrpc":"2.0","id":ID,"result":{"ok":true}}\n'
    with fake_daemon(tmp_path, answering(pong, b"")) as daemon, connected(tmp_path) as client:
        client.ping()
        with pytest.raises(MnemonError) as silent:
            client.stores.create(name="x")
        assert silent.value.outcome == "unknown"
    assert len(daemon.messages) <= 2


def test_silence_ends_with_the_timeout_and_a_late_answer_is_nobodys(tmp_path: Path) -> None:
    with fake_daemon(tmp_path, answering(None)), connected(tmp_path, timeout_s=0.05) as client:
        with pytest.raises(MnemonError, match="did not answer within"):
            client.ping()
        assert client._connection._socket is None


@each_row(
    "reply",
    [
        b"not JSON\n",
        b'{"jsonrpc":"2.0","id":77,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":ID}\n',
        b'{"jsonrpc":"2.0","id":ID,"result":{"ok":"perhaps"}}\n',
        b'"text"\n',
    ],
)
def test_an_answer_of_another_form_is_an_error(reply: bytes, tmp_path: Path) -> None:
    with fake_daemon(tmp_path, answering(reply)), connected(tmp_path) as client, pytest.raises(MnemonError) as odd:
        client.ping()
    assert odd.value.kind is INTERNAL


def test_an_answer_without_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "MAX_REPLY", 1000)
    with fake_daemon(tmp_path, lambda _: b"x" * 5000), connected(tmp_path) as client, pytest.raises(MnemonError) as odd:
        client.ping()
    assert odd.value.kind is INTERNAL


def test_a_refusal_of_the_connection_itself_is_told(tmp_path: Path) -> None:
    busy = encode_error(msgspec.Raw(b"null"), MnemonError(STOPPING, "the daemon is leaving")) + b"\n"
    with (
        fake_daemon(tmp_path, lambda _: busy),
        connected(tmp_path) as client,
        pytest.raises(MnemonError, match="the daemon is leaving"),
    ):
        client.ping()


def test_a_call_that_is_too_long_is_not_sent(tmp_path: Path) -> None:
    with connected(tmp_path) as client, pytest.raises(MnemonError) as long:
        client.remember(content="x" * fast.MAX_MESSAGE)
    assert long.value.kind is TOO_LARGE
    assert long.value.outcome == "rejected"


def test_a_field_that_is_unknown_is_a_type_error(tmp_path: Path) -> None:
    with connected(tmp_path) as client, pytest.raises(TypeError):
        client.forget(idd="abcdef")  # type: ignore[call-arg]


def test_where_the_daemon_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("MNEMON_STORE", "notes")
    assert library._directory(None) == tmp_path / "elsewhere"
    assert Client().store == "notes"
    assert Client(store="work").store == "work"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert library._directory("~/here") == tmp_path / "here"
    monkeypatch.setenv("MNEMON_DATA_DIR", "relative")
    with pytest.raises(MnemonError) as unknown:
        Client()
    assert unknown.value.kind is DATA_DIR


def test_a_result_encoded_by_the_daemon_is_read(tmp_path: Path) -> None:
    answer = encode_result(msgspec.Raw(b"ID"), {"ok": True, "new": 1}) + b"\n"
    with fake_daemon(tmp_path, answering(answer)), connected(tmp_path) as client:
        assert client.ping().ok


PONG = b'{"jsonrpc":"2.0","id":ID,"result":{"ok":true}}\n'
SUBSCRIBED = b'{"jsonrpc":"2.0","id":ID,"result":{"subscription":"s1","seq":7}}\n'


def subscribing(*after_the_ping: bytes) -> Callable[[bytes], bytes | None]:
    """A daemon that answers a ping and then, on the next connection, sends all of this."""
    return answering(PONG, b"".join(after_the_ping))


def test_events_are_read_and_gaps_told(tmp_path: Path) -> None:
    event = b'{"method":"event","params":{"subscription":"s1","seq":%d,"topic":"job","data":{"n":1}}}\n'
    gap = b'{"method":"event.dropped","params":{"subscription":"s1","from":8,"to":11}}\n'
    behave = subscribing(SUBSCRIBED, gap, event % 12, event % 13)
    with fake_daemon(tmp_path, behave), connected(tmp_path) as client, client.events() as events:
        assert events.seq == 7
        assert [type(each).__name__ for each in events] == ["Dropped", "Event", "Event"]
        assert events.seq == 13


@each_row(
    "line",
    [
        b"no JSON\n",
        b'{"method":"event","params":{"seq":"soon"}}\n',
        b'{"method":"else","params":{}}\n',
        encode_error(msgspec.Raw(b"null"), MnemonError(INTERNAL, "make way")) + b"\n",
    ],
)
def test_what_is_no_event_is_an_error(line: bytes, tmp_path: Path) -> None:
    with (
        fake_daemon(tmp_path, subscribing(SUBSCRIBED, line)),
        connected(tmp_path) as client,
        client.events() as events,
        pytest.raises(MnemonError),
    ):
        list(events)


def test_an_endless_line_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "MAX_REPLY", 1000)
    with fake_daemon(tmp_path, subscribing(b"x" * 5000)), connected(tmp_path) as client, pytest.raises(MnemonError):
        client.events()


@each_row(("answer", "kind"), [(b"", UNREACHABLE), (b'{"result":7}\n', INTERNAL)])
def test_a_subscription_that_is_not_answered_is_an_error(answer: bytes, kind: Kind, tmp_path: Path) -> None:
    with fake_daemon(tmp_path, subscribing(answer)), connected(tmp_path) as client, pytest.raises(MnemonError) as odd:
        client.events()
    assert odd.value.kind is kind


def test_a_subscription_waits_no_longer_than_other_calls(tmp_path: Path) -> None:
    def behave(message: bytes) -> bytes | None:
        return PONG.replace(b"ID", b"1") if b"ping" in message else None

    with (
        fake_daemon(tmp_path, behave),
        connected(tmp_path, timeout_s=0.5) as client,
        pytest.raises(MnemonError, match="did not answer within"),
    ):
        client.events()


def results_have_types(client: Client) -> None:
    """Not run: mypy checks it."""
    assert_type(client.remember(content="x"), outcomes.RememberResult)
    assert_type(client.recall(query="x"), answers.RecallResult)
    assert_type(client.search(query="x"), answers.RecallResult)
    assert_type(client.list(limit=3), answers.ListResult | answers.RetiredResult)
    assert_type(client.extract(messages="x"), ExtractResult | ExtractContext)
    assert_type(client.jobs.run(name="prune"), JobsRunResult)
    client.remember(contents="x")  # type: ignore[call-arg]
    client.link(source_id="x", target_id="y", type="related")  # type: ignore[arg-type]
