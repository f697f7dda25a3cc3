"""Entities: patterns, terms, people, known names and aliases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.memory import EntityType
from mnemond.text import caches, entity_shapes
from mnemond.text.entities import (
    MAX_ENTITIES,
    Known,
    _Reader,
    canonical_name,
    extract,
    nothing_known,
)
from mnemond.text.entity_lists import entity_lists, extended
from mnemond.text.entity_shapes import MAX_NAME, kind_of, mixed_shape
from mnemond.text.tokens import fold
from tests.examples import examples
from tests.tables import each_row

# ---------------------------------------------------------------- patterns, terms, people, known names


def names(text: str, provided: Sequence[str] = (), *, mode: str = "merge", known: Known = nothing_known) -> list[str]:
    return [entity.name for entity in extract(text, provided, mode=mode, known=known)]


def kinds(text: str, provided: Sequence[str] = (), *, known: Known = nothing_known) -> dict[str, str]:
    return {entity.name: entity.kind for entity in extract(text, provided, known=known)}


def store_of(*spellings: str) -> Known:
    """What a store answers that knows these names."""
    by_name = {canonical_name(name): name for name in spellings}
    return by_name.get


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "HttpServer API in ./cmd/root.go, see https://x.io/a.",
            ["HttpServer", "API", "./cmd/root.go", "https://x.io/a"],
        ),
        ("IT is UP", []),
        ("讨论《三体》", ["三体"]),
    ],
)
def test_names_of_every_kind(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@each_row(
    ("text", "expected"),
    [
        # CamelCase of several humps
        ("getUserById and XMLParser, iPhone", ["getUserById", "XMLParser", "iPhone"]),
        ("Server, PhD, 5 GiB, Ok", []),
        (r"printed\nNew line", []),
        # acronyms
        ("two APIs and a GPT-4 key, ABC-123 is ours", ["API", "GPT-4"]),
        ("DO NOT DELETE FOO BAR", []),
        ("ZQX MUST STAY", []),
        ("IMPORTANT ZQX ZQY", []),
        ("the ZQX stays, ZQY QZX", ["ZQX", "ZQY", "QZX"]),
        ("AND, OK, III, PRs", []),
        ("a TOOLONGX word", []),
        ("non-ZQX and zqx/ZQY-based", ["ZQX", "ZQY"]),
        # paths
        (
            "~/.config/a.toml ../b/c.rs /etc/d.conf e.py f.unknown",
            ["~/.config/a.toml", "../b/c.rs", "/etc/d.conf", "e.py"],
        ),
        ("and/or, 1/2.5, v0.34.1, e.g. this", []),
        ("go.mod and .env: src/a.py:42", ["go.mod", ".env", "src/a.py"]),
        ("response.json() and x.io/v1/v0.34", []),
        ("请看docs/设计和src/a.py文件", ["src/a.py"]),
        # addresses
        ("(https://x.io/a_(b)), https://y.io/c?d=1!", ["https://x.io/a_(b)", "https://y.io/c?d=1"]),
        ("[x](https://x.io/a) **https://x.io/b**", ["https://x.io/a", "https://x.io/b"]),
        ("见https://x.io/a。然后", ["https://x.io/a"]),
        ("http://... is no address", []),
        # handles
        ("ask @alice-b or 找@bob。", ["@alice-b", "@bob"]),
        ("bob@x.org @pytest.fixture @cache() @param @types/node redis@7", ["@types/node", "redis"]),
        # titles
        ("《红楼梦》和「量子 计划」", ["红楼梦", "量子 计划"]),
        ("他说「好的。」「 」", []),
        (f"他说「{'很' * 20}，好」", []),
        # errors
        (
            "TypeError, sqlite3.OperationalError and ErrNotFound",
            ["TypeError", "OperationalError", "ErrNotFound", "sqlite3"],
        ),
        (
            "E0308 then HTTP 503 and ECONNREFUSED, CVE-2024-12345",
            ["E0308", "HTTP 503", "ECONNREFUSED", "CVE-2024-12345"],
        ),
        ("an Error, a Fault, HTTP 200", ["HTTP"]),
    ],
)
def test_patterns(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@each_row(
    ("text", "expected"),
    [
        ("qdrant beside Node.js, C++ and CI/CD", ["qdrant", "Node.js", "C++", "CI/CD"]),
        ("用Redis做缓存，部署在Kubernetes上", ["Redis", "Kubernetes"]),
        ("redis-backed queue under docker/compose", ["redis", "docker"]),
        ("we write Go. Go to the shop", ["Go"]),
        ("Go to the shop; Rust never sleeps", []),
        ("go with the rust of spring", []),
        ("React Native and Visual Studio Code", ["React Native", "Visual Studio Code"]),
        ("Visual effects", []),
        ("Redis's cache", ["Redis"]),
    ],
)
def test_terms_are_whole_words_as_they_are_written(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_the_dictionary_is_large_and_its_exceptions_belong_to_it() -> None:
    lists = entity_lists()
    assert len(lists.terms) >= 200
    assert {phrase for phrase in lists.phrases if not phrase[0].isupper() or " " not in phrase} == set()
    assert lists.ordinary_at_start - {"Express"} <= lists.terms


@each_row(
    ("text", "expected"),
    [
        ("paired with Alice Smith and Bob", ["Alice Smith", "Bob"]),
        ("met Alice and Bob and Carol", ["Alice", "Bob", "Carol"]),
        ("Bob's laptop, Dana’s phone, the company's car", ["Bob", "Dana"]),
        ("Today's plan, It's late, That's all", []),
        ("the plan is Alice Smith's now", ["Alice Smith"]),
        ("Migrate Bob's table", ["Bob"]),
        ("Knitting's fun, so is Fleming's book", ["Fleming"]),
        ("so Choosing Bob's table", ["Bob"]),
        ("seen by Dr. Wilson. Wilson went", ["Wilson"]),
        ("told Jean-Luc, McKay and Zoë", ["Jean-Luc", "Zoë"]),
        ("from Łukasz with José by McKay", ["Łukasz", "José", "McKay"]),
        ("from Monday by Default with The", []),
        ("Start with Positive Feedback and with Gratitude", []),
        ("with Alice Redis", ["Redis", "Alice"]),
        ("Alice went home. Bob", ["Alice", "Bob"]),
        ("with alice from x", []),
        ("and Bob", ["Bob"]),
        ("Cold and Bob", ["Bob"]),
        ("told Carol'll", ["Carol"]),
        ("John'll see", ["John"]),
        ("同事张三负责，老师王小明说", ["王小明", "张三"]),
        ("告诉小李", ["小李"]),
        ("张三", []),
    ],
)
def test_people_stand_after_a_cue_or_before_a_possessive(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@each_row(
    ("text", "spellings", "expected"),
    [
        ("Yesterday Caroline called", ["Caroline"], ["Caroline"]),
        ("CAROLYNE called, Carolyne's car", ["carolyne"], ["carolyne"]),
        ("caroline called", ["Caroline"], []),
        ("the tide pool", ["tide"], ["tide"]),
        ("It is late", ["IT"], []),
        ("the Golden Gate Bridge is closed", ["Golden Gate Bridge", "Golden"], ["Golden Gate Bridge"]),
        ("the Golden Gate of Bridge", ["Gate Of", "Golden"], ["Golden"]),
        ("Zebra's Crossing", ["Zebra Crossing", "zebra"], ["zebra"]),
        ("foo-bar runs", ["foo-bar"], ["foo-bar"]),
        ("Foo-bar runs", ["foo-bar"], ["foo-bar"]),
        ("我们和张三丰讨论三体", ["三体", "张三", "张三丰"], ["张三丰", "三体"]),
        ("nothing here", ["elsewhere"], []),
        ("", ["x"], []),
    ],
)
def test_known_entities_are_found_where_they_are_named(text: str, spellings: list[str], expected: list[str]) -> None:
    assert names(text, known=store_of(*spellings)) == expected


def test_the_store_is_asked_about_the_beginning_of_a_text_only() -> None:
    asked: list[str] = []

    def known(canonical: str) -> str | None:
        asked.append(canonical)
        return None

    extract("Alpha beta " * 5000, known=known)
    extract("张三丰" * 5000, known=known)
    assert len(asked) < 2500


def test_sources_come_in_their_order_and_the_first_spelling_wins() -> None:
    text = "by Zed: redis and Known HttpServer, Redis https://x.io/a"
    expected = ["Mine", "httpserver", "https://x.io/a", "redis", "known", "Zed"]
    assert names(text, ["Mine", "httpserver"], known=store_of("known")) == expected


def test_modes_choose_the_sources() -> None:
    text, provided = "Redis holds the queue", ["Mine", " mine ", ""]
    assert names(text, provided) == ["Mine", "Redis"]
    assert names(text, provided, mode="provided") == ["Mine"]
    assert names(text, provided, mode="auto") == ["Redis"]


def test_at_most_fifty_and_those_of_the_caller_first() -> None:
    provided = [f"own {number}" for number in range(45)]
    text = " ".join(f"src/f{number}.py" for number in range(20))
    found = names(text, provided)
    assert len(found) == MAX_ENTITIES
    assert found[:45] == provided


def test_names_longer_than_the_limit_are_left_out() -> None:
    longest = "https://x.io/" + "a" * (MAX_NAME - 13)
    assert names(longest) == [longest]
    assert names(longest + "a") == []
    assert names("https://" + "a" * 3 * MAX_NAME) == []
    assert names("HttpServer" * 50 + " " + "x/" * 200 + "y.go") == []


@each_row(
    ("name", "kind"),
    [
        *(("me", "user"), ("I", "user"), ("我", "user")),
        *(
            ("PostgreSQL", "tool"),
            ("postgres", "tool"),
            ("src/a.py", "tool"),
            ("HttpServer", "tool"),
            ("VS Code", "tool"),
        ),
        *(("TypeError", "error"), ("E0308", "error"), ("HTTP 503", "error"), ("HTTP 5xx", "error")),
        *(("@alice", "person"), ("@types/node", "tool"), ("@param", "concept")),
        *(("Paris", "location"), ("北京", "location"), ("Elm Street", "location"), ("Mount Doom", "location")),
        *(("Google", "organization"), ("Acme Corp", "organization"), ("University of X", "organization")),
        *(("某某公司", "organization"), ("朝阳区", "location"), ("三体", "concept"), ("山", "concept")),
        *(("offsite March 2026", "event"), ("launch on May 8", "event"), ("3月发布会", "event"), ("2026", "concept")),
        *(("API", "concept"), ("rate limit", "concept"), ("https://x.io/a", "concept"), ("x" * 300, "concept")),
    ],
)
def test_the_type_is_guessed_from_the_name(name: str, kind: str) -> None:
    assert kinds("", [name]) == {name: kind}


def test_the_text_may_tell_a_type_that_the_name_does_not() -> None:
    assert kinds("talked with Alice", ["alice"]) == {"alice": "person"}
    assert kinds("flew from Paris with Redis") == {"Redis": "tool", "Paris": "location"}
    assert kinds("Caroline uses three words", known=store_of("Caroline", "three")) == {"Caroline": "person"}
    assert kinds("a big tide, by Tide Pool Corp", known=store_of("tide"))["tide"] == "concept"


def test_a_name_keeps_its_spelling_and_its_alias_says_what_it_is() -> None:
    (entity,) = extract("k8s, Kubernetes and kubernetes")
    assert (entity.name, entity.canonical, entity.kind) == ("k8s", "kubernetes", "tool")
    assert names("postgres beside PostgreSQL") == ["PostgreSQL"]  # CamelCase comes before the dictionary


def test_aliases_of_a_user_resolve_names_and_what_the_store_knows() -> None:
    aliases = extended({"The Shop": "Storefront"})
    (entity,) = extract("", ["the  SHOP"], aliases=aliases)
    assert (entity.name, entity.canonical) == ("the SHOP", "storefront")
    found = extract("open The Shop", aliases=aliases, known=store_of("Storefront"))
    assert [entity.name for entity in found] == ["Storefront"]


@each_row(
    ("name", "canonical"),
    [
        (" Straße  ＡＰＩ\n", "strasse api"),
        ("Postgres", "postgresql"),
        ("K8S", "kubernetes"),
        ("js", "javascript"),
        ("三体", "三体"),
        (" ", ""),
    ],
)
def test_equality_of_names(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical


@given(st.text(max_size=60))
def test_a_canonical_name_is_its_own(name: str) -> None:
    assert canonical_name(canonical_name(name)) == canonical_name(name)


PIECES = st.sampled_from([
    *("Alice", "with", "Bob's", "API", "API's", "redis", "React", "Native", "HTTP", "503", "DO", "NOT", "and"),
    *("@bob", "@", "./a/b.go", "https://x.io/a)", "https://", "《三体》", "「", "」", "同事", "张三", "的", ".", "\n"),
    *("a.b.c", "C++", "C#", "../", "~/x", "É", "\u0301", "’s", "'", "E42", "x" * 201, "ß", "\\n", "٣", "Dr"),
])  # fmt: skip


@given(st.lists(PIECES, max_size=30), st.sampled_from(["", " "]), st.lists(st.text(max_size=8), max_size=4))
def test_any_text_gives_distinct_bounded_entities(pieces: list[str], joint: str, provided: list[str]) -> None:
    found = extract(joint.join(pieces), provided, known=store_of("张三", "API", "x"))
    assert len({entity.canonical for entity in found}) == len(found) <= MAX_ENTITIES
    for entity in found:
        assert entity.name
        assert entity.canonical == canonical_name(entity.name)
        assert entity.kind in get_args(EntityType)
        assert len(entity.name) <= MAX_NAME


@given(st.text(max_size=300))
def test_no_text_is_refused(text: str) -> None:
    assert isinstance(extract(text, known=lambda _: None), tuple)


def test_a_store_without_entities_knows_nothing() -> None:
    assert nothing_known("redis") is None
    assert names("Carolyne called", known=lambda _: None) == []


@each_row("before", ["with", ".", "Mr", "and", "Alice"])
@each_row("after", ["Smith's", "(", "Alice", "500", "OF"])
def test_no_word_passed_over_in_silence_would_have_said_anything(before: str, after: str) -> None:
    for word in entity_lists().silent:
        reader = _Reader(["Bob", before, word, after, "Code"])
        assert reader.take(2) == 1
        assert (reader.patterns, reader.terms, reader.people) == ([], [], [])


def test_an_ordinary_word_is_no_question_to_the_store() -> None:
    plain, ordinary = entity_lists().plain, entity_lists().ordinary
    assert all(word in ordinary and len(word) > 1 and word.islower() and word.isalnum() for word in plain)


@given(st.one_of(st.sampled_from(sorted(entity_lists().aliases)), st.text(max_size=12), st.text("abK8s ", max_size=6)))
@examples(200)
def test_a_canonical_name_is_folded_and_its_alias_resolved(name: str) -> None:
    folded = " ".join(fold(name).split())
    assert canonical_name(name) == " ".join(fold(entity_lists().aliases.get(folded, folded)).split())
    assert canonical_name(name, {"ab": "Other  Name"}) == ("other name" if folded == "ab" else folded)


def test_a_purge_leaves_no_name_behind() -> None:
    kind_of("Confidential Holdings")
    mixed_shape("confidentialThing")
    caches.clear_all()
    assert entity_shapes._cached_kind.cache_info().currsize == 0
    assert entity_shapes._cached_mixed_shape.cache_info().currsize == 0


# ---------------------------------------------------------------- aliases, built in and a user's own


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
