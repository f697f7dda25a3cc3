"""What a reader may see decides what is found: in every mode and profile, now and in the past."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.memory import Insight, Scope, format_us
from mnemond.model.query import MODES, PROFILES, Filter, Recalled, Span
from tests.examples import examples
from tests.index.worlds import insight
from tests.recall.recall_world import DAY_US, EVERY_WAY, NOW_US, Link, ask, days_ago, ids, world
from tests.recall.small_graph import KINDS
from tests.tables import each_row

# ------------------------------------------------------------ the past


def at(days: float) -> str:
    return format_us(days_ago(days))


HISTORY = [
    insight("always", "the tea is at four", at=days_ago(90)),
    insight("old", "the tea is at five", at=days_ago(60), invalid_at=at(30), status="superseded", superseded_by="new"),
    insight("new", "the tea is at six", at=days_ago(30)),
    insight("ending", "the tea is at seven", at=days_ago(20), expires_at=at(10)),
    insight("coming", "the tea is at eight", at=days_ago(5), valid_from=at(-10)),
    insight("gone", "the tea is at nine", at=days_ago(50), status="forgotten"),
]


@each_row(("profile", "mode"), EVERY_WAY)
@each_row(
    ("wanted", "found"),
    [
        (Filter(now_us=NOW_US), {"always", "new"}),
        (Filter(as_of_us=days_ago(100)), set()),
        (Filter(as_of_us=days_ago(45)), {"always", "old"}),
        (Filter(as_of_us=days_ago(30)), {"always", "new"}),
        (Filter(as_of_us=days_ago(15)), {"always", "new", "ending"}),
        (Filter(as_of_us=days_ago(-10)), {"always", "new", "coming"}),
        (Filter(include_invalid=True, now_us=NOW_US), {"always", "old", "new", "ending", "coming"}),
        (Filter(as_of_us=days_ago(15), include_invalid=True), {"always", "old", "new", "ending"}),
        (Filter(status="superseded"), {"old"}),
        (Filter(status="forgotten"), {"gone"}),
    ],
)
def test_what_was_valid_then(profile: str, mode: str, wanted: Filter, found: set[str]) -> None:
    links: list[Link] = [(one.id, other.id, "causal", 1.0) for one in HISTORY for other in HISTORY if one is not other]
    answer = ask(world(HISTORY, links), "when is tea", filter=wanted, profile=profile, mode=mode, seed=1)
    if profile != "mnemond" and (mode == "probabilistic" or profile == "mnemosyne"):
        assert set(ids(answer)) <= found  # as published: what was walked, and nothing else
        assert len(answer.hits) >= min(1 if profile == "mnemosyne" else 3, len(found))
    else:
        assert set(ids(answer)) == found


# ------------------------------------------------------------ random readers


NOTHING_OR = st.sampled_from([None, None, "one", "two"])
SCOPES = st.builds(Scope, user_id=NOTHING_OR, session_id=NOTHING_OR, agent_id=NOTHING_OR)
WORDS = ("zebra", "okapi", "gnu", "Redis", "斑马")
MOMENTS = st.integers(0, 8).map(lambda days: days_ago(days))
TIMES = MOMENTS.map(format_us)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "scope": SCOPES,
    "category": st.sampled_from(["fact", "decision"]),
    "source": st.sampled_from(["ann", "assistant"]),
    "channel": st.just("hook"),
    "importance": st.integers(1, 5),
    "tags": st.sampled_from([("Red",), ("red", "blue")]),
    "conversation_id": st.sampled_from(["c1", "c2"]),
    "entities": st.just(("Redis",)),
    "status": st.sampled_from(["superseded", "forgotten"]),
    "invalid_at": TIMES,
    "valid_from": TIMES,
    "quarantined": st.just(True),
}
WANTED: dict[str, st.SearchStrategy[Any]] = {
    "scope": SCOPES,
    "all_sessions": st.booleans(),
    "strict_scope": st.booleans(),
    "category": st.sampled_from(["fact", "decision"]),
    "source": st.sampled_from(["ann", "nobody"]),
    "channel": st.just("hook"),
    "min_importance": st.integers(1, 5),
    "tags_all": st.sampled_from([("RED",), ("red", "blue")]),
    "tags_any": st.just(("blue", "green")),
    "created": st.builds(Span, st.none() | MOMENTS, st.none() | MOMENTS),
    "now_us": MOMENTS,
    "as_of_us": MOMENTS,
    "include_invalid": st.booleans(),
}


def chosen(draw: st.DrawFn, among: dict[str, st.SearchStrategy[Any]], most: int) -> dict[str, Any]:
    return {name: draw(among[name]) for name in sorted(draw(st.sets(st.sampled_from(sorted(among)), max_size=most)))}


@st.composite
def memories(draw: st.DrawFn, names: str = "abcdefg") -> list[Insight]:
    found = []
    for name in names[: draw(st.integers(1, len(names)))]:
        words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
        row = insight(name, " ".join(words), at=days_ago(draw(st.integers(0, 8))))
        found.append(msgspec.structs.replace(row, **chosen(draw, FIELDS, 3)))
    return found


def readers() -> st.SearchStrategy[Filter]:
    return st.composite(lambda draw: Filter(**chosen(draw, WANTED, 3)))()


@st.composite
def links_among(draw: st.DrawFn, names: str) -> list[Link]:
    one = st.tuples(
        st.sampled_from(names), st.sampled_from(names), st.sampled_from(KINDS), st.sampled_from([0.25, 1.0])
    )
    drawn = draw(st.lists(one, max_size=12, unique_by=lambda link: link[:3]))
    return [link for link in drawn if link[0] != link[1]]


def us(text: str) -> int:
    """Microseconds, by way of the standard library."""
    moment = datetime.fromisoformat(text)
    return round(moment.timestamp()) * 1_000_000 + moment.microsecond


def may_see(wanted: Filter, it: Insight) -> bool:
    """The rules of a filter one after another, for the fields that are drawn here."""
    for asked, had in (
        (wanted.scope.user_id, it.scope.user_id),
        (wanted.scope.session_id, it.scope.session_id),
        (wanted.scope.agent_id, it.scope.agent_id),
    ):
        if asked is not None and had != asked and (had is not None or wanted.strict_scope):
            return False
    if it.scope.session_id is not None and wanted.scope.session_id is None and not wanted.all_sessions:
        return False
    if it.quarantined or it.status == "forgotten":
        return False
    for want, have in ((wanted.category, it.category), (wanted.source, it.source), (wanted.channel, it.channel)):
        if want is not None and want != have:
            return False
    tags = {tag.lower() for tag in it.tags}
    if not {tag.lower() for tag in wanted.tags_all} <= tags or it.importance < wanted.min_importance:
        return False
    if wanted.tags_any and not {tag.lower() for tag in wanted.tags_any} & tags:
        return False
    return _made(wanted.created or Span(), us(it.created_at)) and _valid(wanted, it)


def _made(span: Span, created: int) -> bool:
    return (span.since_us is None or span.since_us <= created) and (span.until_us is None or created < span.until_us)


def _valid(wanted: Filter, it: Insight) -> bool:
    created = us(it.created_at)
    start = created if it.valid_from is None else us(it.valid_from)
    end = us(it.invalid_at) if it.invalid_at else (us(it.updated_at) if it.status != "active" else None)
    if wanted.as_of_us is not None:
        return start <= wanted.as_of_us and (wanted.include_invalid or end is None or wanted.as_of_us < end)
    if wanted.include_invalid:
        return True
    if it.status != "active":
        return False
    now = wanted.now_us
    return now is None or ((end is None or now < end) and start <= now)


QUESTIONS = st.lists(st.sampled_from((*WORDS, "why", "when", "the")), min_size=1, max_size=4).map(" ".join)


@given(memories(), links_among("abcdefg"), readers(), QUESTIONS, st.sampled_from(EVERY_WAY), st.booleans())
@examples(200)
def test_every_result_may_be_seen(
    rows: list[Insight], links: list[Link], wanted: Filter, question: str, way: tuple[str, str], vectors: bool
) -> None:
    there = {row.id for row in rows}
    kept = [link for link in links if {link[0], link[1]} <= there]
    snapshot = world(rows, kept, {row.id: 0.2 + 0.1 * number for number, row in enumerate(rows)})
    profile, mode = way
    found = ask(snapshot, question, vectors=vectors, filter=wanted, profile=profile, mode=mode, seed=1, limit=50)
    seen = {row.id for row in rows if may_see(wanted, row)}
    assert told(found) <= seen


def told(found: Recalled) -> set[str]:
    """Every id that an answer has in it."""
    also = {name for hit in found.hits for name in hit.also}
    return {*ids(found), *also, *(step.from_ for hit in found.hits for step in hit.path)}


HIDDEN: list[dict[str, Any]] = [
    {"scope": Scope(session_id="other")},
    {"scope": Scope(user_id="other")},
    {"quarantined": True},
    {"status": "superseded"},
    {"invalid_at": at(3000)},
]
READER = Filter(scope=Scope(user_id="one"), now_us=NOW_US)


@st.composite
def visible(draw: st.DrawFn) -> list[Insight]:
    """What READER sees, in two conversations of its own."""
    rows = []
    for name in "abcdefg"[: draw(st.integers(1, 7))]:
        words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
        scope = Scope(user_id=draw(st.sampled_from([None, "one"])))
        talk = draw(st.sampled_from([None, "c1", "c2"]))
        made = days_ago(draw(st.integers(0, 8)))
        rows.append(insight(name, " ".join(words), at=made, scope=scope, conversation_id=talk))
    return rows


@st.composite
def unseen(draw: st.DrawFn) -> list[Insight]:
    """What it does not, with no word of any question."""
    rows = []
    for name in "vwxyz"[: draw(st.integers(1, 5))]:
        made = days_ago(draw(st.integers(0, 8)))
        row = insight(name, draw(st.sampled_from(["badger", "otter and weasel"])), at=made)
        rows.append(msgspec.structs.replace(row, **draw(st.sampled_from(HIDDEN))))
    return rows


@given(visible(), unseen(), links_among("abcdefgvwxyz"), QUESTIONS, st.sampled_from(PROFILES), st.sampled_from(MODES))
@examples(200)
def test_what_may_not_be_seen_changes_nothing_that_is_found(
    rows: list[Insight], more: list[Insight], links: list[Link], question: str, profile: str, mode: str
) -> None:
    asked: dict[str, Any] = {"filter": READER, "profile": profile, "mode": mode, "seed": 1, "limit": 50}
    names = {row.id for row in rows}
    among = [link for link in links if {link[0], link[1]} <= names]
    everyone = names | {row.id for row in more}
    all_links = [link for link in links if {link[0], link[1]} <= everyone]
    alone = ask(world(rows, among), question, now_us=NOW_US + DAY_US, **asked)
    beside = ask(world([*rows, *more], all_links), question, now_us=NOW_US + DAY_US, **asked)
    assert with_equals(beside) == with_equals(alone)


def with_equals(found: Recalled) -> list[str]:
    """Every memory that is found, whichever of equal texts goes first: how long texts are is counted over all rows."""
    return sorted([*ids(found), *(name for hit in found.hits for name in hit.also)])
