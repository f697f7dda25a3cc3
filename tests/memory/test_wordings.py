"""Wordings of one statement, and statements that are only alike."""

from __future__ import annotations

import msgspec

from mnemond.memory.wordings import is_wording
from mnemond.model.memory import Insight
from tests.tables import each_row

SAME = """
The deploy takes about ten minutes | Deploying needs roughly ten minutes
The staging gateway restarts every night | Every night the staging gateway restarts itself
Alice prefers tea in the morning | In the morning Alice likes tea best
We store sessions in Redis | Redis holds our sessions
Backups of the database run at night | The database is backed up every night
小王喜欢在早上喝茶 | 早上喝茶是小王的习惯
"""

OTHER = """
Squad 7 owns billing | Squad 8 owns billing
Alice prefers tea in the morning | Alice prefers coffee in the morning
Alice likes tea | Bob likes tea
Alice reports to Bob | Bob reports to Alice
Standup is on Monday | The standup takes place on Tuesday
Copy to the server | Copy from the server
The staging cluster runs in Frankfurt | The production cluster is running in Dublin
Timeout is 5 s | The timeout was raised to 10 s
The test server is fast | The build server is fast
The API is public | The API is private these days
Ana is allergic to nuts | Ana isn't allergic to nuts at all
小王喜欢喝茶 | 小王喜欢喝咖啡
Redis holds the sessions | Redis holds the sessions of the web client for a day
"""


def pairs(text: str) -> list[tuple[str, str]]:
    return [(one, other) for line in text.strip().splitlines() for one, _, other in [line.partition(" | ")]]


def memory(content: str, *entities: str) -> Insight:
    now = "2026-01-01T00:00:00.000000Z"
    return Insight(id=content[:8], content=content, created_at=now, updated_at=now, entities=entities)


@each_row(("one", "other"), pairs(SAME))
def test_wordings(one: str, other: str) -> None:
    assert is_wording(memory(one), memory(other))
    assert is_wording(memory(other), memory(one))


@each_row(("one", "other"), pairs(OTHER))
def test_other_statements(one: str, other: str) -> None:
    assert not is_wording(memory(one), memory(other))
    assert not is_wording(memory(other), memory(one))


def test_names_that_were_found_and_categories_distinguish() -> None:
    one, other = memory("Tea is what Ana prefers", "Ana Kovač"), memory("Ana prefers tea", "Ana")
    assert not is_wording(one, other)
    assert is_wording(msgspec.structs.replace(one, entities=("Ana",)), other)
    decision = msgspec.structs.replace(other, category="decision")
    assert not is_wording(msgspec.structs.replace(one, entities=()), decision)


def test_long_texts_are_none() -> None:
    assert not is_wording(memory("x " * 200), memory("y " * 200))
