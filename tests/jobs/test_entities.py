"""The job that notes names in memories written without, and asks about names that may be one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from trio.testing import MockClock

from mnemond.config.settings import Config, config_from
from mnemond.errors import MnemonError
from mnemond.jobs.entities import PORTION, EntityBackfill
from mnemond.memory.entities import NameDecision, propose_names
from mnemond.memory.names_alike import MAX_PROPOSED, MAX_WAITING, alike, proposals
from mnemond.model.changes import AddInsight
from mnemond.model.memory import Insight, format_us
from mnemond.model.relations import Roots
from mnemond.store import reviews
from mnemond.store.meta import ENTITIES_READ_KEY
from mnemond.store.relations import StoredEntity
from mnemond.text.entities import canonical_name
from tests.jobs.factories import DAY_S, NOW_US, Keeping, kept
from tests.store.factories import insight_id
from tests.tables import each_row

AT = format_us(NOW_US - 3_600_000_000)


async def say(over: Keeping, *texts: str) -> None:
    """Memories as a version without names wrote them."""
    first = over.snapshot.rows + 1
    await over.change(
        *(AddInsight(Insight(insight_id(first + n), AT, AT, content=it), None) for n, it in enumerate(texts))
    )


async def names(over: Keeping) -> list[tuple[str, str]]:
    sql = (
        "SELECT i.content, e.name FROM memory_entities AS m JOIN insights AS i ON i.id = m.memory_id"
        " JOIN entities AS e ON e.id = m.entity_id ORDER BY i.number, e.name"
    )
    return await over.store.read(lambda it: [tuple(row) for row in it.rows(sql)])


async def again(over: Keeping) -> None:
    """The next run reads every memory."""
    await over.store.rewrite(lambda it: it.run("DELETE FROM meta WHERE key = ?", (ENTITIES_READ_KEY,)))
    over.told.clear()
    await over.attendant.run("entity_backfill")


async def pairs(over: Keeping) -> list[tuple[str, str, str]]:
    def read(it: object) -> list[tuple[str, str, str]]:
        called = dict(it.rows("SELECT id, name FROM entities"))  # type: ignore[attr-defined]
        found = reviews.pending_names(it)  # type: ignore[arg-type]
        return [(called[each.asked.older], called[each.asked.newer], each.asked.reason) for each in found]

    return await over.store.read(read)


async def decide(over: Keeping, decision: str, name: str, other: str) -> None:
    identity = msgspec.structs.replace(over._identities.own("default", "user"), by_person=True)
    wanted = NameDecision(decision=decision, name=name, other=other)  # type: ignore[arg-type]
    await over.store.write(propose_names(wanted, identity))


TEXTS = ("Ana Silva joined the team", "The API runs on Kubernetes", "nothing to name in here")


async def test_names_of_older_memories_are_noted_once(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, EntityBackfill(lambda _: Config())) as over:
        await say(over, *TEXTS)
        assert await names(over) == []
        await over.attendant.run("entity_backfill")
        noted = [(TEXTS[0], "Ana Silva"), (TEXTS[1], "API"), (TEXTS[1], "Kubernetes")]
        assert await names(over) == noted
        assert (over.told[-1][1].outcome, over.told[-1][1].changed) == ("done", 2)  # type: ignore[union-attr]
        await again(over)
        assert await names(over) == noted
        assert over.told[-1][1].outcome == "nothing"
        assert over.defects == []


async def test_only_kinds_of_the_settings_are_noted(tmp_path: Path, mock_clock: MockClock) -> None:
    config = config_from({"commitment.entity_extraction.types": ["person"]})
    async with kept(tmp_path, mock_clock, EntityBackfill(lambda _: config)) as over:
        await say(over, *TEXTS)
        await over.attendant.run("entity_backfill")
        assert [name for _, name in await names(over)] == ["Ana Silva"]


async def test_a_run_goes_on_where_another_ended(tmp_path: Path, mock_clock: MockClock) -> None:
    """A portion and where it ends are one transaction."""
    job = EntityBackfill(lambda _: Config())
    async with kept(tmp_path, mock_clock, job) as over:
        await say(over, *(f"Ana Silva wrote part {number}" for number in range(PORTION + 3)))
        rewrite, calls = over.store.rewrite, 0

        async def once(work: object) -> object:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise RuntimeError("the daemon stops")
            return await rewrite(work)  # type: ignore[arg-type]

        over.store.rewrite = once  # type: ignore[method-assign, assignment]
        with pytest.raises(MnemonError):
            await over.attendant.run("entity_backfill")
        over.store.rewrite = rewrite  # type: ignore[method-assign]
        assert len(await names(over)) == PORTION
        await over.attendant.run("entity_backfill")
        assert len(await names(over)) == PORTION + 3
        over.defects.clear()


async def test_a_dry_run_writes_nothing(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, EntityBackfill(lambda _: Config())) as over:
        await say(over, *TEXTS)
        done = await over.attendant.run("entity_backfill", dry_run=True)
        assert (done.changed, done.detail) == (3, "memories would be read")
        assert await names(over) == []


async def test_a_damaged_memory_does_not_stop_the_others(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, EntityBackfill(lambda _: Config())) as over:
        await say(over, *TEXTS)
        await over.store.rewrite(
            lambda it: it.run("UPDATE insights SET content = CAST(x'ff' AS TEXT) WHERE id = ?", (insight_id(1),))
        )
        await over.attendant.run("entity_backfill")
        assert [name for _, name in await names(over)] == ["API", "Kubernetes"]


async def test_names_that_may_be_one_are_asked_about_and_never_joined(tmp_path: Path, mock_clock: MockClock) -> None:
    """What was decided not to be the same is not asked about again, whatever is merged and whenever names are read."""
    async with kept(tmp_path, mock_clock, EntityBackfill(lambda _: Config())) as over:
        await say(over, "Ana Silva joined the team", "Ana Silva knows Anita Costa")
        await over.change(AddInsight(Insight(insight_id(9), AT, AT, content="Ana is here", entities=("Ana",)), None))
        await over.attendant.run("entity_backfill")
        assert await pairs(over) == [("Ana Silva", "Ana", "one is a part of the other, and of no other name")]
        assert await over.store.read(lambda it: it.count("SELECT count(*) FROM entity_links")) == 0
        await again(over)
        assert len(await pairs(over)) == 1  # not asked twice
        await decide(over, "not-same", "Ana", "Ana Silva")
        assert await pairs(over) == []
        await over.store.rewrite(lambda it: it.run("DELETE FROM pending_reviews"))
        await again(over)
        await decide(over, "merge", "Anita Costa", "Ana")
        await again(over)
        await over.pass_time(2 * DAY_S)
        assert await pairs(over) == []


def named(*names_: str, kind: str = "concept") -> list[StoredEntity]:
    return [StoredEntity(it, it, canonical_name(it), kind) for it in names_]


@each_row(
    ("one", "other", "kinds"),
    [
        ("José García", "Jose Garcia", "person person"),
        ("Node.js", "NodeJS", "tool concept"),
        ("GitHub Actions", "github-actions", "tool tool"),
        ("Ana Silva", "Silva", "person person"),
        ("Ana Silva", "Ana", "person concept"),
        ("International Business Machines", "IBM", "organization organization"),
    ],
)
def test_pairs_that_are_asked_about(one: str, other: str, kinds: str) -> None:
    kind, other_kind = kinds.split()
    rows = [*named(one, kind=kind), *named(other, kind=other_kind), *named("Zebra")]
    assert [{it.longer, it.shorter} for it in alike(rows)] == [{one, other}]


def test_a_run_asks_about_few_pairs_and_not_while_many_wait() -> None:
    rows = [it for n in range(30) for it in named(f"thing-number-{n}", f"thing number {n}")]
    assert len(proposals(rows, (), (), Roots(()), 0)) == MAX_PROPOSED
    assert len(proposals(rows, (), (), Roots(()), MAX_WAITING - 3)) == 3
    assert proposals(rows, (), (), Roots(()), MAX_WAITING) == []


def test_names_of_one_thing_are_compared_and_asked_about_once() -> None:
    rows = [*named("Ana Silva", "Ana", "Silva", kind="person")]
    [asked] = proposals(rows, (), (), Roots([("Silva", "Ana")]), 0)
    assert (asked.older, asked.newer) == ("Ana Silva", "Ana")
    assert proposals(rows, (), (("Ana Silva", "Silva"),), Roots([("Silva", "Ana")]), 0) == []
