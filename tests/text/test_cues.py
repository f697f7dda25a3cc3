"""Cues of questions, of kinds of texts, and of cause and effect."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text import caches, cues
from mnemond.text.cues import (
    MAX_QUESTION,
    CausalCue,
    CueKind,
    Phrases,
    Reading,
    _lists,
    causal_cue,
    cue_counts,
    intent_of,
    reading,
)
from mnemond.text.tokens import tokens
from tests.examples import examples
from tests.tables import each_row

# ---------------------------------------------------------------- intents of questions


@each_row(
    ("question", "intent"),
    [
        ("why did we switch before launch", "WHY"),
        ("what is the reason we chose X", "WHY"),
        ("when was it", "WHEN"),
        ("tell me about Qdrant", "ENTITY"),
        ("runtime errors", "GENERAL"),
        ("为什么选择 Qdrant", "WHY"),
    ],
)
def test_questions_of_every_intent(question: str, intent: str) -> None:
    assert intent_of(question) == intent


@pytest.mark.parametrize(
    ("intent", "cues"),
    [
        (
            "WHY",
            "why|reason|reasons|because|cause|caused|causes|motivation|rationale|how come|为什么|原因|理由|为何|為什麼",
        ),
        (
            "WHEN",
            "when|time|date|before|after|during|since|until|timeline|history|什么时候|何时|时间|之前|之后|什麼時候",
        ),
        (
            "ENTITY",
            "what is|what are|what's|what’s|who is|tell me about|describe|是什么|谁是|关于|介绍|關於",
        ),
    ],
)
def test_every_cue_counts_by_itself(intent: str, cues: str) -> None:
    for cue in cues.split("|"):
        assert intent_of(f"Redis {cue} Bob") == intent, cue
        assert intent_of(f"数据库{cue.upper()}缓存") == intent, cue
        assert sum(cue_counts(cue).values()) == 1, cue


@each_row(
    "question",
    [
        "", "updates", "timeout", "sometime", "afternoon", "overdate", "whenever", "causeway", "described", "whys",
        "time_zone", "what isolation", "who isn", "it_because", "2date", "什么", "时", "redis cache", "?!",
    ],
)  # fmt: skip
def test_a_part_of_a_word_is_no_cue(question: str) -> None:
    assert intent_of(question) == "GENERAL"


@each_row(
    ("question", "intent"),
    [
        ("why when", "WHY"),
        ("describe when", "WHEN"),
        ("describe why", "WHY"),
        ("describe when why", "WHY"),
        ("when, since and why", "WHEN"),
        ("who is it, tell me about the reason", "ENTITY"),
        ("What   is\nthe plan", "ENTITY"),
        ("ＷＨＹ did it fail", "WHY"),
    ],
)
def test_the_most_cues_win_and_ties_have_an_order(question: str, intent: str) -> None:
    assert intent_of(question) == intent


def test_what_comes_late_in_a_long_text_asks_nothing() -> None:
    assert intent_of("x " * MAX_QUESTION + "why") == "GENERAL"


@given(st.text())
@examples(200)
def test_any_text_has_an_intent_and_case_does_not_matter(question: str) -> None:
    assert intent_of(question) in ("WHY", "WHEN", "ENTITY", "GENERAL")
    assert intent_of(question.casefold()) == intent_of(question.casefold().casefold())


# ---------------------------------------------------------------- kinds of texts


CUES = _lists().kinds
HINTS = ["tea", "Tee", "Käse", *sorted({hint for cue in CUES.values() for hint in (*cue.words, *cue.phrases)})]


def test_every_kind_has_its_words() -> None:
    assert set(CUES) == set(get_args(CueKind))


@each_row("kind", CUES)
def test_no_text_is_silent_where_a_hint_is_found(kind: CueKind) -> None:
    cue = CUES[kind]
    for hint in (*sorted(cue.words), *cue.phrases, *cue.chinese):
        read = reading(f"a {hint} b")
        heard = Reading(read.plain, read.words, read.phrases)
        assert read.has(kind) == heard.has(kind) <= (not read.silent)


def test_a_text_that_hints_at_nothing_is_silent() -> None:
    assert reading("the billing service listens on a socket").silent
    assert not reading("die Bücher").silent  # told for ASCII alone


@examples(100)
@given(st.lists(st.sampled_from(HINTS)))
def test_nothing_is_found_in_a_silent_text(words: list[str]) -> None:
    read = reading(" ".join(words))
    heard = Reading(read.plain, read.words, read.phrases)
    assert [read.has(kind) for kind in CUES] == [heard.has(kind) for kind in CUES]


# ---------------------------------------------------------------- phrases, also inside other words


ALL = sorted({phrase for cue in CUES.values() for phrase in (*cue.phrases, *cue.unless)})
PIECES = st.one_of(
    st.sampled_from(ALL),
    st.sampled_from(sorted({word for phrase in ALL for word in re.split("[ ']", phrase) if word})),
    st.sampled_from(("x", " ", ".", "'", "_", "s", "re", "é", "，")),
)
TEXTS = st.tuples(st.lists(PIECES, max_size=12), st.sampled_from(("", " "))).map(lambda made: made[1].join(made[0]))


def runs(text: str) -> frozenset[str]:
    return frozenset(re.findall("[a-z0-9]+", text))


@given(TEXTS)
@examples(300)
def test_phrases_are_those_that_stand_in_the_text(text: str) -> None:
    assert Phrases(ALL).found(text, runs(text)) == {phrase for phrase in ALL if phrase in text}


@given(st.lists(st.text("ab '是", min_size=1, max_size=5), max_size=8), st.text("ab '是", max_size=20))
@examples(300)
def test_any_list_of_phrases_will_do(wanted: list[str], text: str) -> None:
    listed = [phrase for phrase in wanted if re.search("[a-z是]", phrase)]
    assert Phrases(listed).found(text, runs(text)) == {phrase for phrase in listed if phrase in text}


def test_a_phrase_is_found_where_its_ends_are_inside_other_words() -> None:
    assert Phrases(["due to"]).found("a residue tornado", runs("a residue tornado")) == {"due to"}
    assert not Phrases(["due to"]).found("to residue", runs("to residue"))


@given(st.sampled_from(sorted(CUES)), TEXTS)
@examples(300)
def test_a_cue_is_found_as_by_looking_for_all_it_has(kind: CueKind, text: str) -> None:
    cue = CUES[kind]

    def occurs(plain: str) -> bool:
        return not cue.words.isdisjoint(tokens(plain)) or any(each in plain for each in (*cue.phrases, *cue.chinese))

    plain = bare = " ".join(text.split())
    for phrase in cue.unless:
        bare = bare.replace(phrase, " ")
    assert reading(text).has(kind) == (occurs(plain) and occurs(bare))


def test_only_so_many_words_are_remembered_and_none_that_is_long() -> None:
    listed = Phrases(["due to"])
    listed.found("", frozenset({"a" * cues.MAX_CACHED_WORD, "b" * (cues.MAX_CACHED_WORD + 1)}))
    assert set(listed._by_word) == {"a" * cues.MAX_CACHED_WORD}


def test_a_purge_leaves_no_word_behind() -> None:
    reading("they said it was confidential, because")
    assert "confidential" in _lists().phrases._by_word
    assert reading.cache_info().currsize
    caches.clear_all()
    assert not _lists().phrases._by_word
    assert not reading.cache_info().currsize


# ---------------------------------------------------------------- causal cues


@each_row(
    ("text", "expected"),
    [
        ("Chose SQLite because the team lacks Redis", ("effect", "causes", "because")),
        ("We pinned it since the proxy strips headers, and it needs a header", ("effect", "causes", "since")),
        ("Since we do not own the host, TLS stays off", ("effect", "causes", "since")),
        ("It was slow due  to the disk", ("effect", "causes", "due to")),
        ("The outage was caused by a full disk", ("effect", "causes", "caused by")),
        ("Late owing to the strike", ("effect", "causes", "owing to")),
        ("Fixed thanks to the new index", ("effect", "causes", "thanks to")),
        ("Disk was full. As a result the writes failed", ("effect", "causes", "as a result")),
        ("Failed as a result of the merge", ("effect", "causes", "as a result of")),
        ("Therefore we wait", ("effect", "causes", "therefore")),
        ("The key is short, thus weak", ("effect", "causes", "thus")),
        ("and hence slow", ("effect", "causes", "hence")),
        ("Consequently we left", ("effect", "causes", "consequently")),
        ("Split the file so that tests run alone", ("effect", "enables", "so that")),
        ("Cached in order to save calls", ("effect", "enables", "in order to")),
        ("We decided to leave AWS", ("effect", "causes", "decided to")),
        ("Qdrant was chosen because filtering is faster", ("effect", "causes", "because")),
        ("因为团队没有经验", ("effect", "causes", "因为")),
        ("由于网络慢", ("effect", "causes", "由于")),
        ("所以改了", ("effect", "causes", "所以")),
        ("因此失败", ("effect", "causes", "因此")),
        ("为了加快速度", ("effect", "enables", "为了")),
        ("加索引以便搜索", ("effect", "enables", "以便")),
        ("团队决定迁移", ("effect", "causes", "决定")),
        ("The flaky NFS mount leads to WAL corruption", ("cause", "enables", "leads to")),
        ("The leak led to a crash", ("cause", "enables", "led to")),
        ("This results in panics", ("cause", "causes", "results in")),
        ("The bug causes a crash", ("cause", "causes", "causes")),
        ("Caching enables offline use", ("cause", "enables", "enables")),
        ("The lock prevents races", ("cause", "prevents", "prevents")),
        ("Added a lock to prevent races", ("cause", "prevents", "prevent")),
        ("The firewall blocks port 22", ("cause", "prevents", "blocks")),
        ("It blocks the writer", ("cause", "prevents", "blocks")),
        ("The proxy blocked the upload", ("cause", "prevents", "blocked")),
        ("This ensures order", ("cause", "causes", "ensures")),
        ("Which means that clients wait", ("cause", "causes", "means that")),
        ("内存泄漏导致崩溃", ("cause", "causes", "导致")),
        ("锁可以防止竞争", ("cause", "prevents", "防止")),
        ("防火墙阻止访问", ("cause", "prevents", "阻止")),
        ("記憶體不足導致崩潰", ("cause", "causes", "導致")),
    ],
)
def test_every_cue_has_its_role_and_sub_type(text: str, expected: tuple[str, str, str]) -> None:
    cue = causal_cue(text)
    assert cue is not None
    assert (cue.role, cue.sub_type, cue.signal) == expected


@each_row(
    "text",
    [
        "",
        "We use Redis since 2019",
        "Caroline lives there since last May",
        "Things have been fine ever since we moved",
        "A lot's happened since we talked",
        "It has not changed since the metric was added",
        "since I was 17 I paint",
        "You developed since coming out. It was great",
        "since the release",
        "Validators miss some blocks in a row",
        "reject blocks with evidence",
        "the unavailable blocks a provider has",
        "The causes of the outage are unknown",
        "Search the results in Table 3",
        "All leads, so that was awesome",
        "enabled by default",
        "Many thanks to Jae",
        "Thanks to everyone who helped",
        "despite the rain",
        "Enable TLS",
        "the blocked queue",
        "cause-and-effect",
        "决定性的一步",
        "知其所以然",
        "a blockchain prevention",
    ],
)
def test_what_is_no_cue(text: str) -> None:
    assert causal_cue(text) is None


def test_the_first_cue_decides_the_role_and_the_strongest_the_sub_type() -> None:
    assert causal_cue("Because it leads to races, blocks writers") == CausalCue("effect", "enables", "because")
    assert causal_cue("It leads to races because the lock is gone") == CausalCue("cause", "enables", "leads to")
    assert causal_cue("Kept it despite the cost, because it prevents races") == CausalCue(
        "effect", "prevents", "because"
    )
    assert causal_cue("Enabled caching because it is slow") == CausalCue("effect", "enables", "because")
    assert causal_cue("blocking the loop, because of I/O") == CausalCue("effect", "prevents", "because")


@given(
    st.lists(
        st.sampled_from(
            ["because", "since", "blocks", "leads", "to", "the", "因为", "导致", "despite", "thanks", "we", ".", "is"]
        ),
        max_size=12,
    )
)
def test_any_text_is_read(words: list[str]) -> None:
    for text in (" ".join(words), "".join(words)):
        cue = causal_cue(text)
        assert cue is None or cue.signal in " ".join(text.split())


@given(st.text(max_size=80))
def test_no_text_raises(text: str) -> None:
    causal_cue(text)
