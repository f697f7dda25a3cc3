"""Whatever is written, in whatever batches, refusals among it: the index is what the file is."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import MnemonError
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    Change,
    ChangeSet,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    SetVector,
)
from mnemond.model.memory import EDGE_TYPES, CreatedBy, Edge, Entity, Insight, format_us
from tests.examples import examples
from tests.outcomes import remembered
from tests.store.factories import START_US, engine_at, insight_id, vector_of
from tests.store.mirror import importance_at, mirrored

NUMBERS = st.integers(0, 5)
IDS = NUMBERS.map(insight_id)
VECTORS = st.one_of(st.none(), NUMBERS.map(vector_of))
WEIGHTS = st.sampled_from([0.25, 0.5, 1.0])
MAKERS: st.SearchStrategy[CreatedBy] = st.sampled_from(["auto", "host", "worker"])
METADATA = st.sampled_from(
    ["{}", '{"a":1}', '{"a":2,"b":[]}', '{"c":"' + "x" * 4000 + '"}', '{"d":"' + "y" * 4000 + '"}']
)


@st.composite
def insights(draw: st.DrawFn) -> Insight:
    number = draw(NUMBERS)
    made = format_us(START_US + number)
    return Insight(
        insight_id(number), made, made, content=draw(st.sampled_from(["redis", "tea at four", "redis cache"])),
        importance=draw(st.integers(1, 5)), entities=draw(st.sampled_from([(), ("Redis",)])),
        pinned=draw(st.booleans()), paired_with=draw(st.one_of(st.none(), IDS)),
    )  # fmt: skip


@st.composite
def links(draw: st.DrawFn) -> list[Change]:
    """A causal edge, or both ways of another; made or taken away."""
    one, other = draw(st.lists(IDS, min_size=2, max_size=2, unique=True))
    kind: Any = draw(st.sampled_from(EDGE_TYPES))
    ends = [(one, other)] if kind == "causal" else [(one, other), (other, one)]
    audited = draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        return [RemoveEdge(source, target, kind, audited) for source, target in ends]
    weight, maker, metadata = draw(WEIGHTS), draw(MAKERS), draw(METADATA)
    return [AddEdge(Edge(source, target, kind, weight, metadata, maker), audited) for source, target in ends]


MENTIONS = st.one_of(st.none(), st.just(()), st.just((Entity("Redis", "redis", "tool"),)))
SINGLE: st.SearchStrategy[Change] = st.one_of(
    st.builds(AddInsight, insights(), VECTORS),
    st.builds(AddInsight, insights(), VECTORS),
    st.builds(PutInsight, insights(), embedded=st.booleans(), vector=VECTORS, mentions=MENTIONS),
    st.builds(RetireInsight, IDS, st.just("superseded"), st.one_of(st.none(), IDS)),
    st.builds(RestoreInsight, insights(), VECTORS),
    st.builds(PurgeInsight, IDS),
    st.builds(SetVector, IDS, NUMBERS.map(vector_of)),
)
OPERATIONS = st.lists(st.one_of(SINGLE.map(lambda change: [change]), links(), links()), min_size=1, max_size=4)
BATCHES = st.lists(st.lists(OPERATIONS, min_size=1, max_size=4), min_size=1, max_size=5)


def written(number: int, changes: Sequence[Sequence[Change]]) -> ChangeSet:
    now = format_us(START_US + number * 86_400_000_000)
    outcome = remembered(None, f"op-{number}")
    return ChangeSet(f"op-{number}", False, "test", now, tuple(each for some in changes for each in some), outcome)


START = [
    AddInsight(Insight(insight_id(n), format_us(START_US), format_us(START_US), content=f"start {n}"), vector_of(n))
    for n in range(4)
]


@examples(40)
@given(BATCHES)
def test_the_index_is_what_the_file_is(batches: list[list[list[list[Change]]]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.db"
        defects: list[BaseException] = []
        engine = engine_at(path, defects=defects)
        engine.commit([written(0, [START])])
        number = 0
        for batch in batches:
            before, first = mirrored(engine, path), number + 1
            results = engine.commit([written(number := number + 1, operation) for operation in batch])
            found = mirrored(engine, path)
            if all(isinstance(result, MnemonError) for result in results):
                assert found == before
            if len(results) == 1 and not isinstance(results[0], MnemonError):
                now = written(first, []).now
                for name, after in found.items():
                    if name not in before or min(before[name]["degree"], 5) != min(after["degree"], 5):
                        assert after["insight"].effective_importance == importance_at(found, name, now)
        engine.close()
