"""When one statement corrects another: the signs one by one. Whole answers: tests/memory/test_corrections.py."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.recall.corrections import corrects
from mnemond.text.statements import statement
from tests.examples import examples
from tests.tables import each_row


def corrected(old: str, new: str) -> bool:
    return corrects(statement(old), statement(new))


@each_row(
    ("old", "new"),
    [
        ("I live in Berlin", "I moved to Hamburg last month"),
        ("I work at Google", "I now work at Anthropic"),
        ("The API key rotates every Monday", "The API key rotates every Friday now"),
        ("The project uses Python 3.11", "The project uses Python 3.13 now"),
        ("The database is Postgres 14", "The database was upgraded to Postgres 16"),
        ("The lead developer is Sam", "The lead developer is now Alex"),
        ("Sam is the lead developer", "Alex is the lead developer now"),
        ("Meetings are held on Zoom", "Meetings are now held on Google Meet"),
        ("The password manager is LastPass", "We replaced LastPass with 1Password"),
        ("Use yarn for installs", "Use pnpm instead of yarn for installs"),
        ("Logs are kept for 30 days", "Logs are kept for 90 days now"),
        ("The limit is 100 requests", "The limit was raised to 200 requests"),
        ("Reads take the lock", "Reads do not take the lock"),
        ("Reads do not take the lock", "Reads take the lock"),
        ("会议在周一", "会议改到周三"),
        ("我住在北京", "我搬到上海了"),
        ("办公室在三楼", "办公室搬到五楼了"),
        ("测试用unittest", "测试改用pytest"),
    ],
)
def test_what_corrects(old: str, new: str) -> None:
    assert corrected(old, new)


@each_row(
    ("old", "new"),
    [
        ("Sam is a developer", "Alex is a developer now"),
        ("The API uses JSON", "The CLI uses YAML now"),
        ("I visited Berlin", "I visited Hamburg"),
        ("The tests run with pytest", "The tests run on every commit"),
        ("We use Slack for chat", "We use Zoom for calls now"),
        ("User prefers dark mode in the editor", "User prefers light mode in the terminal"),
        ("Logs are kept for 30 days", "Backups are kept for 90 days now"),
        ("The API is fast", "The API is documented"),
        ("Redis runs on port 6379", "Redis runs on host db1"),
        ("Maria reviewed PR 12", "Maria reviewed PR 15"),
        ("My sister lives in Rome", "My brother lives in Milan now"),
        ("Deploys moved from Tuesdays to Thursdays", "Deploys moved from Tuesdays to Thursdays"),
        ("Backups run on Tuesdays", "Deploys moved from Tuesdays to Thursdays"),
        ("Jenkins was set up by Ben", "We switched from Jenkins to GitHub Actions"),
        ("We do not use Jenkins", "We switched from Jenkins to GitHub Actions"),
        ("We use Jenkins", "We might switch from Jenkins to GitHub Actions"),
        ("We might use Jenkins for CI", "We use GitHub Actions for CI now"),
        ("Reads take the lock", "Writes do not take the lock"),
        ("Locks", "No locks"),
        ("Sprint 12 is about search", "Sprint 13 is about search now"),
        ("Ana moved the piano to the hall", "Ana joined Globex"),
        ("小王住在北京", "小王喜欢上海"),
        ("前端用Vue", "后端现在用Go"),
        ("The team meets in the big room with the blue door", "The team now meets for lunch at noon with everyone"),
    ],
)
def test_what_does_not(old: str, new: str) -> None:
    assert not corrected(old, new)


WORDS = ("Ana", "we", "lives", "in", "Oslo", "moved", "to", "now", "from", "is", "the", "9", "Monday", "not",
         "instead of", "用", "周二", "换成", "在", "replaced by")  # fmt: skip
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


@given(SENTENCES, SENTENCES)
@examples(300)
def test_any_two_can_be_compared_and_none_corrects_itself(old: str, new: str) -> None:
    assert corrected(old, new) in (True, False)
    assert not corrected(old, old)
