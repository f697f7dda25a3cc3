"""The table of aliases, and what a user's own do to it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.entities import canonical_name
from mnemond.text.entity_lists import entity_lists, extended


def test_the_built_in_table_resolves_in_one_step() -> None:
    assert {
        alias: right
        for alias, right in entity_lists().aliases.items()
        if canonical_name(right) in entity_lists().aliases
    } == {}
    assert {alias for alias in entity_lists().aliases if " ".join(alias.casefold().split()) != alias} == set()


def test_nothing_added_changes_nothing() -> None:
    assert dict(extended({})) == dict(entity_lists().aliases)


def test_aliases_are_folded_and_chains_followed_to_their_end() -> None:
    aliases = extended({"PGX": "postgres", "The  Shop": "Storefront"})
    assert aliases["pgx"] == "PostgreSQL"
    assert aliases["the shop"] == "Storefront"


def test_the_user_decides_what_a_thing_is_called() -> None:
    aliases = extended({"PostgreSQL": "Postgres", "js": "JScript"})
    assert canonical_name("PostgreSQL", aliases) == canonical_name("postgres", aliases) == "postgres"
    assert canonical_name("psql", aliases) == "postgres"
    assert canonical_name("js", aliases) == "jscript"


def test_circles_and_empty_names_are_left_out() -> None:
    aliases = extended({"a": "b", "b": "a", "c": "a", "": "x", "y": " "})
    assert canonical_name("a", aliases) == "a"
    assert canonical_name("b", aliases) == "b"
    assert canonical_name("c", aliases) == "a"
    assert {"", "y"}.isdisjoint(aliases)


SHORT = st.sampled_from(["a", "B", "c", "D e", "js", "JavaScript", "PostgreSQL", "postgres"])


@given(st.dictionaries(SHORT, SHORT), st.one_of(SHORT, st.text(max_size=10)))
def test_one_look_up_resolves_any_name(extra: dict[str, str], name: str) -> None:
    aliases = extended(extra)
    assert canonical_name(canonical_name(name, aliases), aliases) == canonical_name(name, aliases)
