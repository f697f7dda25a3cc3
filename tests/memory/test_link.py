"""link and unlink: what is stored, what is refused, and that neither leaves a trace it should not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.api.requests import one_active
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory import links
from mnemond.memory.links import direction_problems
from mnemond.model.changes import PutInsight, RetireInsight
from mnemond.model.memory import EDGE_TYPES, EdgeType, Scope
from tests.examples import examples
from tests.memory.factories import Desk, number_of
from tests.store.factories import forget, insight_id

UNDIRECTED: tuple[EdgeType, ...] = ("temporal", "semantic", "entity")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    built = Desk(tmp_path / "mnemon.db", memories=5)
    yield built
    built.close()


# ------------------------------------------------------------ link


def test_a_causal_link_is_one_row_from_cause_to_effect(desk: Desk) -> None:
    outcome = desk.link(1, 2, "causal", weight=0.8, metadata='{"sub_type":"causes","created_by":"host"}')
    assert desk.edges() == {(1, 2, "causal")}
    assert (outcome.source_id, outcome.target_id) == (insight_id(1), insight_id(2))
    assert (outcome.created, outcome.updated, outcome.bidirectional) == (True, False, False)
    assert (outcome.weight, outcome.metadata) == (0.8, {"sub_type": "causes", "created_by": "host"})


@pytest.mark.parametrize("kind", UNDIRECTED)
def test_any_other_link_is_two_rows_and_one_link(desk: Desk, kind: EdgeType) -> None:
    assert desk.link(1, 2, kind).bidirectional is True
    assert desk.edges() == {(1, 2, kind), (2, 1, kind)}
    assert desk.snapshot.edge_counts()[kind] == 1


def test_order_in_time_is_seen_from_both_ends(desk: Desk) -> None:
    desk.link(1, 2, "temporal", metadata='{"direction":"precedes","created_by":"user"}')
    assert '"precedes"' in desk.edge(1, 2, "temporal").metadata
    assert '"succeeds"' in desk.edge(2, 1, "temporal").metadata
    desk.link(1, 3, "temporal", metadata='{"direction":"sideways","created_by":"user"}')
    assert desk.edge(3, 1, "temporal").metadata == desk.edge(1, 3, "temporal").metadata


def test_of_a_link_that_is_there_the_larger_weight_and_both_metadata_count(desk: Desk) -> None:
    desk.link(1, 2, weight=0.7, metadata='{"a":1,"created_by":"user"}')
    again = desk.link(1, 2, weight=0.2, metadata='{"b":[2],"created_by":"host"}', created_by="host")
    assert (again.created, again.updated, again.weight) == (False, True, 0.7)
    assert again.metadata == {"a": 1, "b": [2], "created_by": "host"}
    assert desk.edge(2, 1, "semantic").created_by == "host"
    same = desk.link(1, 2, weight=0.2, metadata='{"b":[2],"created_by":"host"}', created_by="host")
    assert (same.created, same.updated, same.weight) == (False, False, 0.7)


def test_an_automatic_link_becomes_that_of_whoever_confirms_it_and_stays_it(desk: Desk) -> None:
    desk.automatic(1, 2, "causal", 0.3, '{"overlap":0.3,"created_by":"auto"}')
    outcome = desk.link(1, 2, "causal", weight=0.9)
    assert (outcome.created, outcome.updated, outcome.weight) == (False, True, 0.9)
    assert outcome.metadata == {"overlap": 0.3, "created_by": "user"}
    desk.automatic(1, 2, "causal", 1.0, '{"overlap":1.0,"created_by":"auto"}')
    kept = desk.edge(1, 2, "causal")
    assert (kept.weight, kept.created_by, msgspec.json.decode(kept.metadata)) == (0.9, "user", outcome.metadata)


def test_metadata_that_grow_too_large_together_are_refused_and_nothing_changes(desk: Desk) -> None:
    desk.link(1, 2, metadata=msgspec.json.encode({"a": "x" * 3000}).decode())
    with pytest.raises(MnemonError, match="the limit is 4,096") as caught:
        desk.link(1, 2, metadata=msgspec.json.encode({"b": "x" * 3000}).decode())
    assert caught.value.kind is INVALID_PARAMS
    assert '"b"' not in desk.edge(1, 2, "semantic").metadata


def test_both_ends_matter_more_once_they_are_linked(desk: Desk) -> None:
    before = {number: desk.insight(number).effective_importance for number in (1, 2, 3)}
    desk.link(1, 2, "causal")
    linked = {number: desk.insight(number).effective_importance for number in (1, 2, 3)}
    assert linked[1] > before[1]
    assert linked[2] > before[2]
    assert linked[3] == before[3]
    desk.unlink(1, 2)
    after = {number: desk.insight(number).effective_importance for number in (1, 2)}
    assert after[1] < linked[1]
    assert after[2] < linked[2]


def test_what_was_done_stands_in_the_history_of_each_end_and_in_the_log(desk: Desk) -> None:
    desk.link(1, 2, "semantic")
    desk.unlink(2, 1)
    for number in (1, 2):
        created, linked, unlinked = desk.history_of(number)
        assert created.operation_type == "CREATE"
        assert linked.before is not None
        assert linked.after is not None
        assert (linked.before.edges, len(linked.after.edges)) == ([], 1)
        assert unlinked.before is not None
        assert unlinked.after is not None
        assert (unlinked.before.edges, unlinked.after.edges) == (linked.after.edges, [])
    assert desk.lines()[-2:] == [
        ("link", insight_id(1), f"semantic to {insight_id(2)}"),
        ("unlink", insight_id(2), f"semantic to {insight_id(1)}"),
    ]


def test_a_memory_is_not_linked_to_itself(desk: Desk) -> None:
    for kind in EDGE_TYPES:
        with pytest.raises(MnemonError, match="the source itself") as caught:
            desk.link(1, 1, kind)  # type: ignore[arg-type]  # a value of EDGE_TYPES
        assert [problem.field for problem in caught.value.problems] == ["target_id"]
    assert desk.edges() == set()


def test_a_retired_end_is_refused_and_its_successor_named(desk: Desk) -> None:
    desk.commit(forget(2))
    with pytest.raises(MnemonError, match="not active: it is forgotten") as caught:
        desk.link(1, 2)
    assert caught.value.kind is NOT_FOUND
    desk.change(RetireInsight(insight_id(3), "superseded", successor=insight_id(4)))
    with pytest.raises(MnemonError, match="it is superseded") as caught:
        desk.link(3, 1)
    assert caught.value.hint == (
        f"{insight_id(4)} stands in its place now: name that one;"
        f" `mnemonctl restore {insight_id(3)} --force` brings this one back beside it"
    )
    with pytest.raises(MnemonError, match="no active memory"):
        desk.link(1, 77)
    assert desk.edges() == set()


def test_an_end_that_the_same_batch_retires_is_refused(desk: Desk) -> None:
    late = links.propose_link(desk.wish(1, 2), desk.identity(), one_active)
    forgotten, refused = desk.engine.commit([forget(2), late])
    assert not isinstance(forgotten, MnemonError)
    assert isinstance(refused, MnemonError)
    assert refused.kind is NOT_FOUND
    assert desk.edges() == set()


def test_an_ambiguous_beginning_is_refused_with_the_matches(desk: Desk) -> None:
    with pytest.raises(MnemonError, match="the beginning of 5 ids"):
        desk.link(1, 2, target_id="000000")


def test_only_memories_of_the_scope_given_are_linked(desk: Desk) -> None:
    desk.add(6, Scope(user_id="ana", session_id="s1"))
    desk.add(7, Scope(user_id="ben"))
    with pytest.raises(MnemonError, match="meant for this user"):
        desk.link(6, 7, scope=Scope(user_id="ana"))
    with pytest.raises(MnemonError, match="meant for this user"):
        desk.link(6, 1, scope=Scope(session_id="s2"))
    desk.link(6, 1, scope=Scope(user_id="ana", session_id="s1"))  # 1 is for everyone
    desk.link(6, 7)  # no scope given: whoever may see both sees the link
    assert len(desk.edges()) == 4
    with pytest.raises(MnemonError, match="meant for this user"):
        desk.unlink(6, 7, scope=Scope(user_id="ben"))


# ------------------------------------------------------------ circles


def test_a_circle_of_causes_is_refused_and_named(desk: Desk) -> None:
    for cause, effect in ((1, 2), (2, 3), (3, 4)):
        desk.link(cause, effect, "causal")
    circle = " → ".join(insight_id(number) for number in (4, 1, 2, 3, 4))
    with pytest.raises(MnemonError, match=circle) as caught:
        desk.link(4, 1, "causal")
    assert caught.value.kind is INVALID_PARAMS
    assert "--allow-cycle" in str(caught.value.hint)
    assert len(desk.edges()) == 3
    desk.link(4, 1, "semantic")  # only causes go in circles
    desk.link(1, 4, "causal")  # a shortcut is no circle
    desk.link(4, 1, "causal", allow_cycle=True)
    desk.link(4, 1, "causal", weight=0.9)  # there already: nothing is closed anew
    assert (4, 1, "causal") in desk.edges()


def test_an_automatic_cause_counts_too(desk: Desk) -> None:
    desk.automatic(1, 2, "causal")
    with pytest.raises(MnemonError, match="circle of causes"):
        desk.link(2, 1, "causal")


def test_a_circle_within_one_batch_is_refused(desk: Desk) -> None:
    wishes = (desk.wish(1, 2, "causal"), desk.wish(2, 1, "causal"))
    first, second = desk.engine.commit([links.propose_link(each, desk.identity(), one_active) for each in wishes])
    assert not isinstance(first, MnemonError)
    assert isinstance(second, MnemonError)
    assert desk.edges() == {(1, 2, "causal")}


def test_each_others_cause_only_on_purpose(desk: Desk) -> None:
    assert direction_problems("semantic", bidirectional=True, allow_cycle=False) == []
    assert direction_problems("causal", bidirectional=False, allow_cycle=False) == []
    assert direction_problems("causal", bidirectional=True, allow_cycle=True) == []
    (problem,) = direction_problems("causal", bidirectional=True, allow_cycle=False)
    assert problem.field == "bidirectional"
    outcome = desk.link(1, 2, "causal", bidirectional=True, allow_cycle=True)
    assert outcome.bidirectional is True
    assert desk.edges() == {(1, 2, "causal"), (2, 1, "causal")}
    assert desk.snapshot.edge_counts()["causal"] == 2


def test_a_long_circle_names_its_beginning_and_end(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "mnemon.db", memories=40)
    for number in range(1, 40):
        desk.automatic(number, number + 1, "causal")
    with pytest.raises(MnemonError) as caught:
        desk.link(40, 1, "causal")
    assert "… 21 more …" in caught.value.message
    assert caught.value.message.endswith(insight_id(40))
    desk.close()


def test_a_circle_that_cannot_be_ruled_out_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.link(1, 2, "causal")
    desk.link(3, 4, "causal")
    monkeypatch.setattr(links, "MAX_LOOKED_AT", 1)
    with pytest.raises(MnemonError, match="is not known after 1 memories") as caught:
        desk.link(2, 3, "causal")
    assert caught.value.kind is INVALID_PARAMS
    desk.link(2, 3, "causal", allow_cycle=True)


# ------------------------------------------------------------ unlink


def test_unlinking_takes_every_type_and_both_directions(desk: Desk) -> None:
    for kind in UNDIRECTED:
        desk.link(1, 2, kind)
    desk.automatic(1, 2, "causal")
    desk.link(1, 3)
    outcome = desk.unlink(1, 2)
    assert (outcome.edges_removed, outcome.edge_types, outcome.cause_other_way) == (4, list(EDGE_TYPES), False)
    assert desk.edges() == {(1, 3, "semantic"), (3, 1, "semantic")}
    assert desk.snapshot.link_count(desk.row(2)) == 0


def test_unlinking_one_type_leaves_the_others(desk: Desk) -> None:
    desk.link(1, 2, "semantic")
    desk.link(1, 2, "entity")
    assert desk.unlink(2, 1, "entity").edge_types == ["entity"]
    assert desk.edges() == {(1, 2, "semantic"), (2, 1, "semantic")}


def test_a_cause_goes_only_in_the_direction_given(desk: Desk) -> None:
    desk.link(1, 2, "causal")
    for kind in (None, "causal"):
        with pytest.raises(MnemonError, match="leads the other way") as caught:
            desk.unlink(2, 1, kind)
        assert caught.value.kind is NOT_FOUND
        assert caught.value.hint == f"mnemonctl unlink {insight_id(1)} {insight_id(2)} --type causal"
    desk.link(1, 2, "semantic")
    outcome = desk.unlink(2, 1)
    assert (outcome.edges_removed, outcome.cause_other_way) == (1, True)
    assert desk.edges() == {(1, 2, "causal")}


def test_nothing_to_unlink_is_not_found(desk: Desk) -> None:
    desk.link(1, 2)
    desk.link(1, 3)
    with pytest.raises(MnemonError, match=f"no link between {insight_id(2)} and {insight_id(3)}") as caught:
        desk.unlink(2, 3)
    assert (caught.value.kind, caught.value.outcome) == (NOT_FOUND, "rejected")
    with pytest.raises(MnemonError, match="no temporal link between"):
        desk.unlink(1, 2, "temporal")
    assert desk.history_of(3)[-1].operation_type == "UPDATE"  # of the link; the refusals wrote nothing
    assert len(desk.edges()) == 4


def test_without_its_link_a_pair_is_none(desk: Desk) -> None:
    for number, partner in ((1, 2), (2, 1), (3, 4)):
        desk.change(PutInsight(msgspec.structs.replace(desk.insight(number), paired_with=insight_id(partner)), "PAIR"))
    desk.link(1, 2, "semantic")
    desk.link(1, 2, "entity")
    desk.unlink(1, 2, "entity")
    assert desk.insight(1).paired_with == insight_id(2)
    desk.unlink(1, 2)
    assert [desk.insight(number).paired_with for number in (1, 2)] == [None, None]
    desk.link(4, 3, "semantic")
    desk.unlink(4, 3)
    assert desk.insight(3).paired_with is None


# ------------------------------------------------------------ invariants

NUMBERS = st.integers(1, 5)
STEPS = st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(EDGE_TYPES), st.booleans()), max_size=20)


@examples(30)
@given(steps=STEPS)
def test_no_circle_of_causes_and_no_half_link_ever(steps: list[tuple[int, int, EdgeType, bool]]) -> None:
    with TemporaryDirectory() as directory:
        desk = Desk(Path(directory) / "mnemon.db", memories=5)
        for source, target, kind, away in steps:
            try:
                if away:
                    desk.unlink(source, target, kind)
                else:
                    desk.link(source, target, kind)
            except MnemonError as error:
                if error.kind not in (INVALID_PARAMS, NOT_FOUND):
                    raise
        found = desk.edges()
        desk.close()
    causes = {(source, target) for source, target, kind in found if kind == "causal"}
    assert all(source != target for source, target, _ in found)
    assert all((target, source, kind) in found for source, target, kind in found if kind != "causal")
    assert not any(_leads_back(causes, number) for number in range(1, 6))


def _leads_back(causes: set[tuple[int, int]], start: int) -> bool:
    reached: set[int] = set()
    ring = {start}
    while ring:
        ring = {effect for cause, effect in causes if cause in ring} - reached
        reached |= ring
    return start in reached


@examples(20)
@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(EDGE_TYPES)), max_size=6))
def test_linking_and_unlinking_leaves_no_trace(pairs: list[tuple[int, int, EdgeType]]) -> None:
    with TemporaryDirectory() as directory:
        desk = Desk(Path(directory) / "mnemon.db", memories=5)
        desk.automatic(1, 2, "temporal")
        before = _portrait(desk)
        done = []
        for source, target, kind in pairs:
            if source != target and (source, target, kind) not in desk.edges() and {source, target} != {1, 2}:
                desk.link(source, target, kind, allow_cycle=True)
                done.append((source, target, kind))
        for source, target, kind in reversed(done):
            desk.unlink(source, target, kind)
        after = _portrait(desk)
        desk.close()
    assert after == before


def _portrait(desk: Desk) -> object:
    """Edges, degrees and counts; importance ages with the clock and is compared by another test."""
    rows = [desk.row(number) for number in range(1, 6)]
    degrees = [int(desk.snapshot.columns.degree[row]) for row in rows]
    links = [
        sorted((number_of(desk.snapshot.insight(int(each["row"])).id), int(each["type"])) for each in found)
        for found in (desk.snapshot.neighbours(row) for row in rows)
    ]
    return desk.edges(), degrees, links, desk.snapshot.edge_counts()


def test_the_portrait_sees_a_link(desk: Desk) -> None:
    before = _portrait(desk)
    desk.link(1, 2)
    assert _portrait(desk) != before
