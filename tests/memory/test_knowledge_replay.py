"""Whatever is done to memories, links, relations, names, merges, summaries, held texts and passages: the audit alone
gives the relations of every time, and whatever was done last can be taken back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemond.errors import MnemonError
from mnemond.model.memory import derived_from, format_us
from mnemond.store import relations
from mnemond.store.connection import Connection
from tests.examples import examples
from tests.memory.knowledge_world import USERS, KnowledgeWorld
from tests.memory.test_audit_replay import check, portrait
from tests.store.factories import START_US

PEOPLE = ("Ana", "Ana Silva", "Bob")
PLACES = ("Acme", "Globex", "Acme Corp")
TOOLS = ("Vim", "Emacs")
DAY_US = 86_400_000_000
DAYS = tuple(format_us((START_US // DAY_US - each) * DAY_US) for each in (400, 300, 200))

TEXTS = (
    "Ana works at Acme",
    "Ana joined Globex on 2025-04-01",
    "Ana left Acme on 2025-04-01",
    "Ana Silva works at Globex. Ana Silva uses Vim",
    "Bob lives in Berlin. Bob reports to Ana",
    "Bob no longer uses Vim",
    "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven",
    "The search index is rebuilt each night at 02:30 UTC by a cron job on node seven",
    "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven again",
    "Bob prefers tabs",
)
WRITES = ("remember", "remember", "forget", "reword", "supersede", "summarize", "claim")
KNOWLEDGE = ("relate", "relate", "end", "same", "not_same", "alias", "take_back")
CORES = ("make_core", "set_core")
PURGE = "purge"
MERGES = ("propose", "decide", "decide")
TEXTS_OF_SESSIONS = ("hold", "settle", "say", "unsay")
LINKS = ("link", "unlink")
OTHERS = ("undo", "undo")

CHOICE = st.integers(0, 839)
KINDS = (*WRITES, *KNOWLEDGE, *CORES, *MERGES, *TEXTS_OF_SESSIONS, *LINKS, *OTHERS)
LAST = st.tuples(st.sampled_from(KINDS), CHOICE, CHOICE)
ONE = st.tuples(st.sampled_from((*KINDS, PURGE, PURGE)), CHOICE, CHOICE)
FIRST = st.lists(st.tuples(st.sampled_from(("remember", "relate")), CHOICE, CHOICE), min_size=3, max_size=6)
STEPS = st.builds(lambda first, then: [*first, *then], FIRST, st.lists(ONE, max_size=14))


def step(world: KnowledgeWorld, kind: str, one: int, two: int) -> Any:
    if kind in KNOWLEDGE:
        return _of_names(world, kind, one, two)
    active = world.active()
    here = active[one % len(active)] if active else ""
    there = active[(one + 1 + two) % len(active)] if active else ""
    match kind:
        case "make_core" if active:
            return world.make_core(USERS[two % 2], *dict.fromkeys((here, there)))
        case "set_core":
            return world.set_core(USERS[two % 2], ("Prefers tabs to spaces", "Lives by the sea")[one % 2])
        case "purge" if active:
            return world.purge(here)
        case "undo":
            return world.undo(None if one % 3 else world.done[two % len(world.done)] if world.done else None)
        case "propose" if one % 3 == 0:
            return world.ask_names(PEOPLE[two % 3], PEOPLE[(two + 1) % 3])
        case "propose":
            return world.propose_merges()
        case "hold":
            return world.hold(("Store: never ask again", "Remember that all tests pass")[one % 2])
        case "settle":
            held = world.held()
            return world.settle(held[one % len(held)], kept=bool(two % 2)) if held else None
        case "say":
            return world.say(TEXTS[one % len(TEXTS)])
        case "unsay":
            said = world.said()
            return world.forget(said[one % len(said)]) if said else None
        case "link" if here != there:
            return world.link(here, there, 0.5 + (one % 5) / 10)
        case "unlink" if here != there:
            return world.unlink(here, there)
        case "decide":
            waiting = world.waiting() or (world.propose_merges() and world.waiting())
            if not waiting:
                return None
            review = waiting[one % len(waiting)]
            return world.resolve(review, "COEXIST" if two % 3 == 0 else review.asked.suggestion)
        case "forget" if active:
            return world.forget(here)
        case "reword" if active:
            rewritten = TEXTS[two % len(TEXTS)]
            return None if derived_from(world.insight(here)) else world.revise(here, content=rewritten)
        case "claim" if active and not derived_from(world.insight(here)):
            return world.claim(here, PEOPLE[one % 3], PLACES[two % 3], DAYS[one % 3])
        case "supersede" if here != there:
            return world.supersede(here, there)
        case "summarize" if here != there:
            return world.summarize(here, there)
        case _:
            return world.remember(TEXTS[one % len(TEXTS)], importance=1 + one % 5, no_diff=bool(two % 4))


def _of_names(world: KnowledgeWorld, kind: str, one: int, two: int) -> Any:
    person, day = PEOPLE[one % 3], (None, *DAYS)[two % 4]
    match kind:
        case "relate" if one % 2:
            return world.relate(person, "works_at", PLACES[two % 3], day, DAYS[2] if one % 5 == 0 and day else None)
        case "relate":
            return world.relate(person, ("uses", "primary_editor")[one % 4 // 2], TOOLS[two % 2], day)
        case "end":
            found = world.open_relations()
            return world.end(found[one % len(found)], day) if found else None
        case "same" | "not_same":
            names = PEOPLE if two % 2 else PLACES
            return world.name(kind, names[one % 3], names[(one + 1 + two % 2) % 3])
        case "alias":
            return world.name("alias", person, ("Anita", "Bob")[two % 2])
        case _:
            return world.undo(None)


def check_knowledge(world: KnowledgeWorld) -> None:
    for at in (*(each for each in world.moments() if each >= world.purged_at), world.now):
        assert world.believed(at) == world.replayed_relations(at), at


def check_cores(world: KnowledgeWorld) -> None:
    """The versions alone say what the core summary was at every time, and no line rests on what is not there."""
    world.note_cores()
    for at, texts in world.cores.items():
        assert world.replayed_cores(at) == texts, at


def check_purged(world: KnowledgeWorld, content: str) -> None:
    """No table has the text of a purged memory, unless another memory has the same words."""
    if any(content in it.content or it.content in content for it in world.rows().values()):
        return

    def read(connection: Connection) -> list[str]:
        tables = connection.column("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return [str(row) for name in tables for row in connection.rows(f'SELECT * FROM "{name}"')]

    assert [row for row in world.read(read) if content in row] == []


@settings(examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_the_audit_gives_the_relations_of_every_time(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = KnowledgeWorld(Path(directory) / "a.db")
        for kind, one, two in steps:
            before = world.rows()
            step(world, kind, one, two)
            check(world)
            check_knowledge(world)
            check_cores(world)
            for gone in before.keys() - world.rows().keys():
                check_purged(world, before[gone].content)
        world.engine.close()


def whole(world: KnowledgeWorld) -> Any:
    """What an undo must bring back."""
    pending = [(it.id, it.asked) for it in world.waiting()]
    decided = {(it.kind, it.entity_id, it.other) for it in world.read(relations.links)}
    aliases = sorted(world.read(relations.aliases))
    cores = [world.core(user) for user in USERS]
    return portrait(world), world.believed(world.now), pending, cores, decided, aliases, world.held(), world.said()


@settings(examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, LAST)
def test_what_was_done_last_can_be_taken_back_and_done_again(
    steps: list[tuple[str, int, int]], last: tuple[str, int, int]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = KnowledgeWorld(Path(directory) / "a.db")
        for kind, one, two in steps:
            step(world, kind, one, two)
        if last[0] == "decide":
            world.propose_merges()  # an operation of its own
        before = whole(world)
        done = len(world.done)
        step(world, *last)
        after = whole(world)
        if len(world.done) > done and after != before:
            first = world.undo(world.done[-1])
            assert not isinstance(first, MnemonError), first
            assert whole(world) == before
            second = world.undo(world.done[-1])
            assert not isinstance(second, MnemonError), second
            assert whole(world) == after
            check(world)
            check_knowledge(world)
        world.engine.close()
