"""What is told unasked: traits, probabilities, and how many memories are told."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed import registry
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory.cues import embed_memories
from mnemond.model.answers import Unasked
from mnemond.model.memory import Cue, Insight
from mnemond.model.query import Hit, Mode, Query
from mnemond.recall import unasked
from mnemond.recall.recall import recall
from mnemond.recall.unasked import BESIDE, TRAITS, ahead, of_pieces, script_of, shown_count
from mnemond.text.prompt_words import says_nothing
from tests.examples import examples
from tests.index.worlds import insight
from tests.tables import each_row

EMBEDDER = registry.create(registry.DEFAULT)

NOTES = (
    "Staging Postgres listens on db-stg port 5433, production on 5432 behind pgbouncer",
    "Rollbacks go through the blue deploy job, never by reverting on main",
    "Anke makes the firmware releases, Rahul owns antenna matching",
    "Grafana dashboards live in the observability repository",
    "灰度发布先切百分之五的流量，观察十分钟再全量",
    "Unit tests must not touch the network",
)


def noted(*texts: str, cues: dict[int, list[str]] | None = None) -> Snapshot:
    rows = [
        insight(f"m{place}", text, cues=tuple(map(Cue, (cues or {}).get(place, ()))))
        for place, text in enumerate(texts)
    ]
    vectors = embed_memories(EMBEDDER, [row.text for row in rows])
    return MemoryIndex.build(zip(rows, vectors, strict=True), [], EMBEDDER.dimension).snapshot


def judge(snapshot: Snapshot, text: str, **query: object) -> dict[str, Unasked]:
    found = recall(snapshot, Query(text, explain=True, **query), EMBEDDER, time.perf_counter)  # type: ignore[arg-type]
    return {
        hit.insight.id: hit.explanation.unasked
        for hit in found.hits
        if hit.explanation is not None and isinstance(hit.explanation.unasked, Unasked)
    }


def traits_of(snapshot: Snapshot, text: str, it: str) -> dict[str, float]:
    hits = recall(snapshot, Query(text, explain=True), EMBEDDER, time.perf_counter).hits
    results = unasked.results_of(snapshot, hits)
    assert results is not None
    values = unasked.Reader(snapshot, text, EMBEDDER.embed([text])[0], EMBEDDER).traits(results)
    [place] = [place for place, hit in enumerate(hits) if hit.insight.id == it]
    return dict(zip(TRAITS, values[place].tolist(), strict=True))


def test_what_a_memory_has_by_itself_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With cues a recall orders results by their traits, and judges them by the same."""
    read = list[str]()
    passages_of = unasked.passages_of

    def counted(it: Insight) -> list[str]:
        read.append(it.id)
        return passages_of(it)

    monkeypatch.setattr(unasked, "passages_of", counted)
    text = "which port does the staging postgres listen on?"
    snapshot = noted(*NOTES, cues={0: ["psql cannot reach staging"], 3: ["where are the dashboards"]})
    judged = judge(snapshot, text)
    assert len(judged) > 1
    assert sorted(read) == sorted(set(read))
    alone = unasked.Reader(snapshot, text, EMBEDDER.embed([text])[0], EMBEDDER)
    hits = recall(snapshot, Query(text, explain=True), EMBEDDER, time.perf_counter).hits
    assert unasked.judge(snapshot, hits, alone) == [judged[hit.insight.id] for hit in hits[: unasked.JUDGED]]


# ---------------------------------------------------------------- probabilities


@each_row(
    ("prompt", "needed"),
    [
        ("which port does the staging postgres listen on?", "m0"),
        ("who makes the firmware releases?", "m2"),
        ("灰度发布先切多少流量？", "m4"),
    ],
)
def test_what_a_prompt_needs_is_more_probable_than_the_rest(prompt: str, needed: str) -> None:
    found = judge(noted(*NOTES), prompt)
    assert found[needed].probability > 0.5
    assert all(each.probability < 0.2 for name, each in found.items() if name != needed)


@each_row("prompt", ["make the button blue", "what does this error mean?", "把这个按钮改成蓝色"])
def test_a_prompt_that_needs_nothing_gets_nothing(prompt: str) -> None:
    assert all(each.probability < 0.2 for each in judge(noted(*NOTES), prompt).values())


def test_a_cue_makes_its_memory_probable() -> None:
    prompt = "can I just force push this fix?"
    without = judge(noted(*NOTES), prompt).get("m1")
    cued = judge(noted(*NOTES, cues={1: ["force push a fix", "undo a bad release"]}), prompt)["m1"]
    assert cued.probability > 0.5 > (0.0 if without is None else without.probability)


