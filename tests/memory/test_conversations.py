"""Facts that the rules find in the conversations of benchmarks/data/conversations.jsonl, by language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemond.extract.facts import Context, Message
from mnemond.extract.rules import RuleEngine

CONVERSATIONS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "benchmarks/data/conversations.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
CONTEXT = Context(observed_us=1_780_000_000_000_000)


@pytest.mark.parametrize(("language", "least"), [("en", 0.50), ("de", 0.80), ("zh", 0.70)])
def test_of_the_facts_worth_keeping_a_share_is_found(language: str, least: float) -> None:
    """A fact is found if one stored sentence has all of its words. The floors are a little below what was measured."""
    found = expected = 0
    for each in CONVERSATIONS:
        if each["lang"] != language:
            continue
        messages = [Message(message["role"], message["content"]) for message in each["messages"]]
        contents = [fact.content.lower() for fact in RuleEngine().extract(messages, CONTEXT).facts]
        for gold in each["gold"]:
            expected += 1
            found += any(all(word.lower() in content for word in gold["must"]) for content in contents)
    assert found >= least * expected, f"{found} of {expected}"
