"""The second look: what it changes, and when it leaves everything as it is."""

from __future__ import annotations

import pytest

from mnemond.config.reading import RerankRulesSettings, RerankSettings
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.index.writer import MemoryIndex
from mnemond.model.answers import Signals
from mnemond.model.memory import Insight, Scope
from mnemond.model.query import Hit
from mnemond.recall import rerank as rerank_module
from mnemond.recall.question import rarity
from mnemond.recall.rerank import (
    MAX_READ,
    MAX_RERANKED,
    Relevances,
    Reranked,
    RerankRequest,
    rerank,
    texts_to_rerank,
)
from tests.index.worlds import built, insight
from tests.tables import each_row

DAY_US = 86_400_000_000
DEFAULT = RerankSettings()
QUESTION = "redis cache eviction"


def hit(found: Insight, score: float) -> Hit:
    return Hit(found, score, "medium", ("keyword",), Signals(score, 0.0, 0.0, 0.0))


ROWS = [
    insight("a", "the shop has a large cache", at=0),
    insight("b", "redis cache eviction is lru", at=1, importance=4),
    insight("c", "nothing in common", at=2, pinned=True),
]
HITS = [hit(row, score) for row, score in zip(ROWS, (0.9, 0.8, 0.7), strict=True)]
INDEX: MemoryIndex = built(*ROWS)


def reranked(text: str = QUESTION, settings: RerankSettings = DEFAULT, given: Relevances | None = None) -> Reranked:
    return rerank(INDEX.snapshot, RerankRequest(text, Scope(), 30 * DAY_US), HITS, settings, given)


def scores(found: Reranked) -> dict[str, float]:
    return {each.insight.id: each.score for each in found.hits}


def test_half_of_a_score_is_what_the_words_say() -> None:
    found = reranked()
    cache = rarity(INDEX.snapshot, 2)  # in two of three memories, the others in one
    rare = rarity(INDEX.snapshot, 1)
    assert list(scores(found)) == ["b", "a", "c"]
    assert scores(found) == pytest.approx({"b": 0.4 + 0.5, "a": 0.45 + 0.5 * cache / (cache + 2 * rare), "c": 0.35})
    assert (found.applied, found.reason) == (True, None)


def test_beta_is_the_share_of_the_second_look() -> None:
    assert scores(reranked(settings=RerankSettings(late_weight=0.0))) == pytest.approx({"a": 0.9, "b": 0.8, "c": 0.7})
    assert scores(reranked(settings=RerankSettings(late_weight=1.0)))["b"] == pytest.approx(1.0)


LATE = MnemonError(UNAVAILABLE, "the model took longer than 2 s")


@each_row(
    ("text", "given", "reason"),
    [
        ("redis cache", None, "short_query"),
        ("what is the redis cache", None, "short_query"),
        ("", None, "short_query"),
        ("redis cache", [0.9, 0.1, 0.2], "short_query"),
        (QUESTION, LATE, "the model took longer than 2 s"),
    ],
)
def test_else_everything_stays_as_it_is_and_the_reason_is_told(
    text: str, given: Relevances | None, reason: str
) -> None:
    assert reranked(text, given=given) == Reranked(tuple(HITS), False, reason)


def test_the_relevances_of_a_model_count_as_much_as_lexical_ones() -> None:
    assert scores(reranked(given=[0.1, 0.2, 0.9])) == pytest.approx({"c": 0.8, "a": 0.5, "b": 0.5})
    assert texts_to_rerank(QUESTION, HITS, DEFAULT) == [row.content for row in ROWS]
    assert texts_to_rerank("redis cache", HITS, DEFAULT) == []


def test_rules_have_a_say_without_a_scorer_and_after_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = RerankSettings(rules=RerankRulesSettings(recent=True, important=True, own_scope=True, pinned=True))
    assert scores(reranked("x", settings=rules)) == pytest.approx({"a": 0.9, "b": 0.84, "c": 0.77})
    assert scores(reranked(settings=rules)) == pytest.approx(
        {key: value * {"a": 1.0, "b": 1.05, "c": 1.1}[key] for key, value in scores(reranked()).items()}
    )
    monkeypatch.setattr(rerank_module, "PINNED_FACTOR", 1.4)
    lifts = RerankSettings(rules=RerankRulesSettings(pinned=True))
    assert list(scores(reranked("x", settings=lifts))) == ["c", "a", "b"]


def test_a_memory_is_of_ones_own_scope_only_where_one_has_a_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank_module, "FACTOR", 1.1)
    rules = RerankSettings(rules=RerankRulesSettings(own_scope=True))
    own = hit(insight("d", "tea", scope=Scope(user_id="u1")), 0.5)
    common = hit(insight("e", "tea"), 0.5)
    for scope, expected in ((Scope(user_id="u1"), [0.55, 0.5]), (Scope(), [0.5, 0.5]), (Scope("u1", "s"), [0.5, 0.5])):
        found = rerank(INDEX.snapshot, RerankRequest("x", scope, 0), [own, common], rules)
        assert [each.score for each in found.hits] == pytest.approx(expected)


def test_of_a_long_memory_the_beginning_is_compared() -> None:
    late = hit(insight("d", "x " * (MAX_READ // 2) + QUESTION), 0.5)
    found = rerank(INDEX.snapshot, RerankRequest(QUESTION, Scope(), 0), [late])
    assert [each.score for each in found.hits] == [0.25]


def test_what_is_behind_the_first_hundred_stays_behind() -> None:
    many = [insight(f"m{number:03}", f"note {number}", at=number) for number in range(MAX_RERANKED)]
    last = insight("last", "redis cache eviction", at=999)
    hits = [hit(row, 0.9 - number / 1000) for number, row in enumerate([*many, last])]
    found = rerank(built(*many, last).snapshot, RerankRequest(QUESTION, Scope(), 0), hits)
    assert found.applied
    assert found.hits[-1].insight.id == "last"
    assert [each.score for each in found.hits] == sorted((each.score for each in found.hits), reverse=True)