def test_only_the_best_are_judged_and_only_if_explained() -> None:
    snapshot = noted(*(f"Note {place} about the kestrel service" for place in range(8)))
    assert len(judge(snapshot, "kestrel service notes")) == unasked.JUDGED
    hits = recall(snapshot, Query("kestrel service notes"), EMBEDDER, time.perf_counter).hits
    assert all(hit.explanation is None for hit in hits)


def test_published_rankings_judge_nothing() -> None:
    assert judge(noted(*NOTES), "which port does the staging postgres listen on?", profile="mnemon") == {}


def test_without_vectors_words_decide() -> None:
    rows = [(insight(f"m{place}", text), None) for place, text in enumerate(NOTES)]
    snapshot = MemoryIndex.build(rows, [], 2).snapshot
    query = Query("which port does the staging postgres listen on?", explain=True)
    best = recall(snapshot, query, None, time.perf_counter).hits[0]
    assert best.explanation is not None
    assert isinstance(best.explanation.unasked, Unasked)
    assert best.explanation.unasked.probability > 0.5


def test_reasons_are_the_weightiest_traits() -> None:
    found = judge(noted(*NOTES), "which port does the staging postgres listen on?")["m0"]
    assert len(found.reasons) == unasked.REASONS
    assert set(found.reasons) <= set(TRAITS)
    sizes = [abs(by) for by in found.reasons.values()]
    assert sizes == sorted(sizes, reverse=True)


@each_row("name", ["minilm_static_256_int8", "minilm_l6_v2_int8", ""])
@each_row("script", unasked.SCRIPTS)
def test_no_evidence_counts_against_a_memory(name: str, script: str) -> None:
    model = unasked._models()[name][script]
    evidence = [TRAITS.index(each) for each in unasked.EVIDENCE]
    assert (model.weight[evidence] >= 0.0).all()
    assert model.weight.any()


# ---------------------------------------------------------------- traits


def test_words_that_say_nothing_are_no_traits() -> None:
    snapshot = noted("Bitte die Datei in den Ordner legen, und dann die Seite laden", *NOTES)
    found = traits_of(snapshot, "und dann die postgres?", "m0")
    assert (found["share"], found["shared"], found["passage"]) == (0.0, 0.0, 0.0)


def test_shared_words_count_by_their_rarity() -> None:
    found = traits_of(noted(*NOTES), "antenna matching of the firmware", "m2")
    assert found["shared"] == pytest.approx(math.log(4))
    assert found["share"] == pytest.approx(1.0)
    assert found["second_word"] == pytest.approx(1.0)
    assert found["question"] == 0.0
    assert found["bm25_ahead"] > 0.0


def test_the_best_passage_may_be_a_cue() -> None:
    snapshot = noted(*NOTES, cues={5: ["mock the http client in a unit test"]})
    found = traits_of(snapshot, "mock the http client", "m5")
    assert found["by_cue"] == 1.0
    assert found["passages"] == pytest.approx(math.log(2))
    assert found["passage"] > traits_of(noted(*NOTES), "mock the network in unit tests", "m5")["passage"]


def test_category_and_importance_are_traits() -> None:
    row = insight("a", "Deploys happen on Tuesdays", category="decision", importance=5)
    snapshot = MemoryIndex.build([(row, EMBEDDER.embed([row.content])[0])], [], EMBEDDER.dimension).snapshot
    found = traits_of(snapshot, "when do deploys happen?", "a")
    assert (found["decision"], found["fact"], found["importance"], found["question"]) == (1.0, 0.0, 5.0, 1.0)


@each_row(
    ("word", "silent"),
    [("the", True), ("bitte", True), ("怎么", True), ("的数", True), ("要会", True), ("x", True), ("+", True),
     ("postgres", False), ("灰度", False), ("会议", False), ("straße", False)],
)  # fmt: skip
def test_words_that_say_nothing(word: str, silent: bool) -> None:
    assert says_nothing(word) == silent


@each_row(
    ("text", "script"),
    [
        ("why?", "alphabetic"),
        ("größer", "alphabetic"),
        ("把 staging 数据库 的端口改成 5433", "han"),
        ("", "alphabetic"),
    ],
)
def test_script(text: str, script: str) -> None:
    assert script_of(text) == script


@each_row(
    ("values", "wanted"), [([], []), ([2.0], [2.0]), ([3.0, 1.0, 2.0], [1.0, -2.0, -1.0]), ([2.0, 2.0], [0.0, 0.0])]
)
def test_ahead(values: list[float], wanted: list[float]) -> None:
    assert ahead(values) == wanted


