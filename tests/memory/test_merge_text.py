"""Merging two texts without a model: nothing of either is lost, and what both say is there once (spec 10.4)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.merged_text import clauses, lost, merged_text
from mnemond.text.similarity import token_set
from tests.tables import each_row

CASES = {
    "both where half of the words are alike": (
        "Service A runs in Frankfurt",
        "Service A runs on port 80",
        "Service A runs in Frankfurt; Service A runs on port 80",
    ),
    "what only the older says is appended": (
        "Deploys run from GitHub Actions.",
        "Deploys run from Jenkins. Rollbacks need two approvals!",
        "Deploys run from GitHub Actions; Deploys run from Jenkins; Rollbacks need two approvals!",
    ),
    "what the newer repeats is not": (
        "The cache lives in Redis and expires at noon",
        "The cache expires at noon; the cache lives in Redis.",
        "The cache lives in Redis and expires at noon",
    ),
    "what the older repeats is not": (
        "Integration tests need Docker.",
        "Integration tests need Docker and ports 15000 to 15100.",
        "Integration tests need Docker and ports 15000 to 15100.",
    ),
    "the same words in another order": (
        "Bob reports to Alice",
        "Alice reports to Bob",
        "Bob reports to Alice; Alice reports to Bob",
    ),
    "what is restricted is no repetition": (
        "Deploys need approval only on Fridays",
        "Deploys need approval",
        "Deploys need approval only on Fridays; Deploys need approval",
    ),
    "a coordination that restricts is none": (
        "The gate opens, never before noon, and closes at ten",
        "The gate closes at ten",
        "The gate opens, never before noon, and closes at ten; The gate closes at ten",
    ),
    "one clause twice": ("tea at four", "coffee at noon; coffee at noon", "tea at four; coffee at noon"),
    "Chinese": (
        "部署改用 GitHub Actions。",
        "部署使用 Jenkins。回滚需要两个人批准。",
        "部署改用 GitHub Actions; 部署使用 Jenkins; 回滚需要两个人批准",
    ),
    "Chinese, an addition": ("日志保存三十天，之后归档", "日志保存三十天", "日志保存三十天，之后归档"),
    "a German date": (
        "Die Abgabe ist digital.",
        "Abgabe am 15. September.",
        "Die Abgabe ist digital; Abgabe am 15. September",
    ),
    "an abbreviation within brackets": (
        "Call the vendor first",
        "Support is at Acme (ext. 4411). Ask for Ms. Lee.",
        "Call the vendor first; Support is at Acme (ext. 4411); Ask for Ms. Lee",
    ),
    "a list, with its numbers": (
        "Standup is at nine",
        "- bring coffee\n2. bring slides",
        "Standup is at nine; bring coffee; 2. bring slides",
    ),
    "nothing to add": ("tea", "…", "tea"),
}


@each_row("case", CASES)
def test_examples(case: str) -> None:
    newer, older, together = CASES[case]
    assert merged_text(newer, older).text == together


def test_what_both_say_is_returned() -> None:
    assert merged_text("tea at four and milk", "tea at four").repeated == ("tea at four",)
    assert merged_text("tea", "tea at four").repeated == ("tea",)
    assert merged_text("tea", "milk").repeated == ()


def test_what_a_given_text_lacks_is_found() -> None:
    assert lost("Redis on port 80", ["Redis is fast. Port 80", "Port 81; Redis"]) == ["Redis is fast", "Port 81"]


def test_a_dot_does_not_always_end_a_clause() -> None:
    text = "Use v1.2.3 of mnemon.db, e.g. from J. Doe. It takes 1.5 s"
    assert list(clauses(text)) == ["Use v1.2.3 of mnemon.db, e.g. from J. Doe", "It takes 1.5 s"]
    assert list(clauses("Call Ana (ext. 4411). Room: Rm. 12 (see ch. 4; map). It works (We tried. Twice!) well.")) == [
        "Call Ana (ext. 4411)", "Room: Rm. 12 (see ch. 4; map)", "It works (We tried. Twice!) well",
    ]  # fmt: skip
    assert list(clauses("Never closed (so. Here\nnext (one. two")) == ["Never closed (so", "Here", "next (one", "two"]
    assert list(clauses("不关（a。b）。好")) == ["不关（a。b）", "好"]
    assert list(clauses("Im 3. Stock bis ca. 9 Uhr. Der 1. Mai ist frei")) == [
        "Im 3. Stock bis ca. 9 Uhr", "Der 1. Mai ist frei",
    ]  # fmt: skip


TEXTS = st.text(st.sampled_from("ab1.;!?。\n 中文，-works at is"), max_size=200) | st.text(max_size=100)
SENTENCES = st.lists(
    st.sampled_from(["the", "a", "cache", "port", "80", "Redis", "not", "only", "and", "in", "中文", ";", ".", "2."]),
    max_size=25,
).map(" ".join)


@given(TEXTS | SENTENCES, TEXTS | SENTENCES)
def test_every_word_of_both_is_there_and_a_second_time_changes_nothing(newer: str, older: str) -> None:
    together = merged_text(newer, older).text
    assert token_set(newer) | token_set(older) <= token_set(together)
    assert merged_text(together, older).text == together


@given(TEXTS)
def test_a_text_adds_nothing_to_itself(text: str) -> None:
    assert merged_text(text, text).text == text
