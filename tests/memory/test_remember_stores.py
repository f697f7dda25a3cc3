"""What a full store lets go of, that no secret reaches a file, and memories that meet in one batch of the writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings
from mnemond.errors import INTERNAL, MnemonError
from mnemond.memory.draft import Draft
from mnemond.memory.remember import prepare, propose
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.changes import Vector
from mnemond.model.memory import EDGE_TYPES, Trigger
from mnemond.model.outcomes import ForgetResult, RememberResult
from mnemond.store.engine import Engine
from mnemond.store.operations import Proposal
from tests.memory.memories import NOW_US, Memories, name
from tests.store.factories import EMBEDDER, engine_at, forget, insight_id, vector_of
from tests.store.mirror import mirrored
from tests.tables import each_row

OLD, NEW = "API rate limit is 100 req/s", "API rate limit is 200 req/s"


# ------------------------------------------------------------------ capacity


def small(most: int, batch: int = 10, **fields: Any) -> Memories:
    return Memories(Config(lifecycle=LifecycleSettings(max_insights=most, prune_batch=batch, **fields)))


WORDS = ("apples", "boats", "cars", "dogs", "engines", "fish")


def test_a_full_store_lets_go_of_what_matters_least_and_never_of_the_newcomer() -> None:
    over = small(3)
    for word, importance in zip(WORDS[:3], (3, 2, 3), strict=True):
        over.remember(word, importance=importance)
    decided = over.remember("engines", importance=1)
    assert (decided.outcome.auto_pruned, list(decided.retired)) == (1, [name(2)])
    assert decided.retired[name(2)].status == "pruned"
    assert over.snapshot.live == 3
    assert over.remember("fish", importance=1).retired.keys() == {name(4)}


def test_of_equal_ones_the_oldest_goes_and_at_most_a_batch() -> None:
    over = Memories()
    for word in WORDS[:5]:
        over.remember(word)
    tight = small(2, batch=2)
    tight.index, tight.made = over.index, over.made
    decided = tight.decided("fish")
    assert list(decided.retired) == [name(1), name(2)]
    assert (decided.outcome.auto_pruned, decided.outcome.pruned_ids) == (2, (name(1), name(2)))


@each_row(
    "fields", [{"importance": 4}, {"access_count": 3}, {"pinned": True}, {"when": (Trigger("Bash:git push*", "deny"),)}]
)
def test_when_all_are_immune_none_goes(fields: dict[str, Any]) -> None:
    over = small(1)
    over.remember("apples")
    over.change(1, **fields)
    assert over.decided("boats").outcome.auto_pruned == 0


def test_without_a_cap_nothing_goes() -> None:
    over = small(0)
    over.remember("apples")
    assert over.decided("boats").retired == {}


def test_the_older_of_a_pair_stays_and_its_partner_may_go() -> None:
    over = small(2)
    over.remember("apples", importance=1)
    over.remember("boats", importance=1)
    over.change(1, paired_with=name(2))
    over.change(2, paired_with=name(1))
    decided = over.decided("cars")
    assert list(decided.retired) == [name(2)]
    assert decided.put[name(1)].insight.paired_with is None


def test_a_replacement_adds_nothing_and_what_it_touches_is_spared() -> None:
    over = small(2)
    over.remember(OLD, importance=1)
    over.remember("apples", importance=1)
    decided = over.decided(NEW, importance=1)
    assert (decided.outcome.action, decided.outcome.auto_pruned) == ("replaced", 0)
    tight = small(1)
    tight.index, tight.made = over.index, over.made
    assert set(tight.decided(NEW, importance=1).retired) == {name(1), name(2)}


# ------------------------------------------------------------------ secrets


SECRET = "AKIA" + "PIX6EA6QOM66ZJOJ"


def test_secrets_are_gone_before_anything_is_decided() -> None:
    over = Memories()
    decided = over.decided(f"the key is {SECRET}", tags=[SECRET, "ops"], entities=[SECRET, "AWS"])
    assert decided.outcome.redacted != []
    assert SECRET.encode() not in msgspec.json.encode(decided.outcome)
    assert SECRET not in repr(decided.change_set)
    kept = over.decided(f"the key is {SECRET}", allow_secret=True)
    assert SECRET in kept.added.content
    assert kept.outcome.redacted == []


def test_no_secret_reaches_the_file_the_index_or_the_log(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    [result] = engine.commit([proposed(engine, 1, f"the key is {SECRET}", tags=[SECRET], entities=[SECRET])])
    assert isinstance(result, RememberResult)
    assert engine.index.snapshot.document_frequencies([SECRET.lower()]) == [0]
    assert engine.index.snapshot.entity_spelling(SECRET.lower()) is None
    engine.close()
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


# ------------------------------------------------------------------ through the writer


def proposed(engine: Engine, number: int, text: str, vector: Vector | None = None, **fields: Any) -> Proposal:
    now_us = NOW_US + number
    who = WriteContext(
        id=insight_id(number), op_id=f"op-{number}", client_op_id=False, now_us=now_us, store="default",
        request_digest="",
    )  # fmt: skip
    config = Config()
    prepared = prepare(Draft(content=text, **fields), now_us, engine.index.snapshot.entity_spelling, config)
    return propose(msgspec.structs.replace(prepared, vector=vector), who, write_rules(EMBEDDER, config))


def test_of_two_equal_memories_in_one_batch_the_second_is_skipped(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    batch = [proposed(engine, number, "Bob prefers tea", vector_of(1)) for number in (1, 2)]
    first, second = engine.commit(batch)
    assert isinstance(first, RememberResult)
    assert isinstance(second, RememberResult)
    assert (first.action, second.action, second.id) == ("added", "skipped", first.id)
    assert mirrored(engine, tmp_path / "a.db")[insight_id(1)]["insight"].corroboration_count == 1
    engine.close()


def test_what_was_to_be_replaced_and_went_in_the_same_batch_is_not_replaced(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([proposed(engine, 1, OLD)])
    gone, added = engine.commit([forget(1), proposed(engine, 2, NEW)])
    assert isinstance(gone, ForgetResult)
    assert isinstance(added, RememberResult)
    assert (added.action, added.replaced_id, added.matched_id) == ("added", None, None)
    engine.close()


def test_of_two_corrections_in_one_batch_the_second_replaces_the_first(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([proposed(engine, 1, OLD, vector_of(1), entities=["Kong"])])
    batch = [
        proposed(engine, number, f"API rate limit is {number}00 req/s", vector_of(1), entities=["Kong"])
        for number in (2, 3)
    ]
    second, third = engine.commit(batch)
    assert isinstance(second, RememberResult)
    assert isinstance(third, RememberResult)
    assert (second.replaced_id, third.replaced_id) == (insight_id(1), insight_id(2))
    assert set(mirrored(engine, tmp_path / "a.db")) == {insight_id(3)}
    engine.close()


def test_a_replaced_memory_leaves_its_links_to_its_successor(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit(
        [proposed(engine, 1, OLD, entities=["Kong"]), proposed(engine, 2, "Kong was restarted", entities=["Kong"])]
    )
    [replaced] = engine.commit([proposed(engine, 3, NEW, importance=5)])
    assert isinstance(replaced, RememberResult)
    found = mirrored(engine, tmp_path / "a.db")
    assert {link[1] for link in found[insight_id(3)]["links"]} == {"temporal", "entity"}
    assert replaced.effective_importance == found[insight_id(3)]["insight"].effective_importance
    assert found[insight_id(3)]["degree"] == found[insight_id(2)]["degree"] == 2
    engine.close()


def test_a_row_that_was_compared_and_is_not_there_is_a_defect() -> None:
    over = Memories()
    over.remember(OLD)
    from mnemond.memory import remember

    decision = remember._Decision(
        over.prepared(NEW, NOW_US),
        WriteContext(id="x", op_id="x", client_op_id=False, now_us=NOW_US, store="s", request_digest=""),
        over.rules,
        over.snapshot,
        None,
    )
    with pytest.raises(MnemonError, match="is not in the index") as caught:
        decision._row("nobody")
    assert caught.value.kind is INTERNAL


def test_edges_are_values_a_store_can_hold() -> None:
    over = Memories()
    generator = np.random.default_rng(7)
    for number in range(30):
        words = " ".join(generator.choice(["Redis", "tea", "Kafka", "because", "lag", "Bob", "42"], 5))
        vector = generator.standard_normal(4).astype(np.float32)
        decided = over.remember(words, vector / np.linalg.norm(vector), conversation_id=f"c{number % 2}")
        edges = [edge for kind in EDGE_TYPES for edge in decided.edges(kind)]
        for edge in edges:
            assert edge.source_id != edge.target_id
            assert 0.0 <= edge.weight <= 1.0
            assert isinstance(msgspec.json.decode(edge.metadata), dict)