@examples(60)
@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=6))
def test_any_text_has_finite_traits_and_a_probability(text: str, notes: list[str]) -> None:
    snapshot = noted(*notes)
    for each in judge(snapshot, text).values():
        assert 0.0 <= each.probability <= 1.0
        assert all(map(math.isfinite, each.reasons.values()))


def test_a_long_hostile_prompt_is_quick() -> None:
    snapshot = noted(*NOTES)
    begin = time.perf_counter()
    judge(snapshot, "staging postgres " * 20_000)
    judge(snapshot, "数" * 100_000)
    assert time.perf_counter() - begin < 5.0


# ---------------------------------------------------------------- how many are told


def test_the_best_of_many_pieces_is_less_probable() -> None:
    assert of_pieces(0.5, 1) == of_pieces(0.5, 0) == 0.5
    assert of_pieces(0.5, 16) == pytest.approx(1 / 3)
    assert of_pieces(0.0, 4) == 0.0
    assert of_pieces(1.0, 4) == 1.0


@each_row(
    ("probabilities", "count"),
    [
        ([], 0),
        ([0.44], 0),
        ([0.46, 0.1], 1),
        ([0.46, 0.3, 0.24, 0.23], 3),
        ([0.9, 0.8, 0.7, 0.6, 0.3], 4),
        ([0.44, 0.43], 0),
    ],
)
def test_beside_a_sure_memory_another_is_told(probabilities: list[float], count: int) -> None:
    assert BESIDE == 0.5
    assert shown_count(probabilities, 0.45) == count


def test_retired_memories_are_not_judged() -> None:
    index = MemoryIndex.build([(insight("a", NOTES[0]), None), (insight("b", NOTES[1]), None)], [], 2)
    hits = recall(index.snapshot, Query("staging postgres", explain=True), None, time.perf_counter).hits
    other = MemoryIndex.build([(insight("c", NOTES[0]), None)], [], 2).snapshot
    reader = unasked.Reader(other, "staging postgres", None, None)
    assert unasked.judge(other, hits, reader) == []
    assert unasked.judge(other, [], reader) == []


def test_coefficients_have_one_value_a_trait() -> None:
    model = unasked.coefficients({"intercept": [-2.0], "share": [1.5, 0.0, 1.0]})
    assert model.intercept == -2.0
    assert model.weight.shape == model.low.shape == (len(TRAITS),)
    assert np.flatnonzero(model.weight).tolist() == [TRAITS.index("share")]


# ---------------------------------------------------------------- the order of memories with cues


def found_for(snapshot: Snapshot, text: str, **query: Any) -> tuple[Hit, ...]:
    """Return the results of a question, explained."""
    return recall(snapshot, Query(text, explain=True, **query), EMBEDDER, time.perf_counter).hits


@each_row("mode", ["none", "ppr"])
def test_where_memories_have_cues_their_order_goes_by_how_well_they_fit(mode: Mode) -> None:
    cues = {1: ["force push a fix", "undo a bad release"], 2: ["build a firmware image"]}
    plain, cued = found_for(noted(*NOTES), "undo a release?"), found_for(noted(*NOTES, cues=cues), "undo a release?")
    assert all(hit.explanation is not None and "fitness" not in hit.explanation.parts for hit in plain)
    best = found_for(noted(*NOTES, cues=cues), "undo a release?", mode=mode)[0]
    assert best.insight.id == cued[0].insight.id == "m1"
    assert best.explanation is not None
    assert best.explanation.parts["fitness"] > 1.0
    assert "fitness" not in best.via


def test_an_order_does_not_depend_on_being_explained() -> None:
    snapshot = noted(*NOTES, cues={1: ["force push a fix", "undo a bad release"]})
    bare = recall(snapshot, Query("can I force push this?"), EMBEDDER, time.perf_counter).hits
    explained = found_for(snapshot, "can I force push this?")
    assert [(hit.insight.id, hit.score) for hit in bare] == [(hit.insight.id, hit.score) for hit in explained]


# ---------------------------------------------------------------- words that say nothing in a small store


def test_words_of_any_prompt_count_little_in_notes() -> None:
    notes = ("Please check that it works when you show the page", "Quokka permits are renewed in May", *NOTES)
    found = found_for(noted(*notes), "please check when we renew quokka permits")
    assert found[0].insight.id == "m1"
    asked = found_for(noted(*notes), "please show me how it works")
    assert asked[0].insight.id == "m0", "alone they are what is asked for"
