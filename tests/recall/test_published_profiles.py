"""The rankings of Mnemosyne and of Mem0: starts, walk, prior and fixed weights, end to end and by their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from msgspec import UNSET

from mnemond.config.reading import AnchorSettings, PageRankSettings, PriorSettings
from mnemond.embed.embedder import Purpose
from mnemond.embed.embedder import precompute as asked_before
from mnemond.index.pagerank import DAMPING
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddInsight, PurgeInsight, Vector
from mnemond.model.memory import Insight
from mnemond.model.query import Query, Recalled
from mnemond.recall.profiles import (
    MEMORY_LAYER,
    MNEMOND,
    MNEMOSYNE,
    PROFILES_BY_NAME,
    Profile,
    apply_priors,
    prominence,
)
from mnemond.recall.question import scores_with_hypothetical, with_hypothetical
from mnemond.recall.ranking import vector_scores
from mnemond.recall.recall import recall
from tests.index.worlds import insight
from tests.recall.recall_world import DAY_US, NOW_US, Compass, ask, days_ago, ids, ticks, weights, with_settings, world
from tests.tables import each_row


class Reader:
    """Knows a few words, each a direction of its own; a text is the sum of those in it."""

    name = "reader"
    fingerprint = "sha256:reader"
    inline = True
    words = ("zebra", "yesterday", "stable", "crossing")
    dimension = len(words)

    def __init__(self) -> None:
        self.read: list[str] = []

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        self.read += texts
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> Vector | None:
        counts = np.array([text.lower().count(word) for word in self.words], dtype=np.float32)
        length = float(np.linalg.norm(counts))
        return counts / np.float32(length) if length else None

    def clear_cache(self) -> None:
        """Nothing is kept."""


def store(*rows: Insight) -> Snapshot:
    """Memories with the vectors the reader gives their texts."""
    reader = Reader()
    return MemoryIndex.build([(row, reader.vector(row.content)) for row in rows], (), reader.dimension).snapshot


def answered(snapshot: Snapshot, text: str, profile: Profile, embedder: object = None, **query: object) -> Recalled:
    wanted = Query(text=text, profile=profile.name, now_us=NOW_US, **query)  # type: ignore[arg-type]
    with patch.dict(PROFILES_BY_NAME, {profile.name: profile}):
        return recall(snapshot, wanted, embedder, ticks())  # type: ignore[arg-type]


HEAVY = with_settings(MNEMOND, prior=PriorSettings(weight=1.0))
"""The prior decides all of a score."""


# ------------------------------------------------------------ starts


def test_what_is_known_of_an_old_memory_makes_it_a_start() -> None:
    old = insight("old", "zebra, zebra, a zebra in the stable", at=days_ago(60), keywords="stable")
    new = insight("new", "zebra, zebra, the zebra of a stable", at=days_ago(0), keywords="stable")
    reader = Reader()
    found = answered(store(old, new), "stable", MNEMOSYNE, reader, mode="none")
    assert ids(found) == ["old"]  # 60 in 100 of which are its keywords now, and nothing of the new one
    assert "a few months ago" in reader.read
    assert "just now" in reader.read


def test_a_recent_memory_is_a_start_by_its_own_words() -> None:
    rows = [insight(name, text, at=days_ago(0)) for name, text in (("a", "zebra"), ("b", "stable"), ("c", "a zebra!"))]
    found = answered(store(*rows), "zebra", MNEMOSYNE, Reader(), mode="none")
    assert set(ids(found)) == {"a", "c"}


@each_row("many", [1, 3])
def test_so_many_starts_at_most(many: int) -> None:
    rows = [insight(f"r{number}", f"zebra number{number}", at=NOW_US) for number in range(9)]
    start = msgspec.structs.replace(MNEMOSYNE.settings.start_node, top_k=many)
    found = answered(world(rows), "zebra", with_settings(MNEMOSYNE, start_node=start), mode="none")
    assert len(found.hits) == found.meta.anchor_count == many


def test_without_vectors_words_decide_where_a_walk_starts() -> None:
    rows = [insight("a", "zebra crossing ahead", at=NOW_US), insight("b", "zebra something else here", at=NOW_US)]
    found = answered(world(rows), "the zebra crossing ahead", MNEMOSYNE, mode="none")
    assert ids(found)[0] == "a"
    assert {hit.via for hit in found.hits} == {("keyword",)}


def test_an_embedder_that_was_asked_before_is_asked_nothing_more() -> None:
    reader = Reader()
    snapshot = store(insight("a", "zebra", at=NOW_US, keywords="stable"))
    found = answered(snapshot, "zebra", MNEMOSYNE, asked_before(reader, "zebra"), mode="none")
    assert ids(found) == ["a"]
    assert reader.read == ["zebra"]


def test_nothing_to_start_at_is_no_answer() -> None:
    assert answered(world([]), "zebra", MNEMOSYNE).hits == ()
    assert answered(world([insight("a", "okapi")]), "zebra", MNEMOSYNE).hits == ()


# ------------------------------------------------------------ prior


def test_the_prior_is_that_of_its_vectors() -> None:
    """e = 28, p̂ = 1, a = 0 of 10 at most: .196445; e = 365, p̂ = 1, a = 10: .335."""
    rows = [
        insight("a", "zebra", at=days_ago(28)),
        insight("b", "zebra too", at=days_ago(365), access_count=10),
    ]
    snapshot = world(rows, [("a", "b", "semantic", 1.0)])
    assert prominence(snapshot, DAMPING).tolist() == [1.0, 1.0]
    hits = ask(snapshot, "zebra", now_us=NOW_US).hits
    told = apply_priors(snapshot, hits, NOW_US, HEAVY)
    priors = {hit.insight.id: hit.signals.prior for hit in told}
    assert priors == pytest.approx({"a": 0.196445, "b": 0.335}, abs=1e-6)
    assert [hit.score for hit in told] == sorted((hit.score for hit in told), reverse=True)
    product = with_settings(HEAVY, pagerank=PageRankSettings(combine="product"))
    of_product = apply_priors(snapshot, hits, NOW_US, product)
    assert {hit.insight.id: hit.signals.prior for hit in of_product}["b"] == pytest.approx(0.05, abs=1e-6)


def test_no_weight_leaves_every_score_as_it_is() -> None:
    rows = [insight(name, f"zebra {name}", at=days_ago(9 * at)) for at, name in enumerate("abc")]
    plain = ask(world(rows), "zebra", now_us=NOW_US)
    half = answered(world(rows), "zebra", with_settings(MNEMOND, prior=PriorSettings(weight=0.5)))
    assert {hit.signals.prior for hit in plain.hits} == {UNSET}
    before = {hit.insight.id: hit.score for hit in plain.hits}
    for hit in half.hits:
        assert isinstance(hit.signals.prior, float)
        assert hit.score == pytest.approx(before[hit.insight.id] * (0.5 + 0.5 * hit.signals.prior))


def test_what_is_far_behind_can_be_lifted_to_the_top() -> None:
    often = insight("often", "zebra among a great many other things that are said", at=NOW_US, access_count=100)
    rows = [often, *(insight(f"r{number}", "zebra zebra", at=days_ago(400 + number)) for number in range(1))]
    assert ids(ask(world(rows), "zebra", limit=1, now_us=NOW_US)) == ["r0"]
    assert ids(answered(world(rows), "zebra", HEAVY, limit=1)) == ["often"]


def test_how_central_rows_are_is_told_once_a_generation() -> None:
    snapshot = world([insight("a", "zebra"), insight("b", "zebra")], [("a", "b", "semantic", 1.0)])
    first = prominence(snapshot, DAMPING)
    assert prominence(snapshot, DAMPING) is first
    assert prominence(snapshot, 0.5) is not first


# ------------------------------------------------------------ questions noted with a memory


PROBLEM = insight("p", "Fixed the zebra crossing by painting it", at=NOW_US, trigger_type="problem-solution")


def test_a_memory_is_found_by_the_questions_noted_with_it() -> None:
    """Its text and "How do I fix the zebra crossing?" say the same here; another direction is what a text lacks."""
    reader = Reader()
    index = MemoryIndex.build([(PROBLEM, leaning_to("stable"))], (), reader.dimension)
    vector = reader.vector("zebra crossing")
    assert vector is not None
    cosines = index.snapshot.dense.similarity_approximate(vector)
    assert cosines.tolist() == [0.0]
    assert with_hypothetical(index.snapshot, cosines, vector, reader).tolist() == pytest.approx([1.0])
    profile = with_settings(MNEMOND, anchors=AnchorSettings(hypothetical=True))
    for text, found in (("crossing zebra", [1.0]), ("stable", [1.0])):
        hits = answered(index.snapshot, text, profile, reader, anchors=frozenset({"vector"})).hits
        assert [hit.signals.similarity for hit in hits] == pytest.approx(found)
    assert answered(index.snapshot, "crossing", MNEMOND, reader, anchors=frozenset({"vector"})).hits == ()


def leaning_to(word: str) -> Vector:
    found = Reader().vector(word)
    assert found is not None
    return found


def test_questions_are_embedded_once_a_generation_and_never_by_who_is_far() -> None:
    reader = Reader()
    index = MemoryIndex.build([(PROBLEM, leaning_to("stable"))], (), reader.dimension)
    vector, nothing = leaning_to("zebra"), np.zeros(1, dtype=np.float32)
    with_hypothetical(index.snapshot, nothing, vector, reader)
    read = list(reader.read)
    assert len(read) == 2
    with_hypothetical(index.snapshot, nothing, vector, reader)
    assert reader.read == read
    assert with_hypothetical(index.snapshot, nothing, vector, asked_before(reader, "zebra")) is nothing
    assert with_hypothetical(index.snapshot, nothing, vector, None) is nothing
    index.apply([AddInsight(insight("q", "okapi", at=NOW_US), None), PurgeInsight("p")])
    assert with_hypothetical(index.snapshot, np.zeros(2, np.float32), vector, reader).tolist() == [0.0, 0.0]


def test_without_questions_closeness_is_what_it_was() -> None:
    snapshot = store(insight("a", "zebra"))
    near = vector_scores(snapshot.parts.dense, leaning_to("zebra"), None)
    assert scores_with_hypothetical(snapshot, near, leaning_to("zebra"), Reader()) is near


# ------------------------------------------------------------ fixed weights


def test_fixed_weights_are_shared_by_the_signals_there_are() -> None:
    snapshot = world([insight("a", "zebra", entities=("Redis",))], cosines={"a": 0.5})
    with_vectors = answered(snapshot, "zebra Redis", MEMORY_LAYER, Compass())
    assert weights(with_vectors) == pytest.approx({"keyword": 0.2, "entity": 0.0, "similarity": 0.5, "graph": 0.3})
    (hit,) = with_vectors.hits
    assert hit.score == pytest.approx(0.2 * 1.0 + 0.5 * 0.5 + 0.3 * 1.0, abs=1e-6)
    words = answered(snapshot, "zebra Redis", MEMORY_LAYER)
    assert weights(words) == pytest.approx({"keyword": 0.4, "entity": 0.0, "similarity": 0.0, "graph": 0.6})


def test_being_new_is_no_reason_to_be_found() -> None:
    rows = [insight("a", "zebra", at=0), insight("b", "okapi", at=DAY_US)]
    assert ids(answered(world(rows), "zebra", MEMORY_LAYER)) == ["a"]


def test_what_the_prior_did_is_a_part_of_a_published_score_and_no_part_of_a_measured_one() -> None:
    rows = [insight(name, f"zebra {name}", at=days_ago(30 * at)) for at, name in enumerate("ab")]
    published = answered(world(rows), "zebra a", MNEMOSYNE, mode="none", explain=True)
    for hit in published.hits:
        assert hit.explanation is not None
        assert hit.explanation.parts["prior"] <= 0.0
        assert sum(hit.explanation.parts.values()) == pytest.approx(hit.score, abs=1e-3)
    measured = answered(world(rows), "zebra a", HEAVY, explain=True)
    assert [hit.explanation.above for hit in measured.hits if hit.explanation is not None] == [(), ()]
    assert all("prior" not in hit.explanation.parts for hit in measured.hits if hit.explanation is not None)
