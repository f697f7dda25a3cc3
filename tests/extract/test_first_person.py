"""Who "I" is, and which form the verb takes then."""

from __future__ import annotations

import pytest

from mnemond.extract.discourse import Discourse, Mention
from mnemond.extract.english_reference import resolved
from mnemond.extract.facts import says_name, stated_name
from mnemond.extract.first_person import about, possessive, with_name


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I prefer tabs", "Ana prefers tabs"),
        ("I'm a nurse", "Ana is a nurse"),
        ("I’m a nurse", "Ana is a nurse"),
        ("I am here", "Ana is here"),
        ("I've moved", "Ana has moved"),
        ("I'd rather wait", "Ana would rather wait"),
        ("I'd moved by then", "Ana had moved by then"),
        ("I'll use Go", "Ana will use Go"),
        ("I don't like it and I can't say why", "Ana doesn't like it and Ana can't say why"),
        ("I haven't, I wasn't, I won't", "Ana hasn't, Ana wasn't, Ana won't"),
        ("I was, I were, I do, I have", "Ana was, Ana was, Ana does, Ana has"),
        ("I always use vim", "Ana always uses vim"),
        ("I usually try, I carefully watch", "Ana usually tries, Ana carefully watches"),
        ("I moved to Rome and I need tea", "Ana moved to Rome and Ana needs tea"),
        ("I like tea and hate coffee", "Ana likes tea and hates coffee"),
        ("I liked tea and love it", "Ana liked tea and love it"),
        ("i use fish", "Ana uses fish"),
        ("my shell, mine, by myself, to me", "Ana's shell, Ana's, by themselves, to Ana"),
        ("My shell is fish", "Ana's shell is fish"),
        ("when I deploy", "when Ana deploys"),
        ("we use our own", "we use our own"),
        ("use `my_var` and `I prefer`", "use `my_var` and `I prefer`"),
        ("I/O is slow, as is my-tool or AI", "I/O is slow, as is my-tool or AI"),
        ("tell you and your team", "tell the assistant and the assistant's team"),
        ("you don't need to", "the assistant doesn't need to"),
        ("Marek and I do backend", "Marek and Ana do backend"),
        ("You're late, your turn", "The assistant is late, the assistant's turn"),
        ("I", "Ana"),
        ("", ""),
    ],
)
def test_told_about_the_speaker(said: str, told: str) -> None:
    assert about("Ana", said) == told


def test_possessives() -> None:
    assert (possessive("Ana"), possessive("James")) == ("Ana's", "James'")


@pytest.mark.parametrize(
    ("verb", "form"),
    [
        ("fix", "fixes"), ("go", "goes"), ("carry", "carries"), ("play", "plays"), ("push", "pushes"),
        ("need", "needs"), ("needed", "needed"), ("wrote", "wrote"), ("can", "can"), ("be", "bes"),
    ],
)  # fmt: skip
def test_forms(verb: str, form: str) -> None:
    assert with_name(verb) == form


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my name is Ana", "Ana"),
        ("Hi, I'm Ana.", "Ana"),
        ("I'm Ana Lopez, I work at Acme", "Ana Lopez"),
        ("My name's jonas and so on", "jonas"),
        ("call me Bo", "Bo"),
        ("I'm Sorry.", None),
        ("I'm not sure", None),
        ("I'm Docker, no", None),
        ("I'm Berlin.", None),
        ("call me a taxi", None),
        ("我叫王芳，在上海", "王芳"),
        ("我的名字是Ana。", "Ana"),
        ("", None),
    ],
)
def test_names_that_are_stated(text: str, name: str | None) -> None:
    assert stated_name(text) == name


def test_an_introduction_and_nothing_else() -> None:
    assert says_name("I'm Ana")
    assert says_name("my name is Ana.")
    assert not says_name("I'm Ana and I like tea")
    assert not says_name("I like tea")


def about_redis() -> Discourse:
    discourse = Discourse()
    discourse.add([Mention("Redis", "name")])
    return discourse


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("It runs on Go", "Redis runs on Go"),
        ("It's slow", "Redis is slow"),
        ("It's been retired", "Redis has been retired"),
        ("Its port is 6379", "Redis' port is 6379"),
        ("That has a limit", None),
        ("This project uses pnpm", "This project uses pnpm"),
        ("It turned out that it never works", "It turned out that it never works"),
        ("This seems odd", None),
        ("It seems odd", None),
        ("We pin it because of numpy", "We pin Redis because of numpy"),
        ("Two workers listen there", "Two workers listen there (Redis)"),
        ("Redis is fine", "Redis is fine"),
    ],
)
def test_what_it_is(sentence: str, told: str | None) -> None:
    assert resolved(sentence, about_redis()) == told


@pytest.mark.parametrize("sentence", ["It runs on Go", "They run on Go", "He works at Acme", "Mine are blue"])
def test_nothing_was_named(sentence: str) -> None:
    assert resolved(sentence, Discourse()) is None
