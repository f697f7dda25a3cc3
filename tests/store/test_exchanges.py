"""The queue of what was said, as rows: what is purged is purged there too, and a row goes only where it should."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemond.errors import NOT_FOUND, STORAGE, MnemonError
from mnemond.model.changes import FIRST_PAUSE_S, MAX_TRIES, QueuedExchange, QueueExchange, SettleFact
from mnemond.store import exchanges, verified_copy
from mnemond.store.connection import Connection, ConstraintError
from mnemond.store.exchanges import Backlog
from mnemond.store.schema import create
from tests.memory.revision_world import RevisionWorld
from tests.store.factories import START_US, contents, engine_at, remember
from tests.store.test_purge import traces

BOTH = '[{"content":"one"},{"content":"two"}]'
NOW = "2026-02-01T00:00:00.000000Z"


@pytest.fixture
def on() -> Iterator[Connection]:
    connection = Connection(Path(":memory:"))
    create(connection)
    yield connection
    connection.close()


def said(connection: Connection, number: int = 1, **fields: str) -> int:
    exchange = QueuedExchange(host="codex", at_us=START_US, key=str(number), **{"prompt": "hello", **fields})  # type: ignore[arg-type]
    assert exchanges.enqueue(connection, f"id-{number}", exchange, NOW)
    return exchanges.oldest(connection, 100)[-1].number


def test_it_waits_twice_as_long_each_time_and_is_set_aside(on: Connection) -> None:
    number, now_us = said(on), START_US
    for tries in range(1, MAX_TRIES + 1):
        assert exchanges.begin(on, number)
        exchanges.fail(on, number, "why", now_us)
        if tries == MAX_TRIES:
            break
        pause_us = FIRST_PAUSE_S * 1_000_000 << (tries - 1)
        assert exchanges.oldest(on, 9, 0, now_us + pause_us - 1) == []
        assert len(exchanges.oldest(on, 9, 0, now_us + pause_us)) == 1
        assert len(exchanges.oldest(on, 9)) == 1
        now_us += pause_us
    assert exchanges.backlog(on) == Backlog(0, 1)
    assert exchanges.last_error(on) == "why"
    assert not exchanges.begin(on, number)
    exchanges.fail(on, number, "again", now_us)
    assert exchanges.last_error(on) == "why"
    assert exchanges.revive(on) == 1
    assert exchanges.begin(on, number)


def test_a_clock_that_was_put_back_keeps_nothing_waiting(on: Connection) -> None:
    number = said(on)
    assert exchanges.begin(on, number)
    exchanges.fail(on, number, "why", START_US)
    assert len(exchanges.oldest(on, 9, 0, START_US - 86_400_000_000)) == 1


def test_a_row_that_is_done_stays_done(on: Connection) -> None:
    number = said(on)
    (row,) = exchanges.oldest(on, 1)
    exchanges.finish(on, number)
    assert not exchanges.plan(on, row, "[1]")
    assert not exchanges.advance(on, number, "[1]", None)
    exchanges.fail(on, number, "why", START_US)
    assert (exchanges.backlog(on), exchanges.last_error(on)) == (Backlog(0, 0), None)


def test_what_is_let_go_of_unread_is_counted(on: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "MAX_PENDING", 2)
    for number in range(1, 6):
        said(on, number)
    assert (exchanges.backlog(on), exchanges.count_dropped(on)) == (Backlog(2, 0), 3)


def test_how_long_they_wait(on: Connection) -> None:
    said(on)
    assert exchanges.count_queued_before(on, START_US - 365 * 86_400_000_000) == 0
    assert exchanges.count_queued_before(on, START_US + 365 * 86_400_000_000) == 1


def test_purged_text_is_left_nowhere_in_the_queue(tmp_path: Path) -> None:
    """Nor in pages of the file that a row once stood on."""
    world = RevisionWorld(tmp_path / "mnemon.db")
    one = world.new("Xyzzyplugh lives here")

    def fill(connection: Connection) -> None:
        done = said(connection, 1, prompt="Xyzzyplugh lives here", reply="Xyzzyplugh lives here, I see")
        exchanges.finish(connection, done)
        said(connection, 2, prompt="I heard: Xyzzyplugh lives here. Is that so?")
        said(connection, 3, prompt="unread")
        (*_, row) = exchanges.oldest(connection, 9)
        assert exchanges.plan(connection, row, '[{"content":"Xyzzyplugh lives here"},{"content":"other"}]')

    world.read(fill)
    assert traces(tmp_path) != []
    world.drop(one, purge=True)
    assert traces(tmp_path) == []
    left = world.read(lambda it: [(row.exchange.prompt, row.facts) for row in exchanges.oldest(it, 9)])
    assert left == [("I heard: . Is that so?", None), ("", '[{"content":"other"}]')]


def test_a_fact_that_does_not_wait_any_more_is_not_written(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    settle = msgspec.structs.replace(remember(1), queue=(SettleFact(1, BOTH, None),))

    def fill(connection: Connection) -> None:
        number = said(connection)
        assert exchanges.plan(connection, exchanges.oldest(connection, 1)[0], BOTH)
        assert exchanges.advance(connection, number, BOTH, '[{"content":"two"}]')

    engine.rewrite(fill)
    (refused,) = engine.commit([settle])
    assert isinstance(refused, MnemonError)
    assert (refused.kind, refused.outcome) == (NOT_FOUND, "rejected")
    assert contents(engine) == set()
    (kept,) = engine.commit([msgspec.structs.replace(settle, queue=(SettleFact(1, '[{"content":"two"}]', None),))])
    assert not isinstance(kept, MnemonError)
    assert contents(engine) == {"memory number 1"}
    assert engine.read(lambda it: it.rows("SELECT state, written, facts FROM exchanges")) == [("done", 2, None)]
    engine.close()


def test_two_that_come_together_with_one_key_are_one(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    one = QueuedExchange(host="codex", at_us=START_US, prompt="hello", key="k")
    queue = (QueueExchange("a", one), QueueExchange("b", one))
    engine.commit([msgspec.structs.replace(remember(1), queue=queue)])
    assert engine.read(lambda it: [row.id for row in exchanges.oldest(it, 9)]) == ["a"]
    engine.close()


def test_what_says_something_else_stays_in_a_purge(on: Connection) -> None:
    said(on)
    exchanges.plan(on, exchanges.oldest(on, 1)[0], BOTH)
    exchanges.purge(on, ["three"])
    assert exchanges.oldest(on, 1)[0].facts == BOTH


@pytest.mark.parametrize(
    ("purged", "told", "left"),
    [
        ("Rust", "I prefer Rust over Java for servers. I live in Berlin.", None),
        ("e", "I live here", None),
        ("Rust", "Rust. I live in Berlin.", " I live in Berlin."),
        ("Rust", "What is it?\n Rust \nI see", "What is it?\n\nI see"),
        ("the cat sat down", "I saw that the cat sat down, then", "I saw that , then"),
        ("the cat sat down", "the cat sat downwards; loathe cat sat down", None),
        ("我住在柏林", "因为我住在柏林的东边", "因为的东边"),
        ("(see page 4)", "x(see page 4)y", "xy"),
        ("东京", "我住在东京的东边", None),
        ("人工智能", "我喜欢人工智能和音乐", None),
        ("Elasticsearch", "We run Elasticsearch in production", None),
        ("자바스크립트", "저는 자바스크립트를 좋아해요", None),
        ("PIN is 4711", "- PIN is 4711, bye", "- , bye"),
        ("4711", "It is 4711, not 47110", "It is , not 47110"),
        ("나는 서울에 산다", "오늘 나는 서울에 산다고 했다", "오늘 고 했다"),
        ("ẞöhne leben hier", "Die ẞöhne leben hierorts", None),
    ],
)
def test_a_purge_takes_out_what_was_said_not_pieces_of_other_words(
    on: Connection, purged: str, told: str, left: str | None
) -> None:
    said(on, prompt=told, reply=told)
    exchanges.purge(on, [purged])
    (row,) = exchanges.oldest(on, 9)
    assert (row.exchange.prompt, row.exchange.reply) == ((told if left is None else left),) * 2


def test_a_short_text_takes_no_fact_that_only_names_it(on: Connection) -> None:
    said(on)
    facts = '[{"content":"Ana prefers Rust"},{"content":"Rust"}]'
    assert exchanges.plan(on, exchanges.oldest(on, 1)[0], facts)
    exchanges.purge(on, ["Rust"])
    assert exchanges.oldest(on, 9)[0].facts == '[{"content":"Ana prefers Rust"}]'


def test_what_is_settled_says_nothing_about_who_said_it(on: Connection) -> None:
    one, two = (said(on, number, conversation_id="a talk", project="/a/place") for number in (1, 2))
    exchanges.finish(on, one)
    assert exchanges.plan(on, exchanges.oldest(on, 1)[0], '[{"content":"one"}]')
    assert exchanges.advance(on, two, '[{"content":"one"}]', None)
    assert on.rows("SELECT conversation_id, project FROM exchanges") == [(None, None)] * 2


def test_no_pattern_of_what_was_purged_is_kept(on: Connection) -> None:
    """The module for regular expressions keeps the last of them, with what they look for."""
    said(on, prompt="Xyzzyplugh lives in Oslo. Fine.")
    said(on, 2)
    exchanges.plan(on, exchanges.oldest(on, 2)[1], '[{"content":"She says that Xyzzyplugh lives in Oslo"}]')
    exchanges.purge(on, ["Xyzzyplugh lives in Oslo"])
    assert [*on.rows("SELECT prompt, facts FROM exchanges")] == [(". Fine.", None), ("", "[]")]
    kept = [value for name, value in vars(re).items() if name.startswith("_cache")]
    assert kept
    assert "Xyzzyplugh" not in repr(kept)


def test_former_texts_of_a_purged_memory_go_as_well(tmp_path: Path) -> None:
    world = RevisionWorld(tmp_path / "mnemon.db")
    one = world.new("Xyzzyplugh lives here")
    world.read(lambda connection: said(connection, prompt="Xyzzyplugh lives here. Is that so?"))
    world.update(one, content="Nobody lives here")
    world.drop(one, purge=True)
    assert traces(tmp_path) == []
    (row,) = world.read(lambda it: exchanges.oldest(it, 9))
    assert exchanges.digest("Xyzzyplugh lives here") in exchanges.parse_digests(row.purged)


def test_a_memory_with_many_former_texts_is_one_memory(on: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "MAX_PURGED", 2)
    said(on, prompt="Ana moved to Lisbon. Counted so far: 7 of them. ANA  counts: 35!")
    exchanges.purge(on, [f"Counted so far: {number} of them" for number in range(40)])
    (row,) = exchanges.oldest(on, 9)
    assert row.exchange.prompt == "Ana moved to Lisbon. . ANA  counts: 35!"
    assert len(exchanges.parse_digests(row.purged)) == exchanges.MAX_FORMER
    assert exchanges.digest("counted so FAR:  3 of them.") in exchanges.parse_digests(row.purged)
    exchanges.purge(on, ["something else"])
    exchanges.purge(on, [])
    assert exchanges.backlog(on) == Backlog(1, 0)
    exchanges.purge(on, ["a third"])
    assert exchanges.backlog(on) == Backlog(0, 0)


def test_what_was_read_before_a_purge_is_read_again(on: Connection) -> None:
    said(on)
    (before,) = exchanges.oldest(on, 9)
    exchanges.purge(on, ["Ana lives in Oslo"])
    assert not exchanges.plan(on, before, BOTH)
    (after,) = exchanges.oldest(on, 9)
    assert after.purged.split() == [exchanges.digest("ana  lives in oslo.")]
    assert exchanges.plan(on, after, '[{"content":"Ana lives in Rome"},{"content":"kept"}]')
    exchanges.purge(on, ["ANA lives in Rome"])
    assert exchanges.oldest(on, 9)[0].facts == '[{"content":"kept"}]'


def test_what_waits_while_very_much_is_purged_goes_unread(on: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "MAX_PURGED", 2)
    said(on)
    for number in range(3):
        assert exchanges.backlog(on) == Backlog(1, 0)
        exchanges.purge(on, [f"purged {number}"])
    assert exchanges.backlog(on) == Backlog(0, 0)


def test_a_damaged_row_ends_a_purge_in_words(on: Connection) -> None:
    said(on)
    exchanges.plan(on, exchanges.oldest(on, 1)[0], "{")
    with pytest.raises(MnemonError, match="an exchange that waits") as caught:
        exchanges.purge(on, ["three"])
    assert caught.value.kind is STORAGE


def test_a_copy_of_the_store_has_the_queue(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.rewrite(said)
    verified_copy.make(tmp_path / "a.db", tmp_path / "copy.db")
    engine.close()
    again = engine_at(tmp_path / "copy.db")
    assert again.read(exchanges.backlog) == Backlog(1, 0)
    again.close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE exchanges SET state = 'lost'",
        "UPDATE exchanges SET state = 'done'",
        "UPDATE exchanges SET facts = '[]'",
        "UPDATE exchanges SET kind = 'letter'",
        "UPDATE exchanges SET tries = -1",
    ],
)
def test_a_row_is_one_of_three_kinds(on: Connection, sql: str) -> None:
    """What waits has its texts or its facts, never both, and what is done has neither."""
    said(on)
    with pytest.raises(ConstraintError):
        on.run(sql)
