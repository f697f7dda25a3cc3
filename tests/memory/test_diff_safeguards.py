"""What is done about a suggestion: nothing that says something of its own is dropped or retired."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import DiffSettings
from mnemond.memory.diff import (
    SAFEGUARDS,
    CosineThresholds,
    DiffRules,
    Match,
    Safeguards,
    Verdict,
    judge,
    overall,
    side,
)
from tests.memory.diff_rows import LITERAL, OFF, SHIPPED, rules
from tests.tables import each_row


def judged(old: str, new: str, by: DiffRules = SHIPPED, cosine: float | None = None) -> Verdict:
    return judge(side(old, "general", ()), side(new, "general", ()), cosine, by)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Chose SQLite over Postgres", "Chose Postgres over SQLite"),
        ("Deploy all services nightly", "Deploy some services nightly"),
    ],
)
def test_the_same_words_may_say_something_else(old: str, new: str) -> None:
    assert judged(old, new, LITERAL).action == "DUPLICATE"
    verdict = judged(old, new)
    assert (verdict.action, verdict.suggestion) == ("ADD", "DUPLICATE")
    assert "; but it is not there word for word; but " in verdict.reason


@each_row(
    ("old", "new"),
    [
        # a denied change announces none, and another verb denies something else
        ("A mason is putting sand in a bucket", "The sand is not being dropped into a bucket"),
        ("Ana is putting the keys in the safe", "The keys are not being moved to the safe"),
        # "without" before the verb says of which things it is said
        ("Parcels with a label are sent to the depot", "Parcels without a label are sent to the depot"),
        ("Jobs with a deadline run at night", "Jobs without a deadline run at night"),
        # what ends is another thing, since the new text says the same of the old one
        (
            "The board supported the repair of wooden and stone bridges",
            "The board didn't support wooden tunnels but backed the repair of wooden and stone bridges",
        ),
        # by how much it changed is not what it is now
        ("The Baltic index is 1,650", "The Baltic index dropped 33.90"),
        ("The price of the ticket is 40 euros", "The price of the ticket dropped 5 euros"),
        ("The queue length is 400", "The queue length dropped by more than 20"),
        # an added word takes the place of the object
        ("Ana is painting the fence", "Ana is painting the gate in the fence"),
        ("Ben cleans the oven", "Ben cleans the tray of the oven"),
        # it is said of a part, or only told
        ("Cyclists wear a helmet", "Young cyclists wear a helmet"),
        ("The gateway keeps no logs", "Bob said the gateway keeps no logs"),
        ("The gateway keeps no logs", '"The gateway keeps no logs," the auditor claimed'),
    ],
)
def test_what_only_resembles_the_old_text_does_not_replace_it(old: str, new: str) -> None:
    assert judged(old, new).action == "ADD"


@each_row(
    ("old", "new", "action"),
    [
        ("Ana lives in Lisbon", "Ana Costa lives in Lisbon near the harbour", "UPDATE"),
        ("Postgres runs on db-3", "Postgres 16 runs on db-3", "UPDATE"),
        ("The limit is 50 MB", "The limit dropped to 20 MB", "CONFLICT"),
        ("Deploys go out on Tuesdays", "The deploys usually go out on Tuesdays", "UPDATE"),
        ("The job runs without a lock", "The job does not run without a lock any more", "CONFLICT"),
    ],
)
def test_what_says_it_anew_still_replaces_it(old: str, new: str, action: str) -> None:
    assert judged(old, new).action == action


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


@each_row(
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


@each_row(
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


@each_row(
    ("old", "new"),
    [
        ("Sprint 12 retro done", "Sprint 13 retro done"),
        ("Phase 1 of the rollout is finished", "Phase 2 of the rollout is finished"),
        ("PR 123 merged into main", "PR 124 merged into main"),
        ("This is note 1 of the talk", "This is note 2 of the talk"),
        ("第3章讲了缓存的设计", "第4章讲了缓存的设计"),
        ("阶段1的任务已经完成", "阶段2的任务已经完成"),
        ("Step 3 of phase 1 went well", "Step 3 of phase 2 went well"),
        ("Chapters 3 and 4 are reviewed", "Chapters 4 and 5 are reviewed"),
        ("The 3rd round of tests passed", "The 4th round of tests passed"),
        ("Issue 12 in the parser is solved", "Issue 13 in the parser is not solved"),
    ],
)
def test_one_of_a_series_is_not_another(old: str, new: str) -> None:
    assert judged(old, new, LITERAL).action == "CONFLICT"
    verdict = judged(old, new)
    assert (verdict.action, verdict.suggestion, verdict.held_back) == ("ADD", "CONFLICT", True)
    assert verdict.reason.endswith("; but they are about things with different numbers, so both stay")


@each_row(
    ("old", "new"),
    [
        ("API rate limit is 100 req/s", "API rate limit is 200 req/s"),
        ("The timeout is 30 s", "The timeout is 60 s"),
        ("The service uses Python 3.11", "The service uses Python 3.12"),
        ("Postgres listens on port 5432", "Postgres listens on port 5433"),
        ("A seat costs 5 dollars", "A seat costs 6 dollars"),
        ("Phase 2 takes 3 weeks", "Phase 2 takes 4 weeks"),
        ("Step 3 was reviewed", "Step 3 and 4 were reviewed"),
        ("Redis runs with replicas 3", "Redis runs with replicas 5"),
        ("The daily team meeting is 30 min", "The daily team meeting is 15 min"),
        ("会议室的容量是20人", "会议室的容量是30人"),
    ],
)
def test_a_number_that_measures_is_corrected(old: str, new: str) -> None:
    assert judged(old, new).action == "CONFLICT"


TEMPLATE = "deps: bump {} from {} to {}, with its release notes, changelog, commits, type and direct dependency of docs"


def test_a_number_corrects_nothing_where_a_word_is_exchanged_too() -> None:
    old, same = TEMPLATE.format("viper", "1.6", "1.7"), TEMPLATE.format("viper", "1.7", "1.8")
    other = TEMPLATE.format("cobra", "1.6", "1.8")
    assert judged(old, same).action == "CONFLICT"
    assert judged(old, other, LITERAL).action == "CONFLICT"
    verdict = judged(old, other)
    assert (verdict.action, verdict.suggestion, verdict.contradicts) == ("ADD", "CONFLICT", False)
    heard = judged("The old red ship sank 1912", "An old red vessel sank 1913", SHIPPED, 0.99)
    assert (heard.action, heard.contradicts) == ("ADD", True)
    assert "alike in meaning" in heard.reason


@each_row(
    ("old", "new", "named", "renamed", "action"),
    [
        ("Ana has green tea in winter", "Bob never has green tea in winter", ("ana",), ("bob",), "ADD"),
        ("Ana has green tea in winter", "Ana never has green tea in winter", ("ana",), ("ana", "x"), "CONFLICT"),
        ("Likes green tea in winter", "Does not like green tea in winter", ("ana",), ("bob",), "ADD"),
        ("Likes green tea in winter", "Likes green tea in winter and rain", ("ana",), ("bob",), "ADD"),
        ("Likes green tea in winter", "Likes green tea in winter and rain", (), ("bob",), "UPDATE"),
        ("Likes green tea in winter", "Likes green tea in winter and rain", ("ana",), (), "UPDATE"),
        ("The storage of logs is SQLite", "The storage of logs moved to Redis", ("sqlite",), ("redis",), "CONFLICT"),
        ("Uses Go 1.20 for the client", "Uses Go 1.21 for the client", ("go 1.20",), ("go 1.21",), "CONFLICT"),
    ],
)
def test_who_has_nothing_in_common_is_not_corrected(
    old: str, new: str, named: tuple[str, ...], renamed: tuple[str, ...], action: str
) -> None:
    verdict = judge(side(old, "general", named), side(new, "general", renamed), None, SHIPPED)
    assert verdict.action == action
    free = judge(side(old, "general", named), side(new, "general", renamed), None, LITERAL)
    assert free.action == free.suggestion == verdict.suggestion


def test_words_in_another_order_among_others_are_another_text() -> None:
    old = "cache index shard"
    assert judged(old, "shard index cache").reason.endswith("; but words change places, so both stay")
    assert judged(old, "shard index cache", rules(Safeguards(subjects=False))).action == "UPDATE"
    assert judged(old, "cache index shard node disk").action == "UPDATE"
    assert judged(old, "shard index cache node disk").action == "ADD"


def test_a_cosine_needs_the_evidence_of_words() -> None:
    assert judged("The old ship sank slowly", "An ancient vessel went under", SHIPPED, 0.99).similarity == 0.0
    old, new = "The old red ship sank slowly", "An old red ship sank yesterday"
    assert judged(old, new, SHIPPED, 0.99).reason.startswith("they are 99% alike in meaning, ")
    assert (judged(old, new, SHIPPED, 0.99).action, judged(old, new).action) == ("UPDATE", "ADD")


def match(identity: str, created_us: int, similarity: float, action: str) -> Match:
    plain = judged("a cat", "a dog")
    fields = {"action": action, "suggestion": action, "similarity": similarity}
    verdict = Verdict(**{**{name: getattr(plain, name) for name in plain.__struct_fields__}, **fields})
    return Match(identity, created_us, verdict)


@each_row(
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


@given(TEXTS, TEXTS, COSINES, SCALES, st.sampled_from([OFF, SAFEGUARDS]))
def test_every_pair_has_a_verdict(
    old: str, new: str, cosine: float | None, scale: CosineThresholds, safeguards: Safeguards
) -> None:
    by = DiffRules(DiffSettings(), scale, safeguards)
    verdict = judge(side(old, "fact", ()), side(new, "fact", ()), cosine, by)
    assert 0.0 <= verdict.similarity <= 1.0
    assert not verdict.related
    assert verdict.held_back == (verdict.action == "ADD" and verdict.similarity >= by.settings.update)
    if safeguards is OFF:
        assert verdict.action == verdict.suggestion


@given(TEXTS, TEXTS)
def test_what_is_skipped_stands_in_what_survives(old: str, new: str) -> None:
    verdict = judged(old, new)
    if verdict.action == "DUPLICATE":
        assert side(new, "", ()).tokens <= side(old, "", ()).tokens


@given(TEXTS)
def test_a_text_repeats_itself(text: str) -> None:
    assert judged(text, text).action == "DUPLICATE"
