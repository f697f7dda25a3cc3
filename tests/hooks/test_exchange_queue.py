"""What is said in agents' sessions is queued: bounded, without secrets, once, and on the disk before it is told."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from mnemond.api.requests import Identities
from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings
from mnemond.errors import MnemonError
from mnemond.hooks.memory import ExchangeQueue
from mnemond.memory.exchanges import GAP, REQUEST, shortened, tidied
from mnemond.model.changes import LONGEST_PROMPT, LONGEST_REPLY, MAX_PENDING, MAX_SETTLED, QueuedExchange
from mnemond.model.outcomes import Queued
from mnemond.model.passages import Passage
from mnemond.store import exchanges
from mnemond.store.connection import Connection
from mnemond.store.exchanges import Backlog, PendingExchange
from mnemond.store.passages import load
from mnemond.store.schema import create
from tests.api.factories import NOW_US, Bench, bench
from tests.tables import each_row

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def turn(number: int = 1, **fields: object) -> QueuedExchange:
    named = {"host": "codex", "conversation_id": "c1", "project": "api", "prompt": f"question {number}",
             "reply": f"answer {number}", "at_us": NOW_US, "key": f"k{number}", **fields}  # fmt: skip
    return QueuedExchange(**named)  # type: ignore[arg-type]


class Desk:
    def __init__(self, on: Bench) -> None:
        self.on, self.told = on, list[str]()
        self.queue = ExchangeQueue(Identities(on.clock, on.ids), self.told.append)

    async def keep(self, exchange: QueuedExchange) -> Queued:
        return await self.queue.keep(await self.on.open_stores.open("default"), exchange)

    async def record(self) -> list[Passage]:
        """The passages that readers see, which are those of the file."""
        warm = await self.on.open_stores.open("default")
        stored = await warm.store.read(lambda it: [passage for passage, _ in load(it, None)])
        seen = [warm.store.passages.passage(row) for row in range(warm.store.passages.rows)]
        assert seen == stored
        return seen

    async def waiting(self) -> list[PendingExchange]:
        warm = await self.on.open_stores.open("default")
        return await warm.store.read(lambda it: exchanges.oldest(it, 10_000))


async def test_it_waits_with_everything_it_was_told_with(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        assert (await desk.keep(turn(kind="summary"))).kept
        (row,) = await desk.waiting()
        assert row.exchange == turn(kind="summary", key=row.exchange.key)
        assert (row.tries, row.written, row.facts) == (0, 0, None)
        assert desk.told == ["default"]


async def test_the_same_key_again_changes_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        await desk.keep(turn())
        again = await desk.keep(turn(prompt="something else"))
        assert not again.kept
        assert [row.exchange.prompt for row in await desk.waiting()] == ["question 1"]
        assert desk.told == ["default"]


async def test_without_a_key_what_is_said_tells_them_apart(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        said = [turn(1, key=""), turn(2, key=""), turn(1, key="", at_us=NOW_US + 5), turn(1, key="", host="gemini")]
        assert [(await desk.keep(each)).kept for each in said] == [True, True, False, True]


async def test_what_says_nothing_is_not_kept(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        assert not (await Desk(on).keep(turn(prompt=" \n", reply=""))).kept


async def test_without_extraction_it_is_kept_and_read_for_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, config=Config(extraction=ExtractionSettings(enabled=False))) as on:
        desk = Desk(on)
        assert (await desk.keep(turn())).kept
        assert not (await desk.keep(turn())).kept
        assert await desk.waiting() == []
        assert [(it.prompt, it.answer) for it in await desk.record()] == [("question 1", "answer 1")]


async def test_what_is_queued_is_on_record_as_it_was_said(tmp_path: Path) -> None:
    """Without secrets, and of code the first lines; the queue has all of it."""
    async with bench(tmp_path) as on:
        desk = Desk(on)
        code = "\n".join(["```py", *(f"line {number}" for number in range(40)), "```"])
        await desk.keep(turn(prompt=f"use {TOKEN}", reply=f"This did it:\n{code}\nDone."))
        await desk.keep(turn(2, kind="summary", prompt="", reply="We chose SQLite."))
        (row, _) = await desk.waiting()
        one, two = await desk.record()
        assert "line 39" in row.exchange.reply
        assert (one.prompt, one.kind, one.host, one.conversation_id, one.project) == (
            row.exchange.prompt, "exchange", "codex", "c1", "api"
        )  # fmt: skip
        assert one.answer.endswith("line 11\n… 28 more lines\n```\nDone.")
        assert (two.kind, two.text) == ("summary", "We chose SQLite.")
        assert not traces(tmp_path)


async def test_what_a_request_hands_over_is_no_session(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        assert (await desk.keep(turn(host=REQUEST))).kept
        assert len(await desk.waiting()) == 1
        assert await desk.record() == []


async def test_a_turn_of_which_the_key_is_no_longer_queued_is_still_known(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        await desk.keep(turn())
        warm = await on.open_stores.open("default")
        await warm.store.rewrite(lambda it: it.run("DELETE FROM exchanges"))
        assert not (await desk.keep(turn())).kept
        assert (await desk.waiting(), len(await desk.record())) == ([], 1)


async def test_a_secret_never_reaches_the_file(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        done = await desk.keep(
            turn(prompt=f"use {TOKEN}", reply=f"I see {TOKEN}", project=TOKEN, conversation_id=TOKEN)
        )
        assert done.redacted == ["github"]
        (row,) = await desk.waiting()
        assert "[REDACTED:" in row.exchange.prompt
        assert (row.exchange.project, row.exchange.conversation_id) == ("", "")
        assert not traces(tmp_path)


async def test_a_secret_where_a_long_text_is_cut_is_found_before(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        half = (LONGEST_PROMPT - len(GAP)) // 2
        for at in range(half - 50, half + 10, 4):
            await desk.keep(turn(at, prompt=("x " * (at // 2)) + TOKEN + (" y" * LONGEST_PROMPT)))
        assert all(TOKEN[:16] not in row.exchange.prompt for row in await desk.waiting())


async def test_a_long_text_loses_its_middle(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        await desk.keep(turn(prompt="begin " + "word " * 400_000 + "end", reply="x" * 900_000))
        (row,) = await desk.waiting()
        prompt, reply = row.exchange.prompt, row.exchange.reply
        assert prompt.startswith("begin word")
        assert prompt.endswith("word end")
        assert LONGEST_PROMPT - 20 < len(prompt) <= LONGEST_PROMPT
        assert LONGEST_REPLY - 20 < len(reply) <= LONGEST_REPLY


@each_row("text", ["", "short", "a b", "x" * 100])
def test_what_fits_stays_as_it_is(text: str) -> None:
    assert shortened(text, 100) == text


def test_the_oldest_goes_for_the_one_that_is_too_many() -> None:
    connection = empty()
    for number in range(MAX_PENDING + 3):
        assert exchanges.enqueue(connection, f"id{number}", turn(number), "2026-01-01T00:00:00.000000Z")
    waiting = exchanges.oldest(connection, 10_000)
    assert [row.id for row in waiting] == [f"id{number}" for number in range(3, MAX_PENDING + 3)]


def test_keys_of_what_is_done_are_kept_for_so_many() -> None:
    connection = empty()
    for number in range(MAX_SETTLED + 2):
        exchanges.enqueue(connection, f"id{number}", turn(number), "2026-01-01T00:00:00.000000Z")
        (row,) = exchanges.oldest(connection, 1)
        exchanges.finish(connection, row.number)
    assert exchanges.backlog(connection) == Backlog(0, 0)
    known = [number for number in range(MAX_SETTLED + 2) if exchanges.is_known(connection, f"k{number}")]
    assert known == list(range(1, MAX_SETTLED + 2))  # the append after the last one cut it


async def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        desk = Desk(on)
        warm = await on.open_stores.open("default")
        await warm.store.mark_damaged("it is wrong")
        with pytest.raises(MnemonError, match="it is wrong"):
            await desk.keep(turn())
        assert desk.told == []


def traces(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


def empty() -> Connection:
    connection = Connection(Path(":memory:"))
    create(connection)
    return connection


@each_row("before", [0, 1_000, 2_000, 3_500])
def test_a_private_key_across_a_cut_leaves_nothing(before: int) -> None:
    lines = "\n".join(hashlib.sha256(bytes([at])).hexdigest() for at in range(51))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"
    half = (LONGEST_PROMPT - len(GAP)) // 2
    around = ("word " * half)[: half - before], "word " * LONGEST_PROMPT
    for text in (f"{around[0]}\n{key}\n{around[1]}", f"{around[1]}\n{key}\n{around[0]}"):
        kept = tidied(turn(prompt=text)).exchange.prompt
        assert not [line for line in lines.split("\n") if line[8:40] in kept]
