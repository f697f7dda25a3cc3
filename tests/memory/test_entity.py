"""Links over shared entities."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import EntitySettings, GraphSettings
from mnemond.memory.edge_builders import build_entity, names_metadata
from mnemond.model.memory import MAX_METADATA, Entity
from tests.memory.small_store import Row, SmallStore, newcomer
from tests.recall.reading import added, metadata

SETTINGS = GraphSettings()


def test_a_shared_entity_makes_two_rows_of_its_idf_weight() -> None:
    made = build_entity(newcomer("", "Redis"), SmallStore(Row("a", entities=("Redis",)), documents=100), SETTINGS)
    assert added(made) == [("new", "a", 0.849485), ("a", "new", 0.849485)]
    assert metadata(made) == [{"entities": ["Redis"]}] * 2


def test_no_shared_entity_makes_no_link() -> None:
    assert build_entity(newcomer("", "Redis"), SmallStore(Row("a", entities=("SQLite",))), SETTINGS) == []
    assert build_entity(newcomer(), SmallStore(Row("a", entities=("SQLite",))), SETTINGS) == []


def test_several_shared_entities_of_a_pair_are_one_link_of_the_largest_weight() -> None:
    rows = [Row("a", hours=-1, entities=("Redis", "API"))] + [Row(f"r{n}", entities=("Redis",)) for n in range(3)]
    made = build_entity(newcomer("", "Redis", "API"), SmallStore(*rows, documents=100), SETTINGS)
    by_row = dict(zip([target for _, target, _ in added(made)[::2]], metadata(made)[::2], strict=True))
    assert by_row["a"] == {"entities": ["API", "Redis"]}
    assert by_row["r0"] == {"entities": ["Redis"]}
    assert added(made)[0] == ("new", "a", 0.849485)


def test_only_the_five_newest_holders_are_linked() -> None:
    rows = [Row(f"r{n}", hours=-n, entities=("Redis",)) for n in range(1, 9)]
    made = build_entity(newcomer("", "Redis"), SmallStore(*rows, documents=100), SETTINGS)
    assert [target for _, target, _ in added(made)[::2]] == ["r1", "r2", "r3", "r4", "r5"]
    assert added(made)[0][2] == pytest.approx(0.522879)  # ln(100/9) / ln 100: all nine holders count


def test_an_entity_of_every_row_links_nothing() -> None:
    rows = [Row(f"r{n}", entities=("Redis",)) for n in range(7)]
    assert build_entity(newcomer("", "Redis"), SmallStore(*rows), SETTINGS) == []


def test_at_most_fifty_links_and_those_of_the_rarest() -> None:
    common = [Row(f"c{n}", entities=("common",)) for n in range(20)]
    rare = [Row(f"{name}-{n}", entities=(name,)) for name in (f"rare{n}" for n in range(10)) for n in range(5)]
    names = ["common", *(f"rare{n}" for n in range(10))]
    made = build_entity(newcomer("", *names), SmallStore(*common, *rare, documents=200), SETTINGS)
    targets = [target for _, target, _ in added(made)[::2]]
    assert len(targets) == 50
    assert all(target.startswith("rare") for target in targets)


def test_a_link_that_is_there_still_gets_the_names_behind_the_limit() -> None:
    settings = GraphSettings(entity=EntitySettings(max_total=1))
    store = SmallStore(Row("a", entities=("x", "y")), Row("b", entities=("y",)), documents=50)
    made = build_entity(newcomer("", "x", "y"), store, settings)
    assert added(made)[::2] == [("new", "a", 0.822816)]
    assert metadata(made)[0] == {"entities": ["x", "y"]}


def test_an_entity_named_twice_counts_once_in_its_first_spelling() -> None:
    named = (Entity("Postgres", "postgresql", "tool"), Entity("PostgreSQL", "postgresql", "concept"))
    new = newcomer()
    new = type(new)(new.id, new.content, new.created_us, new.tokens, named, None)
    made = build_entity(new, SmallStore(Row("a", entities=("postgresql",))), SETTINGS)
    assert metadata(made) == [{"entities": ["Postgres"]}] * 2


def test_a_row_is_never_linked_with_itself() -> None:
    assert build_entity(newcomer("", "Redis"), SmallStore(Row("new", entities=("Redis",))), SETTINGS) == []


def test_names_that_fit_are_all_told() -> None:
    names = ["b" * 200] * 20
    assert json.loads(names_metadata(names)) == {"entities": sorted(names)}


def test_of_too_many_names_the_first_are_told_and_the_others_counted() -> None:
    names = [f"{n:02}" + "界" * 198 for n in reversed(range(50))]
    told = json.loads(names_metadata(names))
    assert told == {"entities": sorted(names[:6]), "omitted": 44}


@given(st.lists(st.text(max_size=3000), min_size=1, max_size=50))
def test_metadata_never_exceeds_its_limit(names: list[str]) -> None:
    text = names_metadata(names)
    told = json.loads(text)
    assert len(text.encode()) <= MAX_METADATA
    assert told["entities"] == sorted(told["entities"])
    assert len(told["entities"]) + told.get("omitted", 0) == len(names)
