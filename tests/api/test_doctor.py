"""verify: an open store and the memory it is served from, a store that nobody has open, and the job that does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import apsw
import msgspec
import pytest
import trio

from mnemond.api.admin import VerifyHandlers
from mnemond.api.types_daemon import CheckView, VerifyParams, VerifyResult
from mnemond.api.types_memories import GetParams, RememberParams
from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings, LifecycleSettings
from mnemond.errors import NOT_FOUND, STORAGE, MnemonError
from mnemond.jobs.job import DAY_S, Work
from mnemond.jobs.storage import FullVerify, Verify
from mnemond.model.changes import QueuedExchange
from mnemond.model.memory import format_us
from mnemond.store import exchanges, files
from mnemond.store.meta import read_jobs
from mnemond.store.store import Store
from mnemond.store.verify import Examiner
from mnemond.store.verify_checks import of_tier
from tests.api.factories import CALL, NOW_US, Bench, ToyEmbedder, bench
from tests.tables import each_row

TEXTS = ("We chose SQLite for the store", "Redis is gone since March", "The team meets on Mondays")


def handlers(on: Bench) -> VerifyHandlers:
    return VerifyHandlers(on.stores, on.open_stores, Examiner(), on.clock)


async def remember(on: Bench, *texts: str) -> None:
    for text in texts:
        await on.remembering.remember(CALL, RememberParams(content=text, no_diff=True))


def problems(result: VerifyResult) -> dict[str, str]:
    """What each check that found something says."""
    assert result.ok == (not any(each.problems for each in result.checks))
    return {each.name: each.detail for each in result.checks if not each.ok}


def path_in(root: Path) -> Path:
    return root / "data" / "default" / "mnemon.db"


def write_behind(root: Path, sql: str) -> None:
    db = apsw.Connection(str(path_in(root)))
    db.execute(sql)
    db.close()


def private(root: Path) -> None:
    """As the daemon's umask has it."""
    for path in (path_in(root).parent, *path_in(root).parent.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)


