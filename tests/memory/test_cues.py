"""Cues: kept, found by, counted in nothing else; taken back, merged, learned and purged with their memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed.embedder import Purpose
from mnemond.errors import STORAGE, UNAVAILABLE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.memory.cues import (
    CuesToApply,
    embed_memories,
    given_cues,
    joined_cues,
    lacks_vector,
    propose_cues,
    revised_cues,
    try_embed_memories,
    with_learned,
)
from mnemond.memory.draft import problems_of
from mnemond.model.changes import PutInsight, RestoreInsight, Vector
from mnemond.model.memory import MAX_CUE, MAX_CUES, Cue, Insight, TextWithCues
from mnemond.model.outcomes import RememberResult, UndoResult
from mnemond.store.connection import Connection
from tests.examples import examples
from tests.memory.audit_world import UNBOUNDED, AuditWorld
from tests.memory.test_audit_replay import check, portrait
from tests.tables import each_row

TEXT = "Every change to main goes through a merge request"
CUES = ("can I just commit this", "push rejected 403")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[AuditWorld]:
    made = AuditWorld(tmp_path / "a.db", UNBOUNDED)
    yield made
    made.engine.close()


def said(world: AuditWorld, text: str, **fields: Any) -> RememberResult:
    outcome = world.remember(text, **fields)
    assert isinstance(outcome, RememberResult), outcome
    return outcome


def texts(it: Insight) -> list[str]:
    return [cue.text for cue in it.cues]


def stored(world: AuditWorld) -> list[tuple[str, str]]:
    def read(connection: Connection) -> list[tuple[str, str]]:
        return connection.rows("SELECT text, source FROM cues ORDER BY memory, ord")

    found: list[tuple[str, str]] = world.read(read)
    return found


def test_cues_are_stored_in_a_table_of_their_own_and_taken_back_with_their_memory(world: AuditWorld) -> None:
    before = portrait(world)
    made = said(world, TEXT, cues=(*CUES, " Can I  just commit this? "))
    assert made.cues == 2
    assert stored(world) == [(text, "given") for text in CUES]
    assert made.id is not None
    assert texts(world.insight(made.id)) == list(CUES)
    check(world)
    assert isinstance(world.undo(), UndoResult)
    assert portrait(world) == before
    assert isinstance(world.undo(world.done[-1]), UndoResult)
    assert texts(world.insight(made.id)) == list(CUES)
    check(world)


def test_a_memory_with_cues_is_compared_and_linked_as_without(tmp_path: Path) -> None:
    portraits = []
    for number, cues in enumerate([(), CUES]):
        world = AuditWorld(tmp_path / f"{number}.db", UNBOUNDED)
        outcomes = [
            said(world, TEXT, cues=cues),
            said(world, "Ana can just commit this: push rejected 403 was her finding", cues=cues),
            said(world, "Can I just commit this, push rejected 403"),
            said(world, f"{TEXT} since May", cues=cues),
        ]
        portraits.append([msgspec.structs.replace(each, cues=0, op_id="") for each in outcomes])
        world.engine.close()
    assert portraits[0] == portraits[1]


def test_a_repetition_adds_its_cues(world: AuditWorld) -> None:
    one = said(world, TEXT, cues=CUES[:1]).id
    before = portrait(world)
    again = said(world, TEXT, cues=CUES)
    assert (again.action, again.id, again.cues) == ("skipped", one, 2)
    assert again.united is not None
    assert again.united.sentences() == [f"added cues {CUES[1]}"]
    assert [text for text, _ in stored(world)] == list(CUES)
    check(world)
    world.undo()
    assert portrait(world) == before


def test_a_purge_leaves_nothing_of_cues(world: AuditWorld) -> None:
    made = said(world, TEXT, cues=CUES)
    assert made.id is not None
    world.forget(made.id, purge=True)
    assert stored(world) == []

    def states(connection: Connection) -> str:
        return str(connection.rows("SELECT before_state, after_state FROM memory_operations"))

    assert CUES[0] not in world.read(states)


@each_row(
    ("cues", "said_about"),
    [
        (["x" * (MAX_CUE + 1)], "cues[0] is 201 characters; the limit is 200"),
        ([f"cue {number}" for number in range(MAX_CUES + 1)], "cues has 9 different entries; the limit is 8"),
        ([" "], "cues[0] is empty; it needs 1 to 200 characters"),
        (["a\0b"], "cues[0] contains a NUL character, which cannot be stored"),
    ],
)
def test_cues_have_limits(cues: list[str], said_about: str) -> None:
    assert [each.message for each in problems_of({"cues": tuple(cues)})] == [said_about]


def test_secrets_are_cut_out_of_cues(world: AuditWorld) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = said(world, TEXT, cues=(f"push fails with {secret}",))
    assert made.redacted
    assert secret not in str(stored(world))


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(" ".join)
SOME = st.lists(st.builds(Cue, WORDS, st.sampled_from(["given", "learned", "generated"])), max_size=12)


@examples(100)
@given(SOME, SOME)
def test_joined_cues_are_different_few_and_keep_what_was_given(first: list[Cue], more: list[Cue]) -> None:
    joined = joined_cues(joined_cues((), first), more)
    assert len(joined) == len({cue.text for cue in joined}) <= MAX_CUES
    assert joined_cues(joined, more) == joined or len(joined) == MAX_CUES
    wanted = {cue.text for cue in joined_cues((), first)} | {cue.text for cue in more}
    assert {cue.text for cue in joined} <= wanted
    assert len(joined) == min(MAX_CUES, len(wanted))


def test_cues_given_anew_stay_learned_where_they_were() -> None:
    old = (Cue("a"), Cue("b", "learned"))
    assert revised_cues(old, ["b", "c"]) == (Cue("b", "learned"), Cue("c"))
    assert given_cues(["  a\n b "]) == (Cue("a b"),)


@pytest.mark.parametrize("prompt", [TEXT * 10, "  ", "can I just  commit this?", "AWS key AKIA2E0A8F3B244C9986"])
def test_no_cue_is_learned_that_is_long_known_or_secret(world: AuditWorld, prompt: str) -> None:
    made = said(world, TEXT, cues=CUES)
    assert made.id is not None
    assert with_learned(world.insight(made.id), prompt) is None


def test_a_learned_cue_is_embedded_later_is_no_revision_and_outlives_an_undo(world: AuditWorld) -> None:
    made = said(world, TEXT, cues=CUES)
    assert made.id is not None
    revised = world.revise(made.id, content=f"{TEXT} now")
    assert not isinstance(revised, MnemonError)
    assert not lacks_vector(world.snapshot, made.id)
    learned = with_learned(world.insight(made.id), "hotfix straight away")
    assert learned == (*map(Cue, CUES), Cue("hotfix straight away", "learned"))
    world.change(PutInsight(msgspec.structs.replace(world.insight(made.id), cues=learned)))
    assert lacks_vector(world.snapshot, made.id)
    assert world.snapshot.without_vector().tolist() == [world.snapshot.row_of(made.id)]
    check(world)
    assert isinstance(world.undo(revised.op_id), UndoResult)
    it = world.insight(made.id)
    assert (it.content, texts(it)) == (TEXT, [*CUES, "hotfix straight away"])
    assert not lacks_vector(world.snapshot, made.id)
    check(world)


def test_a_memory_that_comes_back_with_other_cues_has_these_alone(world: AuditWorld) -> None:
    made = said(world, TEXT, cues=CUES)
    assert made.id is not None
    it = world.insight(made.id)
    world.forget(made.id)
    world.change(RestoreInsight(msgspec.structs.replace(it, cues=(Cue("hotfix"),))))
    assert stored(world) == [("hotfix", "given")]
    check(world)


def test_errors_of_a_look_up_other_than_of_its_id_are_raised(world: AuditWorld) -> None:
    def broken(snapshot: Snapshot, name: str) -> Insight:
        raise MnemonError(STORAGE, "the index is damaged")

    outcome = world.commit(propose_cues(CuesToApply(cues={"abcdef": CUES}), world.identity(), broken))
    assert isinstance(outcome, MnemonError)
    assert outcome.kind is STORAGE


def test_a_memory_with_eight_given_cues_learns_none() -> None:
    full = Insight("a", "", "", content=TEXT, cues=tuple(Cue(str(number)) for number in range(MAX_CUES)))
    assert with_learned(full, "hotfix straight away") is None
    one_learned = msgspec.structs.replace(full, cues=(Cue("old", "learned"), *full.cues[1:]))
    assert with_learned(one_learned, "hotfix straight away") == (*full.cues[1:], Cue("hotfix straight away", "learned"))


class Embedder:
    """Answers with one of two directions, or fails."""

    name, dimension, fingerprint, inline = "toy", 2, "toy", True

    def __init__(self, known: dict[str, Vector | None], failure: MnemonError | None = None) -> None:
        self._known, self._failure = known, failure

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        if self._failure is not None:
            raise self._failure
        return [self._known[text] for text in texts]

    def clear_cache(self) -> None: ...


def test_the_vector_of_a_memory_with_cues_lies_between_text_and_cues() -> None:
    east, north = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)
    toy = Embedder({"text": east, "one\ntwo": north, "dumb": None, "back": -east})
    plain, cued, generated, dumb, unknown, opposite = embed_memories(
        toy,
        [
            TextWithCues("text"),
            TextWithCues("text", (Cue("one"), Cue("two"))),
            TextWithCues("text", (Cue("one"), Cue("left out", "generated"), Cue("two"))),
            TextWithCues("dumb", (Cue("one"), Cue("two"))),
            TextWithCues("text", (Cue("dumb"),)),
            TextWithCues("text", (Cue("back"),)),
        ],
    )
    assert plain is not None
    assert plain.tolist() == [1, 0]
    assert cued is not None
    assert cued.tolist() == [[1, 0], pytest.approx([0.5**0.5, 0.5**0.5])]
    assert generated is not None
    assert generated.tolist() == cued.tolist()
    assert dumb is None
    assert unknown is not None
    assert opposite is not None
    assert unknown.tolist() == opposite.tolist() == [[1, 0], [1, 0]]


def test_an_embedder_that_fails_gives_a_reason_and_other_errors_are_raised() -> None:
    away = MnemonError(UNAVAILABLE, "the server is away")
    both = [TextWithCues("a"), TextWithCues("b")]
    assert try_embed_memories(Embedder({}, away), both) == ([None, None], "the server is away")
    with pytest.raises(MnemonError, match="damaged"):
        try_embed_memories(Embedder({}, MnemonError(STORAGE, "damaged")), both)
