"""What is done about a suggestion: nothing that says something of its own is dropped or retired."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.policy import DiffPolicy
from mnemond.rank.diff import Match, Verdict, judge, overall, side
from mnemond.rank.diff_calibration import CosineThresholds
from tests.rank.diff_rows import LITERAL, REFERENCE

SHIPPED = DiffPolicy()


def judged(old: str, new: str, policy: DiffPolicy = SHIPPED, cosine: float | None = None) -> Verdict:
    return judge(side(old, "general", ()), side(new, "general", ()), cosine, policy, REFERENCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Chose SQLite over Postgres", "Chose Postgres over SQLite"),
        ("Chose C++ for the parser", "Chose C# for the parser"),
        ("Deploy all services nightly", "Deploy some services nightly"),
        ("The man is not walking and is not sitting", "The man is walking and is sitting"),
    ],
)
def test_the_same_words_may_say_something_else(old: str, new: str) -> None:
    assert judged(old, new, LITERAL).action == "DUPLICATE"
    verdict = judged(old, new)
    assert (verdict.action, verdict.suggestion) == ("UPDATE", "DUPLICATE")
    assert "word for word" in verdict.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Alice likes tea and Bob likes coffee", "Alice likes coffee"),
        ("Thanks for the tips! I will let the dog out and have a good rest", "Let the dog out"),
    ],
)
def test_a_small_part_of_a_longer_text_stays_beside_it(old: str, new: str) -> None:
    verdict = judged(old, new)
    assert (verdict.action, verdict.held_back) == ("ADD", True)


def test_articles_do_not_make_a_text_new() -> None:
    assert judged("The user prefers a dark editor theme", "User prefers the dark editor theme").action == "DUPLICATE"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The deploy target is staging", "The deploy target is production"),
        ("Docs: a guide to writing an application in Kotlin", "Docs: a guide to writing an application in Java"),
        (
            "List every miracle that the book of Mark records, in the order of its chapters, with a short note each",
            "List every miracle that the book of Luke records, in the order of its chapters, with a short note each",
        ),
        ("Have a great week! Bye!", "Great to hear that the dogs had such a week of fun at the lake"),
    ],
)
def test_resemblance_alone_retires_nothing(old: str, new: str) -> None:
    verdict = judged(old, new)
    assert (verdict.action, verdict.suggestion, verdict.held_back) == ("ADD", "UPDATE", True)
    assert verdict.reason.endswith("so both stay")


def test_a_short_text_found_in_a_long_one_stays() -> None:
    verdict = judged("Going for my dreams", "Going home now, then on with all of my big dreams of running a studio")
    assert (verdict.action, verdict.suggestion) == ("ADD", "ADD")
    long = "The staging cluster, its many old nodes, and the shared cache of the build run on ARM machines in Oslo"
    assert (judged("Nodes run on machines", long).action, judged("Nodes run on machines", long, LITERAL).action) == (
        "ADD",
        "UPDATE",
    )


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        ("deps: bump cors from 1.6.0 to 1.7.0 upstream", "deps: bump viper from 1.6.1 to 1.7.0 upstream", "ADD"),
        ("deps: bump cors from 1.6.0 to 1.7.0 upstream", "deps: bump cors from 1.7.0 to 1.7.1 upstream", "CONFLICT"),
        ("User likes green tea in winter", "User does not like green tea in winter", "CONFLICT"),
        ("Storage for the index is SQLite", "Storage for the index moved to PostgreSQL", "CONFLICT"),
        (
            "Deploys on Friday are allowed",
            "Deploys on Friday are not allowed because the on-call rotation begins then",
            "CONFLICT",
        ),
        (
            "No wonder they look great",
            "Great that they look after nine dogs, never rest and are still in a mood",
            "ADD",
        ),
        ("Redis holds the sessions, the locks, the queue of mails and the search cache", "Redis never locks", "ADD"),
    ],
)
def test_a_contrast_retires_what_it_is_about(old: str, new: str, action: str) -> None:
    assert judged(old, new).action == action


def test_words_in_another_order_among_others_are_another_text() -> None:
    old = "cache index shard"
    assert judged(old, "shard index cache").action == "UPDATE"
    assert judged(old, "cache index shard node disk").action == "UPDATE"
    assert judged(old, "shard index cache node disk").action == "ADD"


def test_a_cosine_needs_the_evidence_of_words() -> None:
    assert judged("The old ship sank slowly", "An ancient vessel went under", SHIPPED, 0.99).similarity == 0.0
    old, new = "The old red ship sank slowly", "An old red ship sank yesterday"
    assert judged(old, new, SHIPPED, 0.99).reason.startswith("similarity 0.99 (of the vectors)")
    assert (judged(old, new, SHIPPED, 0.99).action, judged(old, new).action) == ("UPDATE", "ADD")


def match(identity: str, created_us: int, similarity: float, action: str) -> Match:
    plain = judged("a cat", "a dog")
    fields = {"action": action, "suggestion": action, "similarity": similarity}
    verdict = Verdict(**{**{name: getattr(plain, name) for name in plain.__struct_fields__}, **fields})
    return Match(identity, created_us, verdict)


@pytest.mark.parametrize(
    ("matches", "decisive"),
    [
        ([], None),
        ([match("a", 1, 0.7, "UPDATE"), match("b", 1, 0.8, "CONFLICT")], "b"),
        ([match("a", 1, 0.95, "DUPLICATE"), match("b", 2, 1.0, "CONFLICT")], "a"),
        ([match("a", 2, 0.8, "UPDATE"), match("b", 1, 0.8, "UPDATE")], "a"),
        ([match("a", 1, 0.8, "UPDATE"), match("b", 1, 0.8, "UPDATE")], "b"),
        ([match("a", 1, 0.7, "UPDATE"), match("b", 2, 1.0, "ADD")], "a"),
        ([match("a", 1, 0.2, "ADD"), match("b", 1, 0.3, "ADD")], "b"),
    ],
)
def test_which_row_decides(matches: list[Match], decisive: str | None) -> None:
    found = overall(matches)
    assert (found.id if found else None) == decisive
    backwards = overall(matches[::-1])
    assert (backwards.id if backwards else None) == decisive


TEXTS = st.lists(
    st.sampled_from(
        [
            "cache",
            "not",
            "no longer",
            "10",
            "12",
            "Redis",
            "缓存",
            "不",
            "the",
            "!",
            "moved to",
            "C++",
            "é",
            "\u0301",
            "  ",
        ]
    ),
    max_size=14,
).map(" ".join) | st.text(max_size=40)
COSINES = st.none() | st.floats(-1, 1) | st.just(float("nan"))
SCALES = st.builds(CosineThresholds, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))


@given(TEXTS, TEXTS, COSINES, SCALES, st.sampled_from([LITERAL, SHIPPED]))
def test_every_pair_has_a_verdict(
    old: str, new: str, cosine: float | None, scale: CosineThresholds, policy: DiffPolicy
) -> None:
    verdict = judge(side(old, "fact", ()), side(new, "fact", ()), cosine, policy, scale)
    assert 0.0 <= verdict.similarity <= 1.0
    assert not verdict.related
    assert verdict.held_back == (verdict.action == "ADD" and verdict.similarity >= policy.update)
    if policy is LITERAL:
        assert verdict.action == verdict.suggestion


@given(TEXTS, TEXTS)
def test_what_is_skipped_stands_in_what_survives(old: str, new: str) -> None:
    verdict = judged(old, new)
    if verdict.action == "DUPLICATE":
        assert side(new, "", ()).tokens <= side(old, "", ()).tokens


@given(TEXTS)
def test_a_text_repeats_itself(text: str) -> None:
    assert judged(text, text).action == "DUPLICATE"
