"""Which time a question is about."""

from __future__ import annotations

from mnemond.text.question_time import asks_former, asks_past, asks_state
from tests.tables import each_row


@each_row(
    ("text", "state"),
    [
        ("What is my budget?", True), ("how many cups", True), ("When do we meet", True), ("Which one", True),
        ("what car do I have", True), ("现在的预算", True), ("WHERE AM I", True),
        ("what was my budget", False), ("what is my previous budget", False), ("which did I use before", False),
        ("现在和以前", False), ("tell me of the budget", False), ("", False), ("somewhat issues", False),
    ],
)  # fmt: skip
def test_whether_a_question_asks_how_things_are(text: str, state: bool) -> None:
    assert asks_state(text) is state


@each_row(
    ("text", "past"),
    [
        ("What did we use before", True), ("what was my budget", True), ("之前用什么", True),
        ("what do we use", False), ("deploy day", False), ("what did we decide on for the queue", False),
        ("what did the whole team agree on", False), ("what did we decide on before", True),
    ],
)  # fmt: skip
def test_whether_a_question_asks_how_things_were(text: str, past: bool) -> None:
    assert asks_past(text) is past


@each_row(
    ("text", "state", "past"),
    [
        ("Wer ist die Kassenwartin?", True, False), ("Was kostet der Beitrag?", True, False),
        ("Wie hoch war der Beitrag?", False, True), ("Wer war vorher Kassenwartin?", False, True),
        ("Was ist das aktuelle Passwort?", True, False), ("Wann wurde der Verein gegründet?", False, True),
        ("Where did Rachel move to after her recent relocation?", False, True),
        ("Where did Rachel move to most recently?", False, False), ("what was my latest score", False, False),
        ("What is my current address, not the previous one", False, True),
    ],
)  # fmt: skip
def test_german_questions_and_words_for_now(text: str, state: bool, past: bool) -> None:
    assert (asks_state(text), asks_past(text)) == (state, past)


@each_row(
    ("text", "former"),
    [
        ("What was the budget originally?", "first"), ("what did Ana say at first", "first"),
        ("Wie hoch war der Beitrag ursprünglich?", "first"), ("会议最初在哪天", "first"),
        ("Who used to own billing?", "before"), ("Which queue did we use before NATS?", "before"),
        ("Where was the office?", "before"), ("Wer war früher Kassenwartin?", "before"),
        ("Wo lagen die Akten?", "before"), ("之前谁负责前端", "before"), ("who was the previous owner", "before"),
        ("what did we do before we left", None), ("What was my best time?", None), ("who owns billing", None),
        ("When did Ana run?", None), ("Was kostet der Beitrag?", None), ("wer ist aktuell dran", None),
        ("what was my latest score", None), ("used to it by now?", None), ("", None),
        ("what budget have I set for the initial fees", None),
    ],
)  # fmt: skip
def test_which_former_state_a_question_asks_for(text: str, former: str | None) -> None:
    assert asks_former(text) == former
