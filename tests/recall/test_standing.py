"""Sentences of a person that sound like standing instructions."""

from __future__ import annotations

import numpy as np

from mnemond.index.passages import PassageIndex
from mnemond.model.passages import Passage
from mnemond.recall.standing import FROM, MOST, kinds_of, log_odds, own, standing_instructions, weight_names
from tests.tables import each_row


@each_row(
    "text",
    [
        "btw the generated clients are off limits, never edit them by hand, they come from the schema",
        "and every endpoint has to have an example in the docs, otherwise support calls me",
        "please ask me before you add dependencies, legal has to look at every licence",
        "Und bitte immer erst die Tests laufen lassen, bevor du einen Commit machst",
        "bei uns gehört in jeden Commit die Ticketnummer, sonst findet das niemand",
        "以后所有接口都必须先写文档,不然前端没法对接",
    ],
)
def test_an_instruction_is_quoted(text: str) -> None:
    assert log_odds(text) >= FROM


@each_row(
    "text",
    [
        "why is the nightly build red again?",
        "ok, looks good",
        "the import hangs since this morning",
        "kannst du mal in den Scheduler schauen",
        "mach weiter",
        "帮我看一下这个报错",
    ],
)
def test_what_is_said_of_the_work_is_not(text: str) -> None:
    assert log_odds(text) < FROM


def test_each_kind_has_a_name() -> None:
    assert len(kinds_of("never")) == len(weight_names()) == len(set(weight_names()))
    assert dict(zip(weight_names(), kinds_of("never"), strict=True))["never"]


MAIL = """see below

From: Ana Ruiz
Subject: names

Please never use abbreviations in names, and always ask me before you commit.

Best, Ana
"""


@each_row(
    ("prompt", "said"),
    [
        (MAIL, ["see below"]),
        ("```\nnever push to main\n```\nfix it", ["fix it"]),
        ("always keep this in mind:", []),
        ("never " + "x" * 300, []),
    ],
)
def test_only_what_a_person_types_counts(prompt: str, said: list[str]) -> None:
    assert own(prompt) == said


def told(*prompts: str, known: tuple[str, ...] = (), withdrawn: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    index = PassageIndex(dimension=8)
    for at, prompt in enumerate(prompts):
        index.add(Passage(id=f"p{at}", said_at=f"2026-11-{at % 28 + 1:02}T09:00:00Z", host="codex", prompt=prompt))
    snapshot = index.publish()
    found = standing_instructions(snapshot, np.arange(snapshot.rows), known, withdrawn)
    return [(it.text, it.passage_id) for it in found]


def test_what_a_withdrawn_memory_says_is_not_told() -> None:
    rule = "please never restart the broker before 22:00"
    assert told(rule, withdrawn=("never restart the broker before 22:00",)) == []
    assert told(rule, withdrawn=("the broker is restarted at 22:00 by cron on the second node",)) == [(rule, "p0")]


def test_of_two_that_say_the_same_the_newer_is_told() -> None:
    older = "please never restart the broker before 22:00"
    newer = "please never restart the broker before 23:30"
    assert told(older, "thanks", newer) == [(newer, "p2")]


def test_what_is_told_anyway_is_left_out() -> None:
    said = "please never restart the broker before 22:00"
    assert told(said, known=(f"[Ana] {said}",)) == []


def test_no_more_are_told_than_have_room() -> None:
    many = [f"please never change module{at} without asking me, team{at} owns area{at}" for at in range(2 * MOST)]
    assert len(told(*many)) <= MOST
    assert told("ok", "why does it fail?") == []