@each_row("full", [False, True])
async def test_a_store_in_use_is_sound(full: bool, tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        private(tmp_path)
        result = await handlers(on).verify(CALL, VerifyParams(full=full))
    assert (result.store, result.open, problems(result)) == ("default", True, {})
    assert [each.name for each in result.checks][:-5] == [check.name for check in of_tier("full" if full else "fast")]
    assert [(each.name, each.state) for each in result.checks[-5:]] == [
        ("storage", "ok"), ("embedder", "ok"), ("capacity", "ok"), ("reviews", "ok"), ("exchanges", "ok"),
    ]  # fmt: skip


async def test_rows_and_memory_are_of_one_moment_while_others_write(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        private(tmp_path)
        verifying, found = handlers(on), cast("list[VerifyResult]", [])

        async def look() -> None:
            for _ in range(4):
                found.append(await verifying.verify(CALL, VerifyParams(full=True)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            for number in range(40):
                await remember(on, f"fact number {number} about module {number * 7}")
    assert [problems(result) for result in found] == [{}, {}, {}, {}]


async def test_what_another_program_wrote_is_noticed_and_memory_read_anew(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        private(tmp_path)
        verifying = handlers(on)
        assert problems(await verifying.verify(CALL, VerifyParams())) == {}
        await remember(on, "what the daemon writes itself is nobody else's")
        assert problems(await verifying.verify(CALL, VerifyParams())) == {}
        write_behind(tmp_path, "UPDATE insights SET effective_importance = 0.123 WHERE number = 1")
        assert set(problems(await verifying.verify(CALL, VerifyParams()))) == {"sole_writer", "mirror_importance"}
        store = (await on.warm()).store
        assert store.snapshot.insight(0).effective_importance == 0.123
        assert problems(await verifying.verify(CALL, VerifyParams(full=True))) == {}
        assert store.degraded_reason is None


async def test_a_store_whose_file_is_damaged_is_not_written_until_it_was_found_sound(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        private(tmp_path)
        write_behind(tmp_path, "UPDATE insights SET content = content || '!' WHERE number = 1")
        verifying, store = handlers(on), (await on.warm()).store
        result = await verifying.verify(CALL, VerifyParams(full=True))
        assert {"content_hash", "storage"} <= set(problems(result))
        assert "texts are not the ones" in str(result.degraded_reason)
        with pytest.raises(MnemonError, match="texts are not the ones") as refused:
            await remember(on, "what comes after")
        assert (refused.value.kind, refused.value.outcome) == (STORAGE, "rejected")
        assert store.snapshot.live == 3, "what is known can be recalled"
        assert problems(await verifying.verify(CALL, VerifyParams())).keys() == {"storage"}, "it clears nothing"
        write_behind(tmp_path, "UPDATE insights SET content = rtrim(content, '!') WHERE number = 1")
        assert problems(await verifying.verify(CALL, VerifyParams(full=True))).keys() == {"sole_writer"}
        await remember(on, "what comes after")


def beside(home: Path) -> list[Path]:
    """The files of a store that nobody has open."""
    return sorted([path_in(home), path_in(home).with_name("high-water")])


async def test_a_store_that_nobody_has_open_stays_closed(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        private(tmp_path)
    before = sorted(path_in(tmp_path).parent.iterdir())
    async with bench(tmp_path, ToyEmbedder()) as on:
        result = await handlers(on).verify(CALL, VerifyParams(full=True))
        assert on.stores.warm("default") is None
    assert (result.open, problems(result)) == (False, {})
    skipped = {each.name for each in result.checks if each.state == "skipped"}
    assert skipped == {check.name for check in of_tier("full") if check.needs != "rows"}
    assert sorted(path_in(tmp_path).parent.iterdir()) == before == beside(tmp_path)


async def test_a_log_that_was_left_is_taken_in_first(tmp_path: Path) -> None:
    """By opening the store, which is the daemon's to do; without one it is said (tests/mnemonctl/test_doctor.py)."""
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        left = {name: path_in(tmp_path).with_name(name).read_bytes() for name in ("mnemon.db", "mnemon.db-wal")}
    for name, content in left.items():
        path_in(tmp_path).with_name(name).write_bytes(content)
    private(tmp_path)
    async with bench(tmp_path, ToyEmbedder()) as on:
        result = await handlers(on).verify(CALL, VerifyParams(full=True))
        assert (result.open, problems(result)) == (True, {})
        assert (await on.warm()).store.snapshot.live == len(TEXTS)


@each_row("full", [False, True])
async def test_a_store_whose_file_is_gone_is_said_to_be_gone_with_what_to_do(full: bool, tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        away = tmp_path / "away.db"
        path_in(tmp_path).rename(away)
        result = await handlers(on).verify(CALL, VerifyParams(full=full))
        assert result.degraded is True
        assert "mnemon.db was removed while the store was open" in problems(result)["storage"]
        (found,) = (each.problems[0] for each in result.checks if each.name == "storage")
        assert "`mnemonctl backup` saves all that is in memory" in found.next
        away.rename(path_in(tmp_path))
        private(tmp_path)
        assert problems(await handlers(on).verify(CALL, VerifyParams(full=full))) == {}


async def test_no_store_is_made_for_it(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        with pytest.raises(MnemonError) as refused:
            await handlers(on).verify(CALL, VerifyParams())
    assert refused.value.kind is NOT_FOUND
    assert not path_in(tmp_path).exists()


async def test_an_embedder_that_is_away_and_a_store_that_is_too_full(tmp_path: Path) -> None:
    def named(result: VerifyResult, name: str) -> CheckView:
        return next(each for each in result.checks if each.name == name)

    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
    async with bench(tmp_path, ToyEmbedder()) as on:
        on.toys.away = "the toy box is shut"
        await on.warm()
        result = await handlers(on).verify(CALL, VerifyParams())
    assert named(result, "embedder").problems[0].what == "the toy box is shut"
    assert named(result, "capacity").detail == "memories: 3 of at most 1,000"


async def test_vectors_of_another_model(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
    write_behind(tmp_path, "UPDATE insights SET embedding_model = 'another' WHERE number = 1")
    private(tmp_path)
    async with bench(tmp_path, ToyEmbedder(), config=small()) as on:
        await on.warm()
        result = await handlers(on).verify(CALL, VerifyParams())
    said = {each.name: (each.state, each.detail) for each in result.checks if each.state != "ok"}
    assert said == {
        "embedder": ("note", "toy, vectors of 2 of 3 memories; 1 vectors are of another model: mnemonctl embed --all"),
        "capacity": (
            "note", "memories: 3 of at most 2: the next prune lets some go (mnemonctl jobs run prune --dry-run)"
        ),
    }  # fmt: skip


def small() -> Config:
    """Room for two memories."""
    return msgspec.structs.replace(Config(), lifecycle=LifecycleSettings(max_insights=2))


async def test_what_is_no_database(tmp_path: Path) -> None:
    path_in(tmp_path).parent.mkdir(parents=True)
    path_in(tmp_path).write_bytes(b"nothing of SQLite's" * 100)
    async with bench(tmp_path, ToyEmbedder()) as on:
        with pytest.raises(MnemonError, match="cannot be read") as refused:
            await handlers(on).verify(CALL, VerifyParams())
    assert refused.value.kind is STORAGE


async def test_the_job_says_what_it_found_and_changes_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        private(tmp_path)
        store, job, now_us = (await on.warm()).store, Verify(Examiner()), on.clock.us

        def work() -> Work:
            identity = on.identities.own("default", "system:verify")
            return Work("verify", store, identity, now_us, now_us, trio.current_time(), trio.CapacityLimiter(1))

        before = await store.counts()
        assert (await job.run(work())).outcome == "nothing"
        write_behind(tmp_path, "DELETE FROM oplog WHERE id = 2")
        with pytest.raises(MnemonError, match="log: 1 signs that lines of the log are missing"):
            await job.run(work())
        assert await store.counts() == (before[0], before[1] - 1, before[2])


async def test_the_job_that_looks_at_everything(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        private(tmp_path)
        store, job, now_us = (await on.warm()).store, FullVerify(7 * DAY_S, Examiner()), on.clock.us

        def work(*, sure: bool = False) -> Work:
            identity = on.identities.own("default", "system:full_verify")
            begun, threads = trio.current_time(), trio.CapacityLimiter(1)
            return Work("full_verify", store, identity, now_us, now_us, begun, threads, sure=sure)

        done = await job.run(work())
        assert (done.outcome, done.detail) == ("nothing", f"{len(of_tier('full'))} checks")
        assert "full_verify" in await store.read(read_jobs)
        await store.mark_damaged("a page was damaged")
        await job.run(work())
        assert degraded(store) is None, "it is sound again"
        store._engine.health.note_loss(2, 5)
        with pytest.raises(MnemonError, match="high_water: the store went backwards"):
            await job.run(work())
        assert degraded(store) is not None
        await job.run(work(sure=True))
        assert degraded(store) is None, "somebody knows"


def degraded(store: Store) -> str | None:
    return store.degraded_reason


def test_every_name_is_told_apart() -> None:
    names = [check.name for check in (*of_tier("fast"), *of_tier("full"))]
    unique: Callable[[list[str]], int] = lambda found: len(set(found))  # noqa: E731
    assert unique(names) == len(of_tier("full")) + 1


async def test_a_store_that_can_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
    private(tmp_path)
    monkeypatch.setattr(files, "is_writable", lambda _: False)
    async with bench(tmp_path, ToyEmbedder()) as on:
        await on.warm()
        result = await handlers(on).verify(CALL, VerifyParams(full=True))
    assert set(problems(result)) == {"storage"}
    assert [each.name for each in result.checks if each.state == "skipped"] == ["sole_writer"]
    assert sorted(path_in(tmp_path).parent.iterdir()) == beside(tmp_path)


@each_row(
    ("sql", "enabled", "state", "detail"),
    [
        ("SELECT 1", True, "ok", "exchanges to be read: 1"),
        ("SELECT 1", False, "note", "extraction.enabled is false; exchanges that wait: 1"),
        ("DELETE FROM exchanges", False, "ok", "extraction.enabled is false; exchanges that wait: 0"),
        ("INSERT INTO meta(key, value) VALUES('exchanges_let_go', '7')", True, "note",
         "exchanges to be read: 1; let go of unread, ever: 7"),
        ("UPDATE exchanges SET state = 'failed', error = 'why'", False, "problem",
         "exchanges that could not be read: 1; that wait longer than a day: 0"),
        ("UPDATE exchanges SET queued_at = '2020-01-01T00:00:00.000000Z'", True, "problem",
         "exchanges that could not be read: 0; that wait longer than a day: 1"),
    ],
)  # fmt: skip
async def test_exchanges_that_are_stuck_are_named(
    sql: str, enabled: bool, state: str, detail: str, tmp_path: Path
) -> None:
    async with bench(tmp_path, ToyEmbedder(), config=Config(extraction=ExtractionSettings(enabled=enabled))) as on:
        await remember(on, *TEXTS)
        private(tmp_path)
        store = (await on.warm()).store
        said = QueuedExchange(host="codex", at_us=NOW_US, prompt="hello", key="1")
        await store.rewrite(lambda it: exchanges.enqueue(it, "id", said, format_us(NOW_US)))
        await store.rewrite(lambda it: it.run(sql) if not sql.startswith("SELECT") else 0)
        result = await handlers(on).verify(CALL, VerifyParams())
    (found,) = (each for each in result.checks if each.name == "exchanges")
    assert (found.state, found.ok, found.detail) == (state, state != "problem", detail)
    assert [problem.what for problem in found.problems] == (
        [detail + (" (why)" if "why" in sql else "")] if state == "problem" else []
    )


@each_row(
    ("assignment", "columns"),
    [("tags = 'K'", "tags"), ("metadata = CAST(x'7bff7d' AS TEXT), created_at = ''", "text that is no UTF-8")],
)
async def test_a_memory_that_cannot_be_read_is_kept_out_of_recall_and_shown(
    assignment: str, columns: str, tmp_path: Path
) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
    write_behind(tmp_path, f"UPDATE insights SET {assignment} WHERE content LIKE 'Redis%'")
    db = apsw.Connection(str(path_in(tmp_path)))
    memory_id = db.execute("SELECT id FROM insights WHERE content LIKE 'Redis%'").get
    db.close()
    private(tmp_path)
    async with bench(tmp_path, ToyEmbedder()) as on:
        warm = await on.warm()
        result = await handlers(on).verify(CALL, VerifyParams(full=True))
        assert set(problems(result)) == {"rows", "storage"}
        assert str(memory_id) in problems(result)["storage"]
        assert warm.store.snapshot.live == len(TEXTS) - 1
        shown = await on.reads.get(CALL, GetParams(id=str(memory_id)))
        assert (shown.insight.content, shown.insight.tags) == ("Redis is gone since March", ())
        assert shown.degraded is True
        assert f"its {columns} cannot be read" in str(shown.degraded_reason)
        with pytest.raises(MnemonError) as missing:
            await on.reads.get(CALL, GetParams(id="ffffffff"))
        assert missing.value.kind is NOT_FOUND


async def test_a_memory_of_which_nothing_can_be_made_is_named_at_least(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, *TEXTS)
        warm = await on.warm()
        write_behind(tmp_path, "PRAGMA ignore_check_constraints = 1; UPDATE insights SET status = '?' WHERE number = 1")
        await warm.store.reload("a test")
        (row,) = warm.store.unreadable
        with pytest.raises(MnemonError, match="the row of memory") as caught:
            await on.reads.get(CALL, GetParams(id=row.id))
        assert caught.value.kind is STORAGE
