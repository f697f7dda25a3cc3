"""After a purge no table has a name that only the purged memory had, whatever was decided about it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.api.requests import one_active
from mnemond.errors import MnemonError
from mnemond.memory.relations import named_entity, named_row
from mnemond.memory.revise import Forget, propose_forget
from mnemond.model.memory import Entity
from mnemond.model.outcomes import ForgetResult
from mnemond.store import relations, reviews
from mnemond.store.connection import Connection
from tests.examples import examples
from tests.memory.test_entities import EntityWorld, a_world

SECRET = "Zorblax"


@pytest.fixture
def world(tmp_path: Path) -> EntityWorld:
    return EntityWorld(tmp_path / "names.db")


def naming(world: EntityWorld, *names: str) -> str:
    """Write a memory that names these."""
    text = f"{' and '.join(names)} had lunch"
    return world.note(text, tuple(Entity(name, name.casefold(), "person") for name in names))


def everything(world: EntityWorld) -> str:
    """All that all tables hold, folded."""

    def read(it: Connection) -> str:
        tables = it.column("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return "\n".join(str(row) for name in tables for row in it.rows(f'SELECT * FROM "{name}"'))

    return world.ask(read).casefold()


def rows(world: EntityWorld, table: str) -> int:
    return world.ask(lambda it: it.count(f"SELECT count(*) FROM {table}"))


def forgotten(world: EntityWorld, insight_id: str) -> ForgetResult:
    """Purge a memory as `forget` does."""
    wanted = Forget(id=insight_id, purge=True)
    done = world.write(propose_forget(wanted, world.context(), one_active))
    assert isinstance(done, ForgetResult)
    return done


def is_gone(world: EntityWorld, name: str = SECRET) -> bool:
    return name.casefold() not in everything(world)


@pytest.mark.parametrize("taken_back", [False, True])
@pytest.mark.parametrize("decision", ["merge", "not-same", "alias"])
def test_a_decision_goes_with_the_only_memory_of_its_name(
    world: EntityWorld, decision: str, *, taken_back: bool
) -> None:
    naming(world, "Ana")
    secret = naming(world, SECRET)
    if decision == "alias":
        world.decide("alias", SECRET, "Zed the Great")
    else:
        world.decide(decision, "Ana", SECRET)  # type: ignore[arg-type]
    if taken_back:
        world.undo()
    world.purge(secret)
    assert is_gone(world)
    assert is_gone(world, "Zed the Great")
    assert world.ask(lambda it: named_entity(it, "Ana"))
    assert rows(world, "entity_links") == rows(world, "entity_aliases") == 0


def test_an_alias_whose_text_only_a_purged_memory_had(world: EntityWorld) -> None:
    naming(world, "Ana")
    secret = naming(world, "Ana", f"{SECRET} the Second")
    world.decide("alias", "Ana", SECRET)  # a part of the name: no row of its own
    world.decide("alias", "Ana", "Nina")
    world.purge(secret)
    assert is_gone(world)
    assert world.ask(lambda it: named_entity(it, "Nina")) == world.ask(lambda it: named_entity(it, "Ana"))


def test_a_question_about_a_name_goes_with_it(world: EntityWorld) -> None:
    naming(world, "Ana")
    secret = naming(world, SECRET)
    world.decide("merge", "Ana", SECRET, propose=True)
    row = world.ask(lambda it: named_row(it, SECRET))
    world.purge(secret)
    assert is_gone(world)
    assert row not in everything(world)  # it follows from the name, so it would prove a guess
    assert world.ask(reviews.pending_names) == []


@pytest.mark.parametrize("other", ["a memory", "a retired memory", "a statement"])
def test_what_something_else_has_stays(world: EntityWorld, other: str) -> None:
    naming(world, "Ana")
    secret = naming(world, SECRET, "Nina")
    if other == "a statement":
        world.add(SECRET, "uses", "Vim", since="2020-01-01")
        world.add("Nina", "uses", "Vim", since="2020-01-01")
    else:
        kept = naming(world, SECRET, "Nina")
        if "retired" in other:
            world.forget(kept)
    world.decide("merge", "Ana", SECRET)
    world.decide("alias", "Ana", "Nina the Wise")
    world.decide("not-same", "Ana", "Nina")
    world.purge(secret)
    assert world.things(("Ana", SECRET, "Nina")) == [["Ana", SECRET], ["Nina"]]
    assert not is_gone(world, "Nina the Wise")


@pytest.mark.parametrize("place", ["root", "middle"])
def test_names_that_were_joined_by_way_of_it_stay_joined(world: EntityWorld, place: str) -> None:
    """The other names have relations, which hold as before, and what is not the same stays so."""
    for name in ("Ana", "Bea", "Carl", "Dora"):
        naming(world, name)
    secret = naming(world, SECRET)
    world.add("Ana", "works_at", "Acme", since="2020-01-01")
    world.add("Bea", "works_at", "Globex", since="2021-01-01")
    world.decide("not-same", SECRET, "Dora")
    world.decide("merge", SECRET, "Ana")
    world.decide("merge", SECRET, "Bea")
    if place == "middle":
        world.decide("merge", "Carl", SECRET)
    before = {each[2:] for each in world.told()}
    world.purge(secret)
    assert is_gone(world)
    joined = ["Ana", "Bea"] if place == "root" else ["Carl", "Ana", "Bea"]
    [thing] = [each for each in world.things(("Carl", "Ana", "Bea", "Dora")) if "Ana" in each]
    assert sorted(thing) == sorted(joined)
    assert {each[2:] for each in world.told()} == before
    assert {each[0] for each in world.told()} == {thing[0]}
    with pytest.raises(MnemonError, match="not to be the same"):
        world.decide("merge", "Ana", "Dora")


def test_the_reply_of_a_purge_counts_the_decisions(world: EntityWorld) -> None:
    naming(world, "Ana")
    secret = naming(world, SECRET)
    world.decide("merge", "Ana", SECRET)
    world.decide("alias", "Ana", "Nina")
    assert forgotten(world, secret).decisions_removed == 1


@given(
    st.lists(
        st.tuples(st.sampled_from(["merge", "not-same", "alias"]), st.integers(0, 4), st.integers(0, 4)), max_size=6
    ),
    st.integers(0, 4),
)
@examples(40)
def test_no_name_is_left_and_no_other_is_lost(decisions: list[tuple[str, int, int]], purged: int) -> None:
    names = ["Alpha", "Bravo", "Cosmo", "Delta", "Echon"]
    with a_world() as world:
        memories = [naming(world, name) for name in names]
        for number, (decision, one, other) in enumerate(decisions):
            target = f"Alias{number}" if decision == "alias" else names[other]
            with suppress(MnemonError):  # one that contradicts an earlier one
                world.decide(decision, names[one], target)  # type: ignore[arg-type]
        found = world.ask(relations.roots)
        for row in world.ask(lambda it: it.column("SELECT id FROM entities")):
            assert world.ask(lambda it, row=row: relations.root_of(it, row)) == found.of(row)  # type: ignore[misc]
        rest = [name for number, name in enumerate(names) if number != purged]
        before = [set(each) - {names[purged]} for each in world.things(tuple(names))]
        world.purge(memories[purged])
        assert is_gone(world, names[purged])
        after = [set(each) for each in world.things(tuple(rest))]
        assert sorted(map(sorted, after)) == sorted(sorted(each) for each in before if each)
        links = world.ask(relations.links)
        rows_left = set(world.ask(lambda it: it.column("SELECT id FROM entities")))
        assert {each.entity_id for each in links} <= rows_left
