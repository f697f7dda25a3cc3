"""What sets of words cannot see, so that nothing is retired or dropped that says something else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import DiffSettings
from mnemond.memory import diff_rules
from mnemond.memory.diff import CosineThresholds, DiffRules, Verdict, judge, side
from mnemond.memory.diff_rules import Change, changes_between, is_part, plain_words
from mnemond.text.entities import extract
from tests.tables import each_row

DEAF = CosineThresholds(override=math.inf, update=0.65, duplicate=0.9)

BOTH_TRUE = [
    ("Alert when price > 5", "Alert when price < 5"),
    (
        "Alert when free disk space < 10 GB on any of the web hosts",
        "Alert when free disk space > 10 GB on any of the web hosts",
    ),
    ("laptop -> server", "laptop <- server"),
    ("A -> B -> C is the order", "A <- B <- C is the order"),
    ("the interval is [0, 1)", "the interval is (0, 1]"),
    ("Ignore *.log", "Ignore .log"),
    ("Quote strings with '", 'Quote strings with "'),
    ("价格 > 5 时报警", "价格 < 5 时报警"),
    ("价格 > 5 时报警", "价格 < 5"),
    ("Pass -v to pytest", "Pass -V to pytest"),
    ("The deploy is done", "The deploy is done?"),
    ("On 12 May Ana fixed the login", "On 19 May Ana fixed the login"),
    ("Ana fixed the login on May 12", "Ana fixed the login on May 19"),
    ("On May 12th Ana fixed the login", "On May 19th Ana fixed the login"),
    ("On 5/12 Ana fixed the login", "On 5/19 Ana fixed the login"),
    ("On 12.05.2026 Ana fixed the login", "On 19.05.2026 Ana fixed the login"),
    ("5月12日Ana修复了登录", "5月19日Ana修复了登录"),
    (
        "Meeting notes 12 May: Ana will fix the login, Bob will write docs",
        "Meeting notes 19 May: Ana will fix the login, Bob will write docs",
    ),
    ("Log 2026-05-12: restart of web1", "Log 2026-05-19: restart of web1"),
    ("In 2024 we hired 5 people", "In 2025 we hired 5 people"),
    ("KW 12: Ana on call", "KW 14: Ana on call"),
    ("Room A holds 10 people", "Room B holds 10 people"),
    ("Plan A costs 10 euros per seat", "Plan B costs 10 euros per seat"),
    ("Vitamin A costs 10 euros", "Vitamin C costs 10 euros"),
    ("drive A: is full", "drive D: is full"),
    ("计划A每人10元", "计划B每人10元"),
    ("copy files to the server", "copy files from the server"),
    ("a mail to Ana was sent", "a mail from Ana was sent"),
    ("He likes tea", "She likes tea"),
    ("My laptop has 16 GB", "Your laptop has 16 GB"),
    ("This repo uses bazel", "That repo uses bazel"),
    ("Login with email and password", "Login with email or password"),
    ("All jobs run nightly", "Some jobs run nightly"),
    ("You may skip the tests", "You must skip the tests"),
    ("The flight to Rome leaves at 9", "The flight from Rome leaves at 17"),
    ("Alice reports to Bob", "Bob reports to Alice"),
    ("Data flows from Kafka to Postgres", "Data flows from Postgres to Kafka"),
    ("Ben reviewed Amy's PR and Amy merged it", "Amy reviewed Ben's PR and Ben merged it"),
    ("Team A depends on team B", "Team B depends on team A"),
    ("rm -rf ./build is safe here", "rm -rf /build is safe here"),
    ("x == y", "x != y"),
    ("Build status ✅", "Build status ❌"),
    ("Write the parser in C", "Write the parser in C++"),
    ("Run foo --dry-run first", "Run foo --no-dry-run first"),
    ("exit 1 means failure", "exit 2 means failure"),
    ("house number 12 is vacant", "house number 14 is vacant"),
    ("10.0.0.1 is a database host", "10.0.0.2 is a database host"),
    ("1号服务器已下线", "2号服务器已下线"),
]

WITHOUT_A_CONDITION = [
    ("Never deploy on Fridays unless Ana approves", "Never deploy on Fridays"),
    ("Only admins can delete projects", "Admins can delete projects"),
    ("If it is Friday we deploy", "It is Friday, we deploy"),
    ("只有管理员可以删除项目", "管理员可以删除项目"),
]

CORRECTIONS = [
    ("The release of the beta is planned for 12 May", "The release of the beta is planned for 19 May"),
    ("The rate limit of the gateway is 100", "The rate limit of the gateway was 200"),
    ("The database host of staging is 10.0.0.1", "The database host of staging is 10.0.0.2"),
    ("Step 3 was reviewed", "Step 3 and 4 were reviewed"),
    ("There is a cache in front of the API", "There is no cache in front of the API"),
    ("Uses *pytest* with 4 workers", "Uses pytest with 8 workers"),
]


def judged(old: str, new: str, said: tuple[str, str] = ("", "")) -> Verdict:
    one, other = (
        side(text, "general", [entity.canonical for entity in extract(text)], at)
        for text, at in zip((old, new), said, strict=True)
    )
    return judge(one, other, None, DiffRules(DiffSettings(), DEAF))


@each_row(("one", "other"), BOTH_TRUE)
def test_both_stay_in_either_order(one: str, other: str) -> None:
    assert (judged(one, other).action, judged(other, one).action) == ("ADD", "ADD")


@each_row(("old", "new"), WITHOUT_A_CONDITION)
def test_what_holds_only_on_a_condition_is_not_known_without_it(old: str, new: str) -> None:
    assert judged(old, new).action == "ADD"
    assert judged(new, old).action == "UPDATE"


@each_row(("old", "new"), CORRECTIONS)
def test_a_correction_replaces(old: str, new: str) -> None:
    assert judged(old, new).action in ("CONFLICT", "UPDATE")


@each_row(
    ("old", "new"),
    [
        ("Uses Redis for the cache", '* "Uses Redis for the cache".'),
        ("Uses Redis for the cache", "uses redis - for the cache"),
        ("Ask <ops@example.org> about it", "ask ops@example.org about it!"),
        ("See (the) _manual_ first", "See manual first"),
    ],
)
def test_marks_that_say_nothing_do_not_count(old: str, new: str) -> None:
    assert (judged(old, new).action, judged(new, old).action) == ("DUPLICATE", "DUPLICATE")


@each_row(
    ("old", "new"),
    [
        ("Yesterday I slept 7 hours", "Yesterday I slept 5 hours"),
        ("today deployed to production", "Today deployed to production."),
        ("昨天睡了7小时", "昨天睡了5小时"),
    ],
)
def test_another_day_is_another_today(old: str, new: str) -> None:
    days = ("2026-03-01T23:00:00.000000Z", "2026-03-05T08:00:00.000000Z")
    assert judged(old, new, days).reason.endswith("; but they speak of different days, so both stay")
    assert judged(old, new, (days[0], days[0])).action != "ADD"
    assert judged(old, new).action != "ADD"


@each_row(
    ("text", "words"),
    [
        ("The cache, (an LRU) is *small*.", "cache lru is small"),
        ("Room A is a room. A room!", "room a is room room"),
        ("x != y and -5 < .env", "x != y and -5 < .env"),
        ("- [done] see [0, 1)", "done see [0 1"),
        ("用 C++ 写。", "用 c++ 写"),
    ],
)
def test_plain_words(text: str, words: str) -> None:
    assert plain_words(text) == words.split()


def test_a_part_stands_there_word_for_word_and_without_a_condition() -> None:
    old = ["we", "deploy", "on", "friday", "if", "ana", "agrees"]
    assert not is_part([], old)  # "a" is no part of "^a+$"
    assert is_part([], [])
    assert is_part(["we", "deploy", "on", "friday"], ["and", "so", "we", "deploy", "on", "friday", "again"])
    assert not is_part(["we", "deploy", "on", "friday"], old)
    assert not is_part(["deploy", "friday"], old)
    assert is_part(["on", "on"], ["on", "it", "on", "on"])


words = st.lists(st.sampled_from("abcd"), max_size=12)


@given(words, words)
def test_changes_lead_from_one_to_the_other(one: list[str], other: list[str]) -> None:
    changes = changes_between(one, other)
    assert [word for change in changes for word in change.gone if word not in other] == [
        word for word in one if word not in other
    ]
    gained = sum(len(change.come) - len(change.gone) for change in changes)
    assert len(one) + gained == len(other)
    assert (changes == []) == (one == other)
    turned = changes_between(other, one)
    lost = sum(len(change.gone) for change in changes)
    assert lost == sum(len(change.come) for change in turned)


def test_of_long_texts_that_differ_widely_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_rules, "MAX_CELLS", 8)
    assert changes_between(list("xabcy"), list("xdefy")) == []
    assert changes_between(list("xaby"), list("xcdy")) == [Change(("a", "b"), ("c", "d"))]
