"""What is told below the results of a recall."""

from __future__ import annotations

from typing import Any

import msgspec

from mnemond.cli.recall import notes
from mnemond.model.answers import Explanation, RecallResult, RerankMeta, WindowView
from tests.cli.results import RECALLED
from tests.tables import each_row


def told(scores: tuple[float, ...] = (0.7, 0.4), **meta: Any) -> list[str]:
    hits = [
        msgspec.structs.replace(hit, score=score)
        for hit, score in zip(RECALLED.results[: len(scores)], scores, strict=True)
    ]
    return list(notes(RecallResult(results=hits, meta=msgspec.structs.replace(RECALLED.meta, **meta))))


@each_row(
    ("meta", "note"),
    [
        ({"trust": 0.38}, "trust .38: much of this is not from the source that the question names"),
        ({"rerank": RerankMeta(reason="short_query")}, "no second look: the question has fewer than three words"),
        ({"rerank": RerankMeta(reason="gone\x1b[2J")}, "no second look: gone\\x1b[2J"),
        (
            {"window": WindowView("2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", hard=False)},
            "about 2026-03-01 to 2026-04-01; other times count for less",
        ),
        (
            {"window": WindowView("2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", hard=True)},
            "about 2026-03-01 to 2026-04-01; other memories were left out",
        ),
    ],
)
def test_each_says_one_thing(meta: dict[str, Any], note: str) -> None:
    assert told(**meta) == [note]


def test_causes_before_effects_are_explained_only_where_they_changed_the_order() -> None:
    assert told((0.29, 0.66), intent="WHY") == ["causes are listed before their effects"]
    assert told((0.66, 0.29), intent="WHY") == []
    assert told((0.29, 0.66), intent="WHEN") == []


def test_letters_that_the_embedder_does_not_know_are_said_with_an_explanation() -> None:
    explained = [msgspec.structs.replace(hit, explanation=Explanation({"words": 1.0}, ())) for hit in RECALLED.results]
    meta = msgspec.structs.replace(RECALLED.meta, known_share=0.25)
    said = "minilm_static_256_int8 knows .25 of the letters of the question; the rest is ranked by words alone"
    assert list(notes(RecallResult(results=explained, meta=meta))) == [said]
    assert told(known_share=0.25) == []
