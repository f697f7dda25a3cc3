"""Links from cause to effect: the worked pairs, the direction, the clocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import GraphSettings
from mnemond.memory import edge_builders
from mnemond.memory.edge_builders import MAX_CACHED_CLAIMS, build_causal
from tests.memory.small_store import NOON, Row, SmallStore, newcomer
from tests.recall.reading import added, metadata
from tests.tables import each_row

SETTINGS = GraphSettings()

CASES = [
    (
        "Chose SQLite because the team lacks Redis experience",
        "Team lacks Redis experience",
        ("old", "new", 0.571429),
        "causes",
        "because",
    ),
    (
        "The flaky NFS mount leads to WAL corruption",
        "WAL corruption seen on the build server",
        ("new", "old", 0.333333),
        "enables",
        "leads to",
    ),
    ("The Redis skills gap is real", "Chose SQLite because of the Redis gap", ("new", "old", 0.4), "causes", "because"),
    (
        "Redis gap in the team",
        "The Redis gap blocks the migration",
        ("new", "old", 0.5),
        "prevents",
        "blocks",
    ),
]


@each_row(("new", "old", "edge", "sub_type", "signal"), CASES)
def test_worked_pairs(new: str, old: str, edge: tuple[str, str, float], sub_type: str, signal: str) -> None:
    made = build_causal(newcomer(new), SmallStore(Row("old", old)), SETTINGS)
    assert added(made) == [edge]
    told = {"overlap": edge[2], "sub_type": sub_type, "signal": signal, "created_by": "auto"}
    assert metadata(made) == [told]


BECAUSE = "Chose SQLite because the team lacks Redis experience"
LACKS = "Team lacks Redis experience"


def test_without_a_reason_there_is_no_link() -> None:
    assert build_causal(newcomer(LACKS), SmallStore(Row("old", "The team lacks Redis")), SETTINGS) == []


def test_without_shared_words_there_is_no_link() -> None:
    assert (
        build_causal(newcomer(BECAUSE), SmallStore(Row("a", "The office is in Berlin"), Row("b", "")), SETTINGS) == []
    )
    assert build_causal(newcomer(""), SmallStore(Row("a", BECAUSE)), SETTINGS) == []


@each_row(("words", "links"), [(20, 1), (21, 0)])
def test_the_least_overlap_is_enough(words: int, links: int) -> None:
    long = " ".join(["team", "lacks", "redis", *(f"word{n}" for n in range(words - 3))])
    note = newcomer("Chose SQLite because the team lacks Redis")
    assert len(added(build_causal(note, SmallStore(Row("old", long)), SETTINGS))) == links


def test_only_the_ten_newest_rows_are_looked_at_whatever_their_chain() -> None:
    rows = [Row(f"r{n}", LACKS, hours=-n, chain=f"chain{n}") for n in range(1, 13)]
    made = build_causal(newcomer(BECAUSE), SmallStore(*rows), SETTINGS)
    assert [source for source, _, _ in added(made)] == [f"r{n}" for n in range(1, 11)]


@each_row(
    ("cause_us", "effect_us", "weight", "conflict"),
    [
        (NOON + 1, NOON, 0.285714, True),
        (NOON, NOON, 0.571429, False),
        (NOON - 1, NOON, 0.571429, False),
        (NOON + 1, None, 0.571429, False),
        (None, NOON, 0.571429, False),
    ],
)
def test_a_cause_later_than_its_effect_keeps_half_the_weight(
    cause_us: int | None, effect_us: int | None, weight: float, conflict: bool
) -> None:
    store = SmallStore(Row("old", LACKS, event_us=cause_us))
    made = build_causal(newcomer(BECAUSE, event_us=effect_us), store, SETTINGS)
    assert added(made) == [("old", "new", weight)]
    assert metadata(made)[0].get("time_conflict", False) is conflict
    assert metadata(made)[0]["overlap"] == 0.571429


@each_row(("cause_us", "effect_us", "weight"), [(NOON + 1, NOON, 0.2), (NOON, NOON + 1, 0.4)])
def test_the_clocks_count_when_the_newcomer_is_the_cause(cause_us: int, effect_us: int, weight: float) -> None:
    store = SmallStore(Row("old", "Chose SQLite because of the Redis gap", event_us=effect_us))
    made = build_causal(newcomer("The Redis skills gap is real", event_us=cause_us), store, SETTINGS)
    assert added(made) == [("new", "old", weight)]


def test_a_row_is_never_linked_with_itself() -> None:
    assert build_causal(newcomer(BECAUSE), SmallStore(Row("new", BECAUSE)), SETTINGS) == []


def test_a_row_that_was_rewritten_is_read_again() -> None:
    """What is remembered of a row belongs to its words, not to its id alone."""
    reason, plain = (
        Row("old", "Chose SQLite because of the Redis gap"),
        Row("old", "Chose SQLite, closed the Redis gap"),
    )
    new = newcomer("The Redis skills gap is real")
    assert [len(build_causal(new, SmallStore(row), SETTINGS)) for row in (reason, plain, reason)] == [1, 0, 1]


def test_what_is_remembered_of_rows_is_bounded() -> None:
    for number in range(MAX_CACHED_CLAIMS + 5):
        build_causal(newcomer(f"row {number}"), SmallStore(), SETTINGS)
    assert len(edge_builders._claims) <= MAX_CACHED_CLAIMS


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_can_be_compared(new: str, old: str) -> None:
    for edge in metadata(build_causal(newcomer(new), SmallStore(Row("old", old)), SETTINGS)):
        assert set(edge) == {"overlap", "sub_type", "signal", "created_by"}
