"""Sentences about a conversation and its moment are told from facts."""

from __future__ import annotations

import time

import pytest

from mnemond.extract.smalltalk import is_about_talk, is_of_the_moment, tells_of_own_work, without_speaker
from tests.tables import each_row


@each_row(
    "text",
    [
        "Agreed, thanks!",
        "A little friendlier please.",
        "Alles klar, danke dir!",
        "明白了,谢谢!",
        "Let's plan the trip.",
    ],
)
def test_thanks_and_requests_are_of_the_moment(text: str) -> None:
    assert is_of_the_moment(text)


@each_row(
    "text",
    ["It has 16 GB", "Please always answer in Norwegian", "The lift has been broken since May", "我们决定不用微服务了"],
)
def test_what_states_something_is_not(text: str) -> None:
    assert not is_of_the_moment(text)


@pytest.mark.parametrize("text", ["The user asks for a summary", "User thanked the assistant", "用户请求翻译"])
def test_a_sentence_about_the_talk_is_no_fact(text: str) -> None:
    assert is_about_talk(text)
    assert not is_about_talk("User asked-for leave".replace("asked-for", "took"))


def test_a_speaker_in_front_is_removed() -> None:
    assert without_speaker("User: the lift is broken") == "the lift is broken"


@pytest.mark.parametrize("text", ["I capped it at 20.", "Ich habe den Wert auf 5 gesetzt.", "我把它改成了20"])
def test_an_agent_that_did_something_says_so(text: str) -> None:
    assert tells_of_own_work(text)
    assert not tells_of_own_work("A mutex is a lock that one thread holds.")


def test_a_hostile_text_is_read_in_linear_time() -> None:
    begin = time.perf_counter()
    for text in ("I have " * 20_000, "Ich habe " * 10_000, "please " * 20_000, "User " * 20_000):
        is_of_the_moment(text)
        is_about_talk(text)
        tells_of_own_work(text)
    assert time.perf_counter() - begin < 10
