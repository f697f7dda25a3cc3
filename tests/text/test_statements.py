"""What a sentence states: units in order, what changed, what is no longer so."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.statements import (
    BE,
    JOIN,
    LIVE,
    MAX_SENTENCE,
    MAX_SENTENCES,
    MAX_TEXT,
    MAX_UNITS,
    MOVE,
    NOW,
    RENAME,
    SWITCH,
    USE,
    WORK,
    _lists,
    announces,
    content_words,
    sentences,
    statement,
)
from tests.examples import examples
from tests.tables import each_row


@each_row(
    ("sentence", "units"),
    [
        ("Deploys go out on Tuesdays", ("deploy", "go", "out", "…on", "day:tue")),
        ("The standup is at 9:30", ("standup", "…at", "number:9:30")),
        ("It's planned for March", ("it", "plan", "…for", "month:mar")),
        ("My favourite editor is Vim", ("i", "favourit", "editor", "vim")),
        ("Our CI runs on Jenkins", ("ci", "jenkin")),
        ("每周二部署", ("day:tue", "部", "署")),
        ("我们用Redis做缓存", ("我", "redi", "…做", "缓", "存")),
        ("星期天休息", ("day:sun", "休", "息")),
        ("", ()),
        ("?! …", ()),
    ],
)
def test_units(sentence: str, units: tuple[str, ...]) -> None:
    assert statement(sentence).units == units


@each_row(
    ("sentence", "change", "state"),
    [
        ("Ana lives in Oslo", "", LIVE), ("Ana has moved to Bergen", MOVE, ""), ("The build is green", "", BE),
        ("We use tabs", "", USE), ("We switched to spaces", SWITCH, ""), ("We changed the oil", "", ""),
        ("We switched everything over", "", ""), ("We moved everything to Lyon", MOVE, ""),
        ("As of this week Carl works at Globex", NOW, WORK), ("From now on we use tabs", NOW, USE),
        ("We use tabs from the start", "", USE), ("As usual we use tabs", "", USE),
        ("It was renamed to Heron", RENAME, BE), ("Ben joined Globex", JOIN, ""), ("现在用Redis", NOW, USE),
        ("安娜搬到了卑尔根", MOVE, ""), ("它的作用很大", "", ""),
        ("Starting on Monday it is Ana", NOW, BE), ("Since it is now moved to Lyon", MOVE, BE),
    ],
)  # fmt: skip
def test_what_changed_and_what_is(sentence: str, change: str, state: str) -> None:
    read = statement(sentence)
    assert (read.change, read.state) == (change, state)


@each_row(
    ("sentence", "gone", "units", "headless"),
    [
        ("We switched from Jenkins to GitHub Actions", ("jenkin",), ("we", "github", "action"), False),
        ("RabbitMQ was replaced by NATS", ("rabbitmq",), ("nat",), True),
        ("NATS replaced RabbitMQ", ("rabbitmq",), ("nat",), True),
        ("We replaced RabbitMQ with NATS", ("rabbitmq",), ("we", "nat"), False),
        ("Use pnpm instead of yarn", ("yarn",), ("pnpm",), False),
        ("Ben left Initech and joined Globex", ("initech",), ("ben", "globex"), False),
        ("缓存从Redis换成了Memcached", ("redi",), ("缓", "存", "memcach"), False),
        ("The tea comes from China", (), ("tea", "come", "china"), False),
    ],
)  # fmt: skip
def test_what_is_no_longer(sentence: str, gone: tuple[str, ...], units: tuple[str, ...], headless: bool) -> None:
    read = statement(sentence)
    if sentence.startswith("The tea"):
        assert read.gone == ()
        return
    assert (read.gone, read.units, read.headless) == (gone, units, headless)


@each_row(
    ("flag", "yes", "no"),
    [
        ("denies", "We don't use tabs any more", "We use tabs"),
        ("past", "The backup failed on Monday", "The backup runs every Monday"),
        ("supposed", "We might switch to spaces", "We switched to spaces"),
        ("supposed", "如果改用spaces", "改用spaces"),
        ("indefinite", "One option is Kafka", "The queue is Kafka"),
        ("role", "Priya is the owner of billing", "Priya is an owner"),
        ("labelled", "Sprint 12 is about search", "The limit is 12"),
        ("settles", "The queue is Kafka", "Ana likes tea"),
        ("settles", "Deploys go out on Tuesdays", "The backup was started on Monday"),
    ],
)
def test_what_else_is_told(flag: str, yes: str, no: str) -> None:
    assert getattr(statement(yes), flag)
    assert not getattr(statement(no), flag)


def test_names_are_written_with_a_capital_inside_a_sentence() -> None:
    assert statement("Yesterday (Ana) met Bob's friend in Oslo.").names == {"ana", "bob", "oslo"}


def test_sentences_without_questions_long_ones_and_the_rest_of_a_long_text() -> None:
    text = "One fact. Is it so? v1.2 is out; and tabs, but we use spaces\n真的吗？每周二部署。"
    text += "x" * (MAX_SENTENCE + 1)
    assert [each.text for each in sentences(text)] == [
        "One fact",
        "v1.2 is out",
        "and tabs",
        "we use spaces",
        "每周二部署",
    ]
    assert len(sentences("One fact. " * 50)) == MAX_SENTENCES
    assert sentences("a" * 10 + "\n" + "b " * MAX_TEXT)[0].text == "a" * 10
    assert len(statement("word" + " other thing" * 50).units) == MAX_UNITS


@each_row(
    ("text", "so"),
    [
        ("Deploys go out on Thursdays now", True), ("We don't do it any more", True), ("as of May it is so", True),
        ("from next week on", True), ("现在每周四", True), ("Deploys go out on Thursdays", False),
        ("每周四部署", False),
        ("as of", False), ("tea of the house", False), ("x" * MAX_TEXT + " now", False),
    ],
)  # fmt: skip
def test_whether_a_text_may_announce_a_change(text: str, so: bool) -> None:
    assert announces(text) is so


def test_every_phrase_that_tells_of_a_change_is_noticed() -> None:
    for first, phrases in _lists().phrases.items():
        for rest, kind in phrases:
            if kind in (NOW, MOVE, SWITCH, RENAME, JOIN, "gone_before", "gone_after"):
                assert not _lists().announcing.isdisjoint((first, *rest)), (first, *rest)


def test_words_that_say_something() -> None:
    assert content_words("we moved the retro to wednesday") == {"we", "moved", "retro", "wednesday"}
    assert content_words("在三楼") == {"三", "楼"}


@given(st.text(max_size=200))
@examples(200)
def test_any_text_can_be_read(text: str) -> None:
    for each in sentences(text):
        read = statement(each.text)
        assert len(read.units) == len(read.words) <= MAX_UNITS
        assert 0 <= read.stated_at <= len(read.units) or read.headless
        assert isinstance(read.settles, bool)
        assert re.search(r"\?$", each.text) is None
