"""Negation, numbers and change cues, with pairs of texts that they decide."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.contrast import change_cues, labels, numbers, polarity
from tests.tables import each_row


def change_cue(text: str) -> str | None:
    return next(iter(change_cues(text)), None)


@each_row(
    "text",
    [
        "Deploys on Friday are not allowed",
        "User does not prefer dark mode",
        "It doesn't work",
        "It doesn’t work",
        "it dont work",
        "There are no tests",
        "never again",
        "a week without meetings",
        "We cannot ship",
        "We no longer use Jenkins",
        "neither Redis nor Memcached",
        "I don't like it, nor tea",
        "Nor do I",
        "Nobody knows. It is 5 o'clock",
        "我不喜欢",
        "没来",
        "没有经验",
        "别用它",
        "我们不再使用",
        "不仅慢，而且不稳定",
        "沒有",
    ],
)
def test_an_odd_number_of_negators_negates(text: str) -> None:
    assert polarity(text) == 1


@each_row(
    "text",
    [
        "",
        "Deploys on Friday are allowed",
        "See No. 5",
        "No, we use Redis",
        "a no-op",
        "not only fast",
        "no doubt it works",
        "whether or not it rains",
        "Why not use Redis?",
        "Never mind",
        "It works, doesn't it?",
        "I do not disagree without reason",
        "notable knots in the north",
        "不过很好",
        "不仅快",
        "不但快",
        "特别好",
        "区别",
        "别人",
        "分别",
        "有没有用",
        "是不是",
        "好不好",
        "差不多",
        "不得不做",
        "沉没",
        "没关系",
    ],
)
def test_what_only_looks_like_a_negator_does_not_count(text: str) -> None:
    assert polarity(text) == 0


@each_row(
    ("text", "expected"),
    [
        ("API rate limit is 100 req/s", {"100"}),
        ("API rate limit is 200 req/s", {"200"}),
        ("TTL 30 min", {"30"}),
        ("1,000 users, 1_000 rows", {"1000"}),
        ("1000", {"1000"}),
        ("10k users", {"10000"}),
        ("1,234.50", {"1234.50"}),
        ("007", {"7"}),
        ("0", {"0"}),
        ("Go 1.20 and Go 1.2", {"1.20", "1.2"}),
        ("$1.50", {"1.5"}),
        ("0.50", {"0.5"}),
        ("2.0", {"2"}),
        ("1.50ms", {"1.5"}),
        ("50%, 50 %, 50 percent", {"50%"}),
        ("12.50%", {"12.5%"}),
        ("v1.2.3", {"1.2.3"}),
        ("1.2.3", {"1.2.3"}),
        ("1.2.3-rc5", {"1.2.3rc5"}),
        ("v2", {"2"}),
        ("at 10:30", {"10:30"}),
        ("2/3 of them", {"2/3"}),
        ("100ms", {"100"}),
        ("100 ms", {"100"}),
        ("the 3rd of 5GB", {"3", "5"}),
        ("30-day, 10-20", {"30", "10", "20"}),
        ("-5 degrees", {"-5"}),
        ("x=3", {"3"}),
        ("localhost:8080", {"8080"}),
        ("May 8, 2023", {"2023-05-08"}),
        ("2023-05-08", {"2023-05-08"}),
        ("2023年5月8日", {"2023-05-08"}),
        ("8-10 May 2023", {"2023-05-08", "2023-05-10"}),
        ("2026-02-30", {"2026", "2", "30"}),
        ("有100个用户，超时30秒", {"100", "30"}),
        ("１００个", {"100"}),
    ],
)
def test_numbers_have_one_spelling(text: str, expected: set[str]) -> None:
    assert numbers(text) == expected


@each_row(
    "text",
    [
        "",
        "no digits",
        "sha256 utf8 utf-8 x86_64 gpt-4 m00012",
        "file_2.txt main.go:42 src/v2/a.py",
        "#1234 @user1",
        "https://x.io/12/34",
        "/var/log/12",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "commit 7f3a9bc",
        "github.com/a/b/v2",
        "0xff",
        "1.2.3.4.5.6.7.8.9",
    ],
)
def test_digits_of_names_are_no_numbers(text: str) -> None:
    assert numbers(text) == frozenset()


@each_row(
    ("text", "expected"),
    [
        ("Sprint 12 retro done", {"sprint 12"}),
        ("Phase 1: a plan", {"phase 1"}),
        ("PR 123 merged", {"pr 123"}),
        ("PR #123", {"pr 123"}),
        ("pull request #12", {"request 12"}),
        ("note 1, Note 007", {"note 1", "note 7"}),
        ("issue no. 5", {"issue 5"}),
        ("No. 5", {"no 5"}),
        ("sprint12, task-7, step_3", {"sprint 12", "task 7", "step 3"}),
        ("Sprint\n 12", {"sprint 12"}),
        ("Step 2.1 of release 1.2.3.", {"step 2.1", "release 1.2.3"}),
        ("step 1/5", {"step 1"}),
        ("chapters 3, 4 and 5", {"chapter 3", "chapter 4", "chapter 5"}),
        ("stories 3 & 4, pages 10-20", {"story 3", "story 4", "page 10", "page 20"}),
        ("the 3rd sprint, the 21st day", {"sprint 3", "day 21"}),
        ("fixes #12 (#13)", {"# 12", "# 13"}),
        ("step 0", {"step 0"}),
        ("第3章讲了缓存，第 十二 步", {"章 3", "步 12"}),
        ("第二阶段，第20期", {"阶段 2", "期 20"}),
        ("阶段2完成，任务 #12", {"阶段 2", "任务 12"}),
        ("Ｓｐｒｉｎｔ １２", {"sprint 12"}),
    ],
)
def test_numbers_that_name_what_a_text_is_about(text: str, expected: set[str]) -> None:
    assert labels(text) == expected


@each_row(
    "text",
    [
        "",
        "no digits",
        "rate limit is 100 req/s",
        "timeout 30 s",
        "uses Python 3.11",
        "port 5432",
        "costs 5 dollars",
        "meeting 30 min",
        "meeting 10:30",
        "meeting 3pm",
        "session 2023-05-08",
        "week 2023-12",
        "memory 16 GB",
        "test 50%",
        "test 1,000",
        "replicas 3",
        "tests: 45",
        "every day 5, a week 3, per page 20",
        "the 3rd of May",
        "ABC-12",
        "https://x.io/pull/12#3",
        "测试3次，会议30分钟",
        "第一百章",
        "3 steps",
    ],
)
def test_numbers_that_measure_name_nothing(text: str) -> None:
    assert labels(text) == frozenset()


@each_row(
    ("text", "expected"),
    [
        ("Chose PostgreSQL to replace SQLite as the primary database", "replace"),
        ("The replacement is ready", "replacement"),
        ("tea instead  of coffee", "instead of"),
        ("Switched to Go", "switched to"),
        ("switched the primary database to PostgreSQL", "switched to"),
        ("migrated our auth from Auth0", "migrated from"),
        ("moved to Berlin", "moved to"),
        ("the port changed to 8080", "changed to"),
        ("We no longer use Jenkins", "no longer"),
        ("The flag is deprecated", "deprecated"),
        ("tea rather than coffee", "rather than"),
        ("The team now uses uv", "now uses"),
        ("替换数据库", "替换"),
        ("改用 Go", "改用"),
        ("不再使用", "不再"),
        ("放弃了", "放弃"),
        ("取消会议", "取消"),
        ("", None),
        ("Uses Redis", None),
        ("I was moved. We go to town", None),
        ("the changes to the design", None),
        ("irreplaceable", None),
    ],
)
def test_change_cues(text: str, expected: str | None) -> None:
    assert change_cue(text) == expected


def test_all_change_cues_come_in_order() -> None:
    assert change_cues("No longer on Go 1.2; moved to Rust") == ("no longer", "moved to")


PIECES = st.sampled_from(
    [
        "no",
        "not",
        "n't",
        "nor",
        "neither",
        ".",
        "?",
        "1",
        "1,000",
        "v1.2",
        "%",
        "k",
        "1:2",
        "/",
        "-",
        "2023",
        "May",
        "8",
        "不",
        "没",
        "别",
        "moved",
        "to",
        "from",
        "now",
        "uses",
        "#",
        "step",
        "chapters",
        "第",
        "章",
        "and",
        "3rd",
    ]
)


@given(st.lists(PIECES, max_size=14))
def test_any_text_is_read(pieces: list[str]) -> None:
    for text in (" ".join(pieces), "".join(pieces)):
        assert polarity(text) in (0, 1)
        assert all(each == each.strip() and each for each in numbers(text))
        assert all(each.count(" ") == 1 for each in labels(text))
        assert change_cue(text) == (change_cues(text) or (None,))[0]


@given(st.text(max_size=80))
def test_no_text_raises(text: str) -> None:
    polarity(text)
    numbers(text)
    labels(text)
    change_cue(text)


def test_a_number_longer_than_python_converts_is_kept() -> None:
    assert numbers("1" * 5000) == {"1" * 5000}
