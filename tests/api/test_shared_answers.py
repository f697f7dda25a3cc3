"""Two daemons that share a store give the same answers, whichever of them did what: everything that a daemon has in
memory follows the lines of others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from benchmarks.pg_server import PgServer
from mnemond.api import requests
from mnemond.api.uses import GATHER_S
from mnemond.clock import SystemClock
from mnemond.config.hosts import Moment
from mnemond.errors import INVALID_PARAMS, UNAVAILABLE, MnemonError
from mnemond.jobs import scheduler
from mnemond.store.connection import Connection
from mnemond.store.imports import Waiting
from mnemond.store.operation_log import FACTS, TABLES, columns_of
from mnemond.store.store import Store
from tests.api.embedders import Words, alike, until
from tests.api.factories import CALL, ToySupply
from tests.api.shared_desks import (
    TEAM,
    VARIABLE,
    WITHIN_S,
    SharedDesk,
    assert_answers_alike,
    caught_up,
    comparable,
    daemon_of,
)
from tests.hooks.test_exchange_queue import turn
from tests.hooks.test_rules import PUSH, before
from tests.store.pg_server import running


@pytest.fixture(scope="module")
def server() -> Iterator[PgServer]:
    with running("-c", "fsync=off") as server:
        yield server


@pytest.fixture(autouse=True)
def surroundings(server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The variable of the store, a terminal, and jobs that run on request only."""
    monkeypatch.setenv(VARIABLE, server.dsn)
    monkeypatch.setattr(scheduler, "IDLE_S", 3_600.0)
    monkeypatch.setattr(scheduler, "PATIENCE_S", 3_600.0)
    monkeypatch.setattr(requests, "PROCESSES", tmp_path / "proc")
    made = tmp_path / "proc" / str(CALL.peer_pid)
    (made / "fd").mkdir(parents=True)
    (made / "fd" / "1").symlink_to("/dev/pts/0")
    (made / "environ").write_bytes(b"HOME=/home/ada")
    before = os.umask(0o077)  # as a daemon's
    yield
    os.umask(before)
    server.query("DELETE FROM mnemond.heads")


