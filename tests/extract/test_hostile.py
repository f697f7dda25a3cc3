"""No text makes the engine raise, loop or take long, and nothing of what it is told to leave out gets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.extract.facts import MAX_FACTS, MAX_SENTENCE, Message
from mnemond.extract.quotes import MAX_ASKED
from tests.examples import examples
from tests.extract.exchanges import extracted
from tests.timing import cpu_s

PIECES = st.lists(
    st.sampled_from(
        ["I", " ", "I'm Ana", "prefer ", "tabs", ". ", "\n", "\n\n", "- ", "```\n", "`", "> ",
        "<a>", "</a>", "|", "'", "’",
         "<recalled-data 0123456789abcdef>", "</recalled-data 0123456789abcdef>", "because ",
         "So ", "we use Redis", "?",
         "always ", "never push", "It ", "its ", "yesterday", "(2026-02-17)", "https://x.io/a.", "e.g. ", "my name is ",
         "Ana", "decided to use ", "root cause was ", "我", "我们决定用", "，", "。", "叫王芳", "住在上海", "**",
         "[a](b)",
         "\u0301" * 40, "\u202e", "\x00"]
    ) | st.text(max_size=5)
).map("".join)  # fmt: skip


@given(PIECES, PIECES)
@examples(400, least=60)
def test_any_exchange_can_be_read(user: str, assistant: str) -> None:
    found = extracted(user, assistant)
    assert len(found.facts) <= MAX_FACTS
    for fact in found.facts:
        assert fact.content.strip() == fact.content != ""
        assert len(fact.content) <= MAX_ASKED + MAX_SENTENCE
        assert 1 <= fact.importance <= 10
        assert 0 < fact.confidence <= 1
    assert found == extracted(user, assistant)


@given(PIECES)
@examples(100)
def test_nothing_within_a_fence_is_kept(inside: str) -> None:
    """However it looks inside, as long as it does not end the fence."""
    inside = inside.replace("</recalled-data", "")
    text = f"<recalled-data fedcba9876543210>\nWe use Rust 1.80. {inside}\n</recalled-data fedcba9876543210>"
    assert extracted(text).facts == ()


@given(st.sampled_from(["name", "content"]), st.text(max_size=30))
@examples(60)
def test_any_name_can_be_somebodys(where: str, name: str) -> None:
    text = "I prefer tabs over spaces"
    said = Message("user", text, name=name) if where == "name" else Message("user", f"my name is {name}. {text}")
    facts = extracted(said).facts
    assert any("tabs over spaces" in each.content for each in facts) or where == "content"
    assert all(len(each.content.splitlines()) == 1 for each in facts)


SIZE = 100_000
REPEATED = [
    "a", " ", "I ", "I prefer tabs. ", "always ", "`", "`a` ", "\n", ".", "e.g. ", "<", "<a>\n",
    "```\n", "[", "[a](b", "*",
    "<recalled-data 0123456789abcdef>\n", "because it failed because ", "It runs on Go. ",
    "yesterday ", "\u0301", "Ab Cd ",
    "我们决定用", "我喜欢简洁的代码，", "We met yesterday. ", "root cause of ", "my name is ", "- x\n", "\t x\n",
    "_", "(",
    "the a the b ", "The staging database runs on Postgres 15. ", "i like a, and i like b, ", "we switched from a to ",
    "this is a line of some length that goes on and on without end at all\n", "word " * 79 + "end. ",
]  # fmt: skip


@pytest.mark.parametrize("run", ["…", ".", "?!"])
def test_a_run_of_marks_is_looked_at_once(run: str) -> None:
    """As long as an answer that is kept; one search over it holds every other thread."""
    assert cpu_s(lambda: extracted(Message("assistant", "they went" + run * (24_000 // len(run)) + "x"))) < 1.0


@pytest.mark.deep
@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("piece", REPEATED)
def test_no_text_takes_long(piece: str, role: str) -> None:
    text = (piece * (SIZE // len(piece) + 1))[:SIZE]
    assert cpu_s(lambda: extracted(Message(role, text))) < 5.0
