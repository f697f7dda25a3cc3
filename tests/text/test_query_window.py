"""The span of time a question asks about, told from Wednesday 2026-02-18."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.query_window import FOREVER_US, LONG_AGO_US, MAX_QUESTION, query_window
from tests.examples import examples
from tests.tables import each_row
from tests.text.test_dates import REFERENCE


def day(us: int) -> str:
    if us in (LONG_AGO_US, FOREVER_US):
        return ""
    return datetime.fromtimestamp(us / 1e6, UTC).date().isoformat()


def window(question: str) -> str | None:
    """ "first..day after the last", with a ~ before a soft one; an open end is empty."""
    found = query_window(question, REFERENCE)
    return None if found is None else f"{'' if found.hard else '~'}{day(found.start_us)}..{day(found.end_us)}"


@each_row(
    ("question", "expected"),
    [
        ("what did we do last week", "2026-02-09..2026-02-16"),
        ("what happened on 2023-05-08", "2023-05-08..2023-05-09"),
        ("what did Ann say on May 8, 2023?", "2023-05-08..2023-05-09"),
        ("when did Melanie go camping in June 2023", "2023-06-01..2023-07-01"),
        ("what happened in May", "2025-05-01..2025-06-01"),
        ("early May 2023", "2023-05-01..2023-06-01"),
        ("what did we ship in 2019?", "2019-01-01..2020-01-01"),
        ("in 2019 we shipped what", "2019-01-01..2020-01-01"),
        ("why did yesterday's deploy fail", "2026-02-17..2026-02-18"),
        ("what did he say on Friday", "2026-02-13..2026-02-14"),
        ("what did I do today", "2026-02-18..2026-02-19"),
        ("3 days ago or yesterday", "2026-02-15..2026-02-18"),
        ("what is planned for 2026-03-05", "2026-03-05..2026-03-06"),
        ("between March and May 2023", "2023-03-01..2023-06-01"),
        ("what changed between January 5 and January 9", "2026-01-05..2026-01-10"),
        ("between 3 May 2023 and 10 May 2023", "2023-05-03..2023-05-11"),
        ("from 2019 to 2021, what changed", "2019-01-01..2022-01-01"),
        ("what changed from 2019 to 2021.", "2019-01-01..2022-01-01"),
        ("from last week to yesterday", "2026-02-09..2026-02-18"),
        ("上周我们做了什么", "2026-02-09..2026-02-16"),
        ("昨天发生了什么", "2026-02-17..2026-02-18"),
        ("去年三月的决定", "2025-03-01..2025-04-01"),
        ("2019年的报告", "2019-01-01..2020-01-01"),
        ("从2023年3月到2023年5月", "2023-03-01..2023-06-01"),
    ],
)
def test_a_plain_date_leaves_everything_else_out(question: str, expected: str) -> None:
    assert window(question) == expected


@each_row(
    ("question", "expected"),
    [
        ("what did we decide recently", "~2026-01-19..2026-02-19"),
        ("what happened a while ago", "~2025-02-18..2026-02-12"),
        ("what did we do last summer", "~2025-06-01..2025-09-01"),
        ("最近有什么变化", "~2026-01-19..2026-02-19"),
        ("what did we do before March 2025", "~..2025-03-01"),
        ("what happened after 3 May 2023", "~2023-05-04.."),
        ("after 3 May 2023 and before 10 May 2023", "~2023-05-04..2023-05-10"),
        ("what changed since last week", "~2026-02-09.."),
        ("what changed since 2020", "~2020-01-01.."),
        ("2023年5月之前的决定", "~..2023-05-01"),
        ("2023年5月以来的决定", "~2023-05-01.."),
        ("2023年5月左右", "~2023-05-01..2023-06-01"),
        ("around June 2023", "~2023-06-01..2023-07-01"),
        ("what do I eat today", "~2026-02-18..2026-02-19"),
        ("今天做什么", "~2026-02-18..2026-02-19"),
        ("which meetings are there next week", "~2026-02-23..2026-03-02"),
        ("what did we use as of May 2023", "~2023-05-01..2023-06-01"),
        ("in 1999 rows", "~1999-01-01..2000-01-01"),
        ("between yesterday and the launch", "~2026-02-17..2026-02-18"),
    ],
)
def test_what_is_no_plain_date_only_weighs(question: str, expected: str) -> None:
    assert window(question) == expected


@each_row(
    "question",
    [
        "", "why did we switch before launch", "error 2019", "port 2022", "ran in 2048 threads", "version 2024.03.01",
        "what happened in 2048", "release 2024-10-01", "May I ask what happened", "how many days ago did we meet",
        "how long ago was it", "between 10 and 20 users", "between redis and sqlite", "from Monday to Friday",
        "before March 2025 or after May 2025", "HTTP 404", "1.2.3", "3 days", "CVE-2024-1234",
        "between May 2024 and May 2023",
    ],
)  # fmt: skip
def test_what_is_no_date_names_no_window(question: str) -> None:
    assert window(question) is None


def test_a_plain_date_outweighs_a_vague_one() -> None:
    assert window("recently, or was it on 2023-05-08") == "2023-05-08..2023-05-09"


def test_the_end_of_a_long_text_is_not_read() -> None:
    assert window("x " * MAX_QUESTION + "yesterday") is None


WORDS = (
    "between", "from", "to", "and", "until", "before", "after", "since", "last", "week", "in", "2019", "May", "2023",
    "10", "yesterday", "today", "recently", "上周", "之前", "2023-05-08", "9999-12-31", "0001-01-01", "around", "the",
    "½", "ﷺ", "port", ",", ".", "?",
)  # fmt: skip


def test_a_place_that_folding_moved_is_no_date() -> None:
    assert query_window("½ yesterday e\u0301e\u0301", REFERENCE) is None


@given(
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.integers(-(2**63), 2**63),
)
@examples(300)
def test_any_question_at_any_time_has_a_window_that_is_one(question: str, now_us: int) -> None:
    found = query_window(question, now_us)
    assert found is None or LONG_AGO_US <= found.start_us < found.end_us <= FOREVER_US
    if found is not None and found.hard:
        assert found.start_us > LONG_AGO_US
        assert found.end_us < FOREVER_US


@each_row("blank", [" ", "\t", "\u3000", " \t"])
def test_a_run_of_blanks_is_one_blank(blank: str) -> None:
    """Runs of it were tried at every length: 2,000 of them took seconds."""
    spread = f"what did we do between{blank * 400}March{blank * 50}and{blank * 400}May 2023"
    assert window(spread) == window("what did we do between March and May 2023") is not None