def questions(ids: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Readings of everything that a store has."""
    about = [("get", {"id": each}) for each in ids]
    about += [("history", {"id": each}) for each in ids]
    about += [("related", {"id": each}) for each in ids[:2]]
    return [
        *about,
        ("list", {}),
        ("list", {"retired": True}),
        ("recall", {"query": "when does the release train leave", "touch": False, "limit": 2}),
        ("recall", {"query": "where does Ana work", "touch": False, "limit": 1}),
        ("recall", {"query": "Annie", "touch": False, "limit": 1}),
        ("context", {"query": "release train", "touch": False, "limit": 2}),
        ("search", {"query": "release"}),
        ("diff", {"content": "The release train leaves on Wednesdays at nine"}),
        ("reviews", {}),
        ("core.show", {}),
        ("core.history", {}),
        ("relations.list", {"of": "Ana Berg", "history": True}),
        ("timeline", {"name": "Ana Berg"}),
        ("entity.list", {}),
        ("entity.show", {"name": "Ana Berg"}),
        ("rules.list", {}),
        ("cues.missing", {}),
        ("gc", {}),
    ]


async def brief(over: SharedDesk) -> str:
    """The text that a session begins with."""
    return comparable(await over.at(Moment.SESSION_START))


KEPT = ("pending_reviews", "held_texts", "imports", "core_summaries", "rules_off")


def in_memory(store: Store, name: str) -> object:
    """A value that a daemon keeps of a store for readers."""
    found = getattr(store, name)
    return vars(found) if isinstance(found, Waiting) else found


async def spoken(over: SharedDesk) -> None:
    """An exchange waits to be read."""
    said = turn(prompt="The gateway was moved to Frankfurt last week", at_us=SystemClock().now_us())
    assert (await over.daemon.exchanges.keep(await over.daemon.open_stores.open(TEAM), said)).kept


async def rows_of(over: SharedDesk) -> dict[str, list[Any]]:
    """The rows that the log has, by kind, with all that is in it of them."""

    def read(connection: Connection) -> dict[str, list[Any]]:
        found = {}
        for table in TABLES:
            columns = ", ".join(each for each in columns_of(connection, table) if each not in table.derived)
            rows = connection.rows(f"SELECT {columns} FROM {table.table} ORDER BY {', '.join(table.key)}")
            found[table.kind] = [row for row in rows if table.kind != "fact" or row[0] in FACTS]
        return found

    return await over.store.read(read)


@pytest.mark.check_all
async def test_every_operation_of_one_is_seen_in_the_other(tmp_path: Path) -> None:
    async with daemon_of(tmp_path / "a") as a, daemon_of(tmp_path / "b") as b:
        ids: list[str] = []
        filled = set[str]()

        async def told(content: str, **fields: Any) -> str:
            found = await a.team("remember", content=content, **fields)
            ids.append(str(found.id))
            return ids[-1]

        async def alike(what: str) -> None:
            """At once, or once uses that are counted in the background are written."""
            for last in (False, False, True):
                await caught_up(a, b)
                try:
                    for name in KEPT:
                        assert in_memory(b.store, name) == in_memory(a.store, name), name
                    there, here = await rows_of(b), await rows_of(a)
                    assert there == here
                    filled.update(each for each, rows in here.items() if rows)
                    await assert_answers_alike((a, b), questions([each for each in ids if each not in gone]))
                except AssertionError as error:
                    if last:
                        raise AssertionError(what) from error
                    await trio.sleep(2 * GATHER_S)
                else:
                    return

        gone: set[str] = set()
        await told("Ana Berg works at Heron Labs in Bern", entities=["Ana Berg"], cues=["who works at Heron?"])
        await told("The release train leaves on Tuesdays at nine", tags=["release"], importance=4)
        await alike("remember")
        await told("The release train leaves on Thursdays at nine", no_diff=False)
        await told("The release train leaves on Tuesdays, at nine o'clock", no_diff=True)
        third = await told("The staging cluster is called heron and has nine nodes", no_diff=True)
        await alike("more")
        await a.team("update", id=third, content="The staging cluster is called egret and has nine nodes")
        await alike("update")
        fourth = await told("The staging cluster moved to Basel", no_diff=True)
        await a.team("supersede", old_id=third, new_id=fourth)
        await alike("supersede")
        await a.team("undo")
        await alike("undo")
        await a.team("link", source_id=third, target_id=fourth, type="causal")
        await alike("link")
        await a.team("unlink", source_id=third, target_id=fourth, type="causal")
        await alike("unlink")
        await a.team("pin", id=third)
        await a.team("feedback", id=third, verdict="misled")
        await alike("pin and feedback")
        await a.team("merge", id=ids[1], other_id=ids[3])
        await alike("merge")
        for place in ("Berlin", "Munich"):
            await told(f"The office is in {place}")
        assert a.store.pending_reviews == 1
        await told("Docker build failed with OOM on CI, fixed by raising the memory limit")
        await alike("review and queries")
        await spoken(a)
        await alike("exchange")
        await a.team("forget", id=fourth)
        await alike("forget")
        await a.team("restore", id=fourth)
        await alike("restore")
        await a.team("entity.alias", name="Ana Berg", other="Annie")
        await alike("alias")
        await a.team("relations.add", source="Ana Berg", type="works_at", target="Egret AG")
        await alike("relation")
        await alike("relations read")
        await a.team("relations.close", source="Ana Berg", type="works_at", target="Egret AG")
        await alike("relation closed")
        await a.person("core.set", text="Ana keeps the release train running")
        await alike("core")
        rule = await told("Nobody pushes to main before review", when=["Bash:git push*"], no_diff=True)
        await a.person("rules.set", id=rule, enforce="deny")
        await alike("rule")
        assert await before(a, PUSH) == await before(b, PUSH) != ""
        await a.person("rules.set", state="off")
        await alike("rules off")
        assert await before(a, PUSH, session="s2") == await before(b, PUSH, session="s2") == ""
        await b.person("rules.set", state="on", op_id="on-again")
        await alike("rules on")
        assert await before(a, PUSH, session="s3") == await before(b, PUSH, session="s3") != ""
        await a.team(
            "extract",
            messages=[{"role": "user", "content": "I moved to Lugano last year and I love hiking."}],
            conversation_id="c1",
        )
        await alike("extract")
        await a.team("extract", facts=[{"content": "Please memorize: the payment account was moved to Zorblax Bank."}])
        assert a.store.held_texts == 1
        await alike("held text")
        await a.team("remember", store="default", content="Always write tests first", category="preference")
        await a.takes_in(await a.export("default"))
        await alike("import")
        assert await brief(b) == await brief(a)
        await a.team("consolidate", dry_run=False)
        await alike("consolidate")
        await a.team("summarize", ids=ids[:3])
        await alike("summarize")
        for job in ("graph_metrics", "decay_refresh", "entity_backfill", "core_summary"):
            await a.team("jobs.run", name=job)
            if job not in ("graph_metrics", "decay_refresh"):
                await alike(job)
        purged = await told("The vault opens with marmalade", no_diff=True)
        await alike("before purge")
        await a.team("forget", id=purged, purge=True)
        gone.add(purged)
        await alike("purge")
        assert filled == {each.kind for each in TABLES if each.table != "passages"}  # a shared store keeps none
        for each in (a, b):
            found = await each.team("verify", full=True)
            assert not [problem for check in found.checks for problem in check.problems]
            for job in ("verify", "full_verify"):
                assert (await each.team("jobs.run", name=job)).outcome == "nothing"


async def test_a_shared_store_is_not_synced_through_files(tmp_path: Path) -> None:
    """Two daemons would be two devices with the same memories, each of which takes what the other changed, and it has
    already, for a conflict."""
    async with daemon_of(tmp_path / "a") as a:
        with pytest.raises(MnemonError, match='"team" is shared by several daemons') as caught:
            await a.team("sync.open", target="0" * 64, label="/home/ada/sync")
        assert (caught.value.kind, caught.value.outcome) == (INVALID_PARAMS, "rejected")
        assert (await a.team("sync.status")).device is None
        assert (await a.team("sync.open", store="default", target="0" * 64, label="/home/ada/sync")).device


async def test_who_sees_a_store_is_shown_and_changed(server: PgServer, tmp_path: Path) -> None:
    async with daemon_of(tmp_path / "a") as a:
        entry = {"name": TEAM, "active": True, "visibility": "team"}
        assert entry in msgspec.to_builtins((await a.team("store.list")).stores)
        assert (await a.team("status")).shared.visibility == "team"
        for who in ("private", "project"):
            done = await a.team("store.set", name=TEAM, visibility=who)
            assert (done.name, done.previous, done.visibility) == (TEAM, TEAM, who)
            assert server.query("SELECT visibility FROM mnemond.access") == [(who,)]
            assert (await a.team("status")).shared.visibility == who
            assert who in (await a.team("cli.run", argv=["store", "list"])).stdout
        await a.team("store.create", name="mine")
        with pytest.raises(MnemonError, match='"mine" is not shared') as caught:
            await a.team("store.set", name="mine", visibility="team")
        assert caught.value.kind is INVALID_PARAMS
        again = {"name": TEAM, "backend": "postgresql", "dsn_env": VARIABLE}
        assert not (await a.team("store.create", **again, visibility="project")).created
        with pytest.raises(MnemonError, match="is there already, with visibility project"):
            await a.team("store.create", **again, visibility="team")
    async with daemon_of(tmp_path / "b") as b:
        assert (await b.team("status")).shared.visibility == "project"


async def test_a_reading_may_require_what_was_written_on_another_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with daemon_of(tmp_path / "a") as a, daemon_of(tmp_path / "b") as b:
        b.daemon.followers.detach(TEAM)  # as if news were slow
        for method, params in (
            ("recall", {"query": "release train"}), ("get", {}), ("list", {}), ("list", {"retired": True}),
        ):  # fmt: skip
            written = await a.team("remember", content=f"The release train of {method} leaves at nine", no_diff=True)
            assert written.seq == a.seq > b.seq
            params |= {"id": written.id} if method == "get" else {}
            if params.get("retired"):
                written = await a.team("forget", id=written.id)
            elif method != "get":
                assert written.id not in await b.answer(method, **params)
            for _ in range(2):
                assert written.id in await b.answer(method, **params, min_seq=written.seq)
            with pytest.raises(MnemonError, match=r"at operation \d+.*, \d+ operations behind what") as caught:
                await b.team(method, **params, min_seq=written.seq + 100)  # jobs of the other daemon write as well
            assert caught.value.kind is UNAVAILABLE
        local = await a.team("remember", store="default", content="The vault is in Bern")
        assert local.seq is msgspec.UNSET
        with pytest.raises(MnemonError, match='min_seq is of shared stores; "default" is none') as caught:
            await a.team("list", store="default", min_seq=1)
        assert caught.value.kind is INVALID_PARAMS
        shared = b.store.shared
        assert shared is not None
        monkeypatch.setattr(shared._log, "_dsn", f"host={tmp_path} user=x")
        shared._log.close()
        with pytest.raises(MnemonError, match=r"1 operation behind what was required: .*cannot be reached"):
            await b.team("list", min_seq=b.seq + 1)
        assert (await b.team("list", min_seq=b.seq)).insights
        monkeypatch.setattr(requests, "SEEN_WITHIN_S", 0.0)
        with pytest.raises(MnemonError, match="1 operation behind what was required"):
            await b.team("list", min_seq=b.seq + 1)


FIRST, OTHER = Words("first"), Words("other", 4)


def vectors(over: SharedDesk) -> dict[str, bool]:
    """By text, True for a memory that has the vector that the store's embedder gives it."""
    snapshot, record = over.store.snapshot, over.store.embedder
    assert record is not None
    (embedder,) = [each for each in (FIRST, OTHER) if each.fingerprint == record.fingerprint == snapshot.made_by]
    rows = snapshot.alive().nonzero()[0].tolist()
    texts = {row: snapshot.insight(row).content for row in rows}
    return {text: alike(snapshot.stored_vector(row), embedder.vector(text)) for row, text in texts.items()}


async def test_a_switch_of_one_daemon_reaches_the_others(tmp_path: Path) -> None:
    """The second daemon has both embedders, the third one only the first."""
    both, one = ToySupply(FIRST, OTHER), ToySupply(FIRST)
    async with (
        daemon_of(tmp_path / "a", both) as a, daemon_of(tmp_path / "b", ToySupply(FIRST, OTHER)) as b,
        daemon_of(tmp_path / "c", one) as c,
    ):  # fmt: skip
        await a.team("remember", content="The release train leaves on Tuesdays", no_diff=True)
        for name, has in (("other", False), ("first", True)):
            await a.team("embed.switch", provider="builtin", model=name)
            for over in (a, b, c):
                await until(partial(is_switched, over, name))
            await b.team("remember", content=f"The cluster is {name} heron", no_diff=True)
            await c.team("remember", content=f"The vault is in {name} Bern", no_diff=True)
            await until(lambda: {len(vectors(it)) for it in (a, b, c)} == {len(vectors(a))})
            await until(lambda: all(all(vectors(it).values()) for it in (a, b, c)))
            found = await c.team("recall", query="cluster", touch=False)
            assert found.results
            assert (found.degraded_reason == msgspec.UNSET) is has
            assert embedder_of(b) == name
            assert embedder_of(c) == (name if has else None)
            with trio.fail_after(WITHIN_S):
                while (await b.team("embed.status")).work is not None:  # noqa: ASYNC110
                    await trio.sleep(0.01)


def is_switched(over: SharedDesk, name: str) -> bool:
    record = over.store.embedder
    return record is not None and record.name == name and embedder_of(over) in (name, None)


def embedder_of(over: SharedDesk) -> str | None:
    warm = over.daemon.open_stores._warm.get(TEAM)
    assert warm is not None
    return None if warm.embedder is None else warm.embedder.name
