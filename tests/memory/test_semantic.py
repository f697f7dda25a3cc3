"""Links by meaning."""

from __future__ import annotations

import math

from mnemond.config.writing import GraphSettings, SemanticSettings
from mnemond.memory.edge_builders import build_semantic
from tests.memory.small_store import Row, SmallStore, newcomer
from tests.recall.reading import added, metadata
from tests.tables import each_row

SETTINGS = GraphSettings()


def test_the_best_three_from_the_threshold_on() -> None:
    cosines = {"a": 0.81, "b": 0.79, "c": 0.95, "d": 0.8, "e": 0.9, "f": None}
    made = build_semantic(
        newcomer(), SmallStore(*(Row(name, cosine=cosine) for name, cosine in cosines.items())), SETTINGS
    )
    assert added(made)[::2] == [("new", "c", 0.95), ("new", "e", 0.9), ("new", "a", 0.81)]
    assert added(made)[1::2] == [("c", "new", 0.95), ("e", "new", 0.9), ("a", "new", 0.81)]
    assert metadata(made) == [{"sub_type": "auto"}] * 6


def test_the_threshold_is_the_one_given() -> None:
    settings = GraphSettings(semantic=SemanticSettings(auto=0.5, max_auto=1))
    made = build_semantic(newcomer(), SmallStore(Row("a", cosine=0.5), Row("b", cosine=0.4)), settings)
    assert added(made) == [("new", "a", 0.5), ("a", "new", 0.5)]
    assert build_semantic(newcomer(), SmallStore(Row("a", cosine=0.79)), SETTINGS) == []


@each_row(("cosine", "weight"), [(1.0000001, 1.0), (-0.2, 0.0), (math.nan, 0.0), (math.inf, 1.0)])
def test_the_weight_stays_within_its_bounds(cosine: float, weight: float) -> None:
    class Any(SmallStore):
        def similar(self, at_least: float, k: int) -> list[tuple[str, float]]:
            return [("a", cosine)]

    assert added(build_semantic(newcomer(), Any(), SETTINGS)) == [("new", "a", weight), ("a", "new", weight)]


def test_a_row_is_never_linked_with_itself() -> None:
    assert build_semantic(newcomer(), SmallStore(Row("new", cosine=1.0)), SETTINGS) == []
