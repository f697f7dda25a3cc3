"""What config.toml says of writes is what writes go by, whatever valid values it gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from mnemond.config.loading import load
from mnemond.config.reading import HnswSettings, VectorSettings
from mnemond.config.sections import seconds
from mnemond.config.settings import Config
from mnemond.config.writing import (
    CommitmentSettings,
    DiffSettings,
    ExtractionSettings,
    GraphSettings,
    LifecycleSettings,
)
from mnemond.errors import CONFIG, MnemonError
from mnemond.model.outcomes import RememberResult
from tests.memory.audit_world import AuditWorld
from tests.tables import each_row

TEXTS = (
    "We chose SQLite for the billing service because Redis lost data",
    "We chose SQLite for the billing service",
    "We chose SQLite for the billing service since 2026, not Postgres",
    "The gateway crashed because Redis lost its data",
    "Ana fixed the error in the gateway: Redis was full",
    "Ana fixed the error in the gateway: Redis was full, and it took 20 minutes",
)

SECTIONS = {
    "diff": DiffSettings,
    "commitment": CommitmentSettings,
    "graph": GraphSettings,
    "lifecycle": LifecycleSettings,
    "extraction": ExtractionSettings,
}


def config_of(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return load(path)


def test_the_search_of_vectors_is_what_the_configuration_says(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        '[vector]\nindex = "hnsw"\nint8_from = 7\nexact_limit = 9\n'
        "[vector.hnsw]\nm = 8\nef_construction = 50\nef_search = 60\n",
    )
    assert config.vector == VectorSettings("hnsw", 7, 9, HnswSettings(8, 50, 60))


SET = """
[diff]
update = 0.5
duplicate = 0.8
cosine_override = 0.6
novelty = 0.2
min_tokens = 4
limit = 7
[commitment.substance_filter]
enabled = false
min_confidence = 0.9
[commitment.entity_extraction]
enabled = false
mode = "auto"
types = ["person", "tool"]
[commitment.redundancy]
enabled = false
threshold = 0.3
alpha_nmi = 0.5
bins = 8
boost_max = "10d"
boost_crit = 43200
boost_scale = "12h"
[commitment.hypothetical_queries]
triggers = ["learning-failure"]
max_queries = 1
[commitment.edge_similarity]
alpha_key = 0.4
threshold = 0.6
[graph.temporal]
window_hours = 12
max_proximity = 4
[graph.entity]
max_links = 2
max_total = 20
idf_min_docs = 3
idf_floor = 0.2
[graph.causal]
min_overlap = 0.25
lookback = 5
max_candidates = 6
[graph.semantic]
auto = 0.9
review = 0.5
fallback_min = 0.3
max_auto = 1
max_candidates = 2
[lifecycle]
max_insights = 50
prune_batch = 3
immune_importance = 5
immune_access = 9
[extraction]
enabled = false
engine = "host"
importance_threshold = 5
message_window = 3
max_facts = 7
auto_resolve_conflicts = false
"""


def flat(value: Any) -> list[Any]:
    """Every number of a configuration, in order."""
    if not isinstance(value, msgspec.Struct):
        return [value]
    return [each for name in value.__struct_fields__ for each in flat(getattr(value, name))]


def test_every_setting_is_heard(tmp_path: Path) -> None:
    config = config_of(tmp_path, SET)
    changed, usual = flat(config), flat(Config())
    names = [line.split(" = ")[0] for line in SET.splitlines() if " = " in line]
    assert sum(one != other for one, other in zip(changed, usual, strict=True)) == len(names)
    assert (config.diff.update, config.diff.duplicate, config.graph.semantic.auto) == (0.5, 0.8, 0.9)
    pairs, links = config.commitment.redundancy, config.commitment.edge_similarity
    assert (pairs.boost_max_days, pairs.boost_crit_days, pairs.boost_scale_days) == (10.0, 0.5, 0.5)
    assert (links.threshold, links.alpha_key, pairs.enabled) == (0.6, 0.4, False)
    assert config.commitment.hypothetical_queries.count("learning-failure") == 1
    assert config.commitment.hypothetical_queries.count("problem-solution") == 0
    assert config.commitment.hypothetical_queries.count(None) == 0
    assert config.commitment.entity_extraction.default_mode == "provided"
    assert config.commitment.substance_filter.threshold == math.inf
    off = config_of(tmp_path, "[commitment.hypothetical_queries]\nenabled = false\n")
    assert off.commitment.hypothetical_queries.count("learning-failure") == 0


@each_row(
    ("duration", "expected"),
    [(90, 90.0), (1.5, 1.5), ("90s", 90.0), ("15m", 900.0), ("12h", 43_200.0), ("7d", 604_800)],
)
def test_a_duration_is_seconds_or_text(duration: float | str, expected: float) -> None:
    assert seconds(duration) == expected


@each_row(
    ("text", "expected"),
    [
        ("[diff]\nupdate = 0.9\n", "2: diff.update (0.9) must be below diff.duplicate (0.9)"),
        (
            "[graph.semantic]\n\nreview = 0.8\n",
            "3: graph.semantic.review (0.8) must be below graph.semantic.auto (0.8)",
        ),
        ("[commitment.redundancy]\nboost_scale = 0\n", "2: commitment.redundancy.boost_scale must be 1 s to 3650 d"),
        ('[commitment.redundancy]\nboost_max = "9999d"\n', "2: commitment.redundancy.boost_max must be 0 s to 3650 d"),
        ('[commitment.redundancy]\nboost_max = "a while"\n', "2: commitment.redundancy.boost_max: expected `str`"),
        ("[graph.temporal]\nwindow = 3\n", '2: unknown key "graph.temporal.window"; did you mean "graph.temporal.wind'),
        ("[graph]\nentity = 3\n", "2: graph.entity is a table: write [graph.entity] and its settings below it"),
        ("[lifecycle]\nimmune_access = 0\n", "2: lifecycle.immune_access: expected `int` >= 1"),
        ("[diff]\nnovelty = nan\n", "2: diff.novelty: "),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(MnemonError) as caught:
        config_of(tmp_path, text)
    assert caught.value.kind is CONFIG
    assert caught.value.message.startswith(f"{tmp_path / 'config.toml'}:{expected}")


def extreme(kind: type, least: bool) -> Any:
    """Every setting at one end of its range, but where the two ends contradict each other."""
    values: dict[str, Any] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if isinstance(hint, type):
            values[name] = extreme(hint, least)
            continue
        limits = next((each for each in get_args(hint) if getattr(each, "le", None) is not None), None)
        if limits is not None:
            values[name] = limits.ge if least else limits.le
    if kind is DiffSettings:
        values |= {"update": 0.0, "duplicate": 0.0001} if least else {"update": 0.9999, "duplicate": 1.0}
    if "review" in values:
        values |= {"review": 0.0, "auto": 0.0001} if least else {"review": 0.9999, "auto": 1.0}
    if "boost_scale" in get_type_hints(kind):
        values |= {"boost_max": 0, "boost_crit": 0, "boost_scale": 1} if least else {"boost_scale": "3650d"}
    return msgspec.convert(values, kind)


@each_row("least", [True, False])
def test_writes_go_on_at_either_end_of_every_range(tmp_path: Path, least: bool) -> None:
    config = Config(**{name: extreme(kind, least) for name, kind in SECTIONS.items()})
    world = AuditWorld(tmp_path / "a.db", config)
    try:
        for text in TEXTS:
            assert isinstance(world.remember(text), RememberResult)
        assert world.active()
        assert world.defects == []
    finally:
        world.engine.close()
