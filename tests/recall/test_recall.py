"""Recall: from a question to ranked memories, case by case."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
import pytest

from mnemond.embed.embedder import Embedder, Purpose
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import RetireInsight, Vector
from mnemond.model.memory import Insight, Scope
from mnemond.model.query import Filter, Query, Recalled
from mnemond.recall.default_profile import BASE, FALL
from mnemond.recall.recall import recall
from tests.index.worlds import insight, unit
from tests.recall.recall_world import weights
from tests.recall.talk import WordKnower
from tests.tables import each_row

AXES = ("redis", "sqlite", "python", "weather")
"""The directions of `WordAxes`: each of these words is one."""


class WordAxes:
    """A real if small embedder: one axis for each known word, and a synonym on each."""

    name = "word-axes"
    dimension = len(AXES)
    fingerprint = "sha256:word-axes"
    inline = True
    synonyms: dict[str, str] = {"cache": "redis", "database": "sqlite", "snake": "python", "rain": "weather"}  # noqa: RUF012

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        return [self._embed_one(text.lower().split()) for text in texts]

    def clear_cache(self) -> None:
        """Nothing is kept."""

    def _embed_one(self, words: list[str]) -> Vector | None:
        plain = [self.synonyms.get(word, word) for word in words]
        numbers = [plain.count(axis) for axis in AXES]
        return unit(*numbers) if any(numbers) else None


class OtherDimension(WordAxes):
    dimension = 7

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        return [np.ones(7, dtype=np.float32) for _ in texts]


def ticks() -> Callable[[], float]:
    """A stopwatch that advances a second at each look."""
    seconds = count()
    return lambda: float(next(seconds))


def store(*insights: Insight, embedded: bool = True) -> Snapshot:
    vectors = WordAxes().embed([found.content for found in insights]) if embedded else [None] * len(insights)
    return MemoryIndex.build(list(zip(insights, vectors, strict=True)), [], WordAxes.dimension).snapshot


def ask(snapshot: Snapshot, text: str, embedder: Embedder | None = None, limit: int = 10, **query: object) -> Recalled:
    wanted = Query(text=text, limit=limit, **query)  # type: ignore[arg-type]
    return recall(snapshot, wanted, embedder, ticks())


def ids(found: Recalled) -> list[str]:
    return [hit.insight.id for hit in found.hits]


NOTES = (
    insight("cache", "We chose redis for the session cache", category="decision", at=1),
    insight("store", "sqlite keeps the memories", category="decision", source="alice", at=2),
    insight("snake", "A python ate the server room mouse", category="fact", at=3),
    insight("sky", "rain again tomorrow", category="fact", at=4),
)


def test_words_and_meaning_both_find() -> None:
    found = ask(store(*NOTES), "redis", WordAxes())
    assert ids(found) == ["cache"]
    assert found.hits[0].via == ("keyword", "vector")
    by_meaning = ask(store(*NOTES), "database", WordAxes())
    assert ids(by_meaning) == ["store"]
    assert by_meaning.hits[0].via == ("vector",)
    by_word = ask(store(*NOTES), "mouse", WordAxes())
    assert (ids(by_word), by_word.hits[0].via) == (["snake"], ("keyword",))


def test_every_hit_carries_its_signals_and_the_score_is_made_of_them() -> None:
    found = ask(store(*NOTES), "is redis a good database", WordAxes(), explain=True)
    assert ids(found) == ["cache", "store"]
    assert sum(weights(found).values()) == pytest.approx(1.0)
    first, second = found.hits
    assert first.explanation is not None
    assert second.explanation is not None
    assert set(first.explanation.parts) == {"words", "meaning"}
    assert set(second.explanation.parts) == {"meaning"}
    behind = sum(first.explanation.parts.values()) - sum(second.explanation.parts.values())
    assert second.score == pytest.approx(first.score * math.exp(-behind / FALL), abs=1e-4)
    evidence = (first.signals.keyword + first.signals.similarity) / 2
    assert first.score == pytest.approx(found.meta.trust * (BASE + (1 - BASE) * evidence))
    assert found.meta.anchor_count == 2
    assert found.meta.embedding == "word-axes"


def test_nothing_relevant_is_nothing_found() -> None:
    found = ask(store(*NOTES), "quarterly tax return", WordAxes())
    assert ids(found) == []
    assert found.meta.hint == "sparse_results"


def test_faint_evidence_is_low_and_plain_evidence_is_high() -> None:
    faint = insight("faint", "redis " + " ".join(f"filler{number}" for number in range(300)))
    snapshot = store(faint, *NOTES[1:])
    low = ask(snapshot, "redis outage postmortem deadline owners agenda", limit=1)
    high = ask(snapshot, "sqlite keeps the memories", WordAxes(), limit=1)
    assert (low.hits[0].confidence, high.hits[0].confidence) == ("low", "high")


def test_that_function_words_are_the_same_is_no_evidence() -> None:
    knower = WordKnower(("what", "is", "redis", "tea"))
    note = insight("note", "what is tea")
    snapshot = MemoryIndex.build([(note, knower.embed([note.content])[0])], [], len(knower.axes)).snapshot
    (found,) = ask(snapshot, "what is redis tea", knower).hits
    assert found.signals.similarity == pytest.approx(1 / math.sqrt(6))  # with "what is" it would be sqrt(3) / 2


def test_stage_times_come_from_the_stopwatch_in_order() -> None:
    found = ask(store(*NOTES), "redis", WordAxes())
    assert list(found.meta.stages_ms.items()) == [
        (stage, 1000.0) for stage in ("embed", "question", "terms", "vector", "rank", "order")
    ]


@each_row("text", ["", "   ", "?!… — “”", "what is the", "\x00\u202e"])
def test_a_query_without_words_gets_the_newest(text: str) -> None:
    found = ask(store(*NOTES), text, WordAxes(), limit=2)
    assert ids(found) == ["sky", "snake"]
    assert found.meta.hint == "empty_query"
    assert {hit.via for hit in found.hits} == {("recency",)}
    assert {hit.confidence for hit in found.hits} == {"low"}


def test_a_query_without_words_still_has_an_intent_and_no_second_look() -> None:
    given = ask(store(*NOTES), "what is the", intent="WHY")
    assert (given.meta.intent, given.meta.intent_source, given.meta.rerank.applied, given.meta.rerank.reason) == (
        "WHY",
        "override",
        False,
        None,
    )
    read = ask(store(*NOTES), "when was it", rerank=True)
    assert (read.meta.intent, read.meta.intent_source, read.meta.rerank.applied, read.meta.rerank.reason) == (
        "WHEN",
        "auto",
        False,
        "short_query",
    )


def test_an_empty_store_finds_nothing() -> None:
    snapshot = MemoryIndex(WordAxes.dimension).snapshot
    assert ids(ask(snapshot, "redis", WordAxes())) == []
    assert ids(ask(snapshot, "", WordAxes())) == []


def test_one_row_is_found_though_its_signals_do_not_vary() -> None:
    found = ask(store(NOTES[0]), "redis", WordAxes())
    assert ids(found) == ["cache"]
    assert sum(weights(found).values()) == pytest.approx(1.0)
    assert found.hits[0].signals.similarity == pytest.approx(1.0)


class Away(WordAxes):
    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        raise MnemonError(UNAVAILABLE, f"away for every {purpose}")


def test_an_embedder_that_is_away_leaves_the_words_and_a_reason() -> None:
    found = ask(store(*NOTES), "redis", Away())
    assert ids(found) == ["cache"]
    assert (found.meta.embedding, found.embed_error) == (None, "away for every query")
    assert ask(store(*NOTES), "the of", Away()).embed_error is None
    assert ask(store(*NOTES), "redis", Away(), anchors=frozenset({"keyword"})).embed_error is None
    assert ask(store(*NOTES), "redis", WordAxes()).embed_error is None


@each_row("embedder", [None, OtherDimension()])
def test_without_a_usable_vector_the_words_answer_alone(embedder: WordAxes | None) -> None:
    found = ask(store(*NOTES), "redis", embedder)
    assert ids(found) == ["cache"]
    assert weights(found) == {"keyword": 1.0, "entity": 0.0, "similarity": 0.0, "graph": 0.0}
    assert found.meta.embedding is None
    assert found.hits[0].signals.similarity == 0.0


def test_no_vectors_in_the_store_is_like_no_embedder() -> None:
    bare = store(*NOTES, embedded=False)
    assert ask(bare, "redis", WordAxes()) == ask(bare, "redis", None)


def test_rows_without_a_vector_are_still_found_by_their_words() -> None:
    vectors = WordAxes().embed([note.content for note in NOTES])
    half: list[Vector | None] = [None, *vectors[1:]]
    snapshot = MemoryIndex.build(list(zip(NOTES, half, strict=True)), [], WordAxes.dimension).snapshot
    found = ask(snapshot, "redis database", WordAxes())
    assert sorted(ids(found)) == ["cache", "store"]
    assert snapshot.embedded == 3


def test_a_query_the_model_does_not_know_goes_by_its_words() -> None:
    found = ask(store(*NOTES), "mouse", WordAxes())
    assert (ids(found), found.meta.embedding) == (["snake"], None)


def test_ablations_use_one_anchor() -> None:
    snapshot = store(*NOTES)
    words = ask(snapshot, "redis database", WordAxes(), anchors=frozenset({"keyword"}))
    meaning = ask(snapshot, "redis database", WordAxes(), anchors=frozenset({"vector"}))
    assert (ids(words), ids(meaning)) == (["cache"], ["store", "cache"])
    assert (weights(words)["keyword"], weights(meaning)["similarity"]) == (1.0, 1.0)
    assert ids(ask(snapshot, "redis", None, anchors=frozenset({"vector"}))) == []


def test_filters_apply_before_the_cut() -> None:
    crowd = [insight(f"crowd{number}", "redis redis redis", category="fact", at=number) for number in range(50)]
    snapshot = store(insight("wanted", "we once met redis in a long sentence", category="decision"), *crowd)
    assert ids(ask(snapshot, "redis", WordAxes(), limit=1, filter=Filter(category="decision"))) == ["wanted"]
    assert ids(ask(snapshot, "redis", WordAxes(), filter=Filter(source="nobody"))) == []
    assert ids(ask(snapshot, "", None, limit=1, filter=Filter(category="decision"))) == ["wanted"]


def test_rows_of_a_session_stay_hidden_from_those_outside() -> None:
    secret = [
        insight(f"s{number}", f"redis secret number{number}", scope=Scope(session_id="s1")) for number in range(9)
    ]
    snapshot = store(*NOTES, *secret)
    assert ids(ask(snapshot, "redis secret", WordAxes())) == ["cache"]
    assert ids(ask(snapshot, "", None, limit=20)) == ["sky", "snake", "store", "cache"]
    inside = ask(snapshot, "redis secret", WordAxes(), limit=20, filter=Filter(scope=Scope(session_id="s1")))
    assert set(ids(inside)) == {"cache", *(f"s{number}" for number in range(9))}
    everything = ask(snapshot, "redis secret", WordAxes(), limit=20, filter=Filter(all_sessions=True))
    assert set(ids(everything)) == set(ids(inside))


def test_a_retired_memory_is_gone_and_the_old_snapshot_still_has_it() -> None:
    index = MemoryIndex.build([(note, None) for note in NOTES], [], WordAxes.dimension)
    before = index.snapshot
    index.apply([RetireInsight("cache", "forgotten")])
    assert ids(ask(index.snapshot, "redis")) == []
    assert ids(ask(before, "redis")) == ["cache"]


def test_chinese_is_found_by_pairs_of_characters() -> None:
    snapshot = store(
        insight("storage", "我们决定使用SQLite作为存储"),
        insight("coffee", "他喜欢喝咖啡"),
        insight("tower", "東京タワーに行きました"),
    )
    assert ids(ask(snapshot, "为什么使用存储？", WordAxes()))[0] == "storage"
    assert ids(ask(snapshot, "咖啡")) == ["coffee"]
    assert ids(ask(snapshot, "タワー")) == ["tower"]


def test_a_tag_or_an_entity_is_as_good_as_a_word() -> None:
    snapshot = store(
        insight("a", "It was slow", tags=("performance",)), insight("b", "It was fast", entities=("Caroline",))
    )
    assert ids(ask(snapshot, "performance")) == ["a"]
    assert ids(ask(snapshot, "Caroline's opinion")) == ["b"]


def test_equal_scores_go_to_the_more_important_then_the_newer_then_the_smaller_id() -> None:
    snapshot = store(
        insight("b", "redis one", at=1),
        insight("a", "redis two", at=1),
        insight("newer", "redis three", at=2),
        insight("important", "redis four", at=0, importance=5),
    )
    assert ids(ask(snapshot, "redis", WordAxes())) == ["important", "newer", "a", "b"]
    assert ids(ask(snapshot, "redis", WordAxes(), limit=3)) == ["important", "newer", "a"]


def test_equal_texts_are_one_result_that_names_the_others() -> None:
    snapshot = store(*(insight(name, "redis", at=at) for at, name in enumerate(("old", "middle", "new"))), *NOTES[1:])
    found = ask(snapshot, "redis", WordAxes())
    assert ids(found) == ["new"]
    assert found.hits[0].also == ("middle", "old")


def test_a_second_look_has_its_say_over_more_than_is_wanted() -> None:
    talk = [insight(f"t{number}", f"redis redis redis cluster number{number}", at=number) for number in range(6)]
    snapshot = store(*talk, insight("exact", "the eviction of a redis cache is by age, as far as we know today", at=9))
    first = ask(snapshot, "redis cache eviction", WordAxes(), limit=1)
    again = ask(snapshot, "redis cache eviction", WordAxes(), limit=1, rerank=True)
    assert (first.meta.rerank.applied, first.hits[0].first_score) == (False, None)
    assert (again.meta.rerank.applied, again.meta.rerank.reason, ids(again)) == (True, None, ["exact"])
    assert again.hits[0].first_score is not None
    assert again.hits[0].first_score != again.hits[0].score
    short = ask(snapshot, "redis cache", WordAxes(), limit=1, rerank=True)
    assert (short.meta.rerank.applied, short.meta.rerank.reason) == (False, "short_query")
    assert short.hits == ask(snapshot, "redis cache", WordAxes(), limit=1).hits


def test_the_same_question_gets_the_same_answer() -> None:
    snapshot = store(*NOTES)
    assert ask(snapshot, "redis database rain", WordAxes()) == ask(snapshot, "redis database rain", WordAxes())


def test_few_results_are_hinted_at() -> None:
    snapshot = store(*NOTES)
    assert ask(snapshot, "redis", WordAxes(), limit=3).meta.hint == "sparse_results"
    assert ask(snapshot, "redis", WordAxes(), limit=2).meta.hint is None


def test_copies_of_one_text_do_not_crowd_out_what_else_there_is() -> None:
    copies = [insight(f"copy{number}", "redis", at=number) for number in range(30)]
    others = [insight(f"other{number}", f"redis and some more words {number}", at=number) for number in range(3)]
    found = ask(store(*copies, *others), "redis", WordAxes(), limit=4)
    assert set(ids(found)) == {"copy29", "other0", "other1", "other2"}
    assert len(found.hits[0].also) == 29


def test_a_source_that_the_reader_may_not_see_is_no_name() -> None:
    notes = [
        insight("asked", "is there a redis cache to clear?", conversation_id="c", source="ann", at=1),
        insight("told", "the cache of redis is cleared at night", conversation_id="c", source="bob", at=2),
    ]
    secret = insight("secret", "a cache of no interest", source="redis", scope=Scope(session_id="s1"), at=3)
    plain = ask(store(*notes), "redis cache", WordAxes())
    beside = ask(store(*notes, secret), "redis cache", WordAxes())
    assert ids(beside) == ids(plain)
    assert beside.meta.trust == plain.meta.trust == 1.0
    inside = ask(store(*notes, secret), "redis cache", WordAxes(), filter=Filter(scope=Scope(session_id="s1")))
    assert inside.meta.trust < 1.0
