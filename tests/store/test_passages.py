"""The record of sessions as rows: once each, in the index with the commit, gone and back, purged from the file."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemond.errors import NOT_FOUND, STORAGE, MnemonError
from mnemond.model.changes import ChangeSet, PurgeInsight
from mnemond.model.memory import DAY_US, format_us
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import (
    DropPassage,
    EmbedPassage,
    KeepPassage,
    Passage,
    PassageChange,
    RestorePassage,
)
from mnemond.store import passages
from mnemond.store.connection import Connection
from mnemond.store.database import LOADED_AT_ONCE, Opened, load_index, open_database
from mnemond.store.engine import LOADED_TOGETHER, Engine
from mnemond.store.shared_log import LogError
from mnemond.text.passages import pieces
from tests.store.factories import DIMENSION, EMBEDDER, START_US, engine_at, insight_id, remember
from tests.tables import each_row

SECRET = "Xyzzyplugh"


def passage(number: int, **fields: str) -> Passage:
    made = {"prompt": f"question {number}?", "answer": f"answer {number}.", "conversation_id": "c", **fields}
    said_at = made.pop("said_at", format_us(START_US + number))
    return Passage(id=f"{number:08x}-0000-4000-8000-000000000000", said_at=said_at, host="codex", **made)  # type: ignore[arg-type]


def write(number: int, *changes: PassageChange, operation: str | None = "") -> ChangeSet:
    name = f"op-{number}"
    return ChangeSet(
        op_id=name, client_op_id=False, method="queue", now=format_us(START_US + number), changes=(),
        outcome=Maintained(op_id=name), operation=operation, passages=changes,
    )  # fmt: skip


def keep(number: int, **fields: str) -> KeepPassage:
    return KeepPassage(passage(number, **fields), f"key-{number}")


def shown(engine: Engine) -> list[Passage]:
    found = engine.index.snapshot.parts.passages
    return [it for row in range(found.rows) if found.row_of((it := found.passage(row)).id) == row]


def stored(engine: Engine) -> list[Passage]:
    found = engine.read(lambda it: [it for it, _ in passages.load(it, EMBEDDER)])
    assert isinstance(found, list)
    return found


def committed(engine: Engine, *writes: ChangeSet) -> None:
    for result in engine.commit(writes):
        assert not isinstance(result, MnemonError), result


def embedded(it: Passage) -> EmbedPassage:
    vectors = np.random.default_rng(len(it.text)).standard_normal((len(pieces(it)), DIMENSION)).astype(np.float32)
    return EmbedPassage(it.id, it.text, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def by_id(found: list[Passage]) -> list[Passage]:
    return sorted(found, key=lambda it: it.id)


def change(what: str, number: int, **fields: str) -> PassageChange:
    it = passage(number, **fields)
    match what:
        case "keep":
            return KeepPassage(it, f"key-{number}")
        case "forget":
            return DropPassage(it.id)
        case "restore":
            return RestorePassage(it.id)
        case "purge":
            return DropPassage(it.id, "purged")
        case _:
            return embedded(it)


_STEPS = st.one_of(
    st.tuples(st.sampled_from(["keep", "forget", "restore", "purge", "embed"]), st.integers(1, 5)),
    st.tuples(st.just("reopen"), st.just(0)),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(_STEPS, max_size=14))
def test_whatever_is_done_readers_see_what_the_file_has(steps: list[tuple[str, int]]) -> None:
    """In recall is what was kept and is not gone; a turn that comes again is kept once; vectors stay with a text."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "a.db"
        engine = engine_at(path)
        there, gone, vectors = set[int](), set[int](), set[int]()
        for at, (what, number) in enumerate(steps):
            expected = True
            match what:
                case "reopen":
                    engine.close()
                    engine = engine_at(path)
                    continue
                case "keep":
                    there |= {number}
                case "forget":
                    expected = number in there - gone
                    gone |= {number} if expected else set()
                case "restore":
                    expected = number in gone
                    gone -= {number}
                case "purge":
                    expected = number in there
                    there, gone, vectors = there - {number}, gone - {number}, vectors - {number}
                case _:
                    vectors |= {number} & (there - gone)
            (result,) = engine.commit([write(at, change(what, number))])
            assert isinstance(result, MnemonError) is not expected
        assert {it.id for it in shown(engine)} == {passage(each).id for each in there - gone}
        assert by_id(shown(engine)) == by_id(stored(engine))
        lacking = {passage(each).id for each in there - gone - vectors}
        assert set(engine.index.snapshot.parts.passages.without_vector()) == lacking
        built = engine.read(lambda it: load_index(it, EMBEDDER).snapshot.parts.passages.without_vector())
        assert set(built) == lacking  # type: ignore[call-overload]
        engine.close()


def test_one_that_comes_twice_is_kept_once(tmp_path: Path) -> None:
    """With the key of the first, or with its id."""
    engine = engine_at(tmp_path / "a.db")
    other = KeepPassage(passage(2), "key-1")
    committed(engine, write(1, keep(1), other), write(2, keep(1)), write(3, KeepPassage(passage(1), "key-3")))
    assert shown(engine) == stored(engine) == [passage(1)]
    engine.close()


def test_a_batch_that_is_rolled_back_leaves_nothing(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    committed(engine, write(1, keep(1)))

    def refuse(_: object) -> None:
        raise MnemonError(NOT_FOUND, "no")

    engine.log = refuse
    (result,) = engine.commit([write(2, keep(2), DropPassage(passage(1).id))])
    assert isinstance(result, MnemonError)
    engine.log = None
    assert shown(engine) == stored(engine) == [passage(1)]
    engine.close()


def test_vectors_of_another_embedder_or_text_are_none(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    committed(engine, write(1, keep(1), keep(2)))
    other = msgspec.structs.replace(embedded(passage(2)), text="something else")
    committed(engine, write(2, embedded(passage(1)), other))
    assert engine.index.snapshot.parts.passages.without_vector() == [passage(2).id]
    anew = msgspec.structs.replace(EMBEDDER, fingerprint="toy-2")
    found = engine.read(lambda it: [vectors is None for _, vectors in passages.load(it, anew)])
    assert found == [True, True]
    engine.close()


def test_a_text_without_a_word_that_the_embedder_knows_is_not_tried_again(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    committed(engine, write(1, keep(1)), write(2, EmbedPassage(passage(1).id, passage(1).text)))
    assert engine.read(lambda it: passages.unembeddable(it, EMBEDDER)) == {passage(1).id}
    assert engine.index.snapshot.parts.passages.without_vector() == [passage(1).id]
    engine.close()


def test_what_is_purged_is_in_no_file(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    committed(engine, write(1, keep(1), keep(2, prompt=f"{SECRET} lives here")))
    committed(engine, write(2, DropPassage(passage(2).id)))
    engine.checkpoint_if_due()
    assert any(SECRET.encode() in file.read_bytes() for file in tmp_path.iterdir())
    committed(engine, write(3, DropPassage(passage(2).id, "purged")))
    assert shown(engine) == [passage(1)]
    assert not any(SECRET.encode() in file.read_bytes() for file in tmp_path.iterdir())
    (refused,) = engine.commit([write(4, RestorePassage(passage(2).id))])
    assert isinstance(refused, MnemonError)
    engine.close()


@each_row(
    ("days", "size", "limit", "left"),
    [
        (0, 0, 99, [1, 2, 3, 4]),
        (1, 0, 99, [3, 4]),
        (1, 0, 1, [2, 3, 4]),
        (0, 30, 99, [3, 4]),
        (0, 1, 99, []),
        (1, 40, 99, [3, 4]),
        (3, 20, 99, [4]),
    ],
)
def test_the_oldest_go_beyond_a_bound(tmp_path: Path, days: int, size: int, limit: int, left: list[int]) -> None:
    """Of four days with 15 bytes each; one that is forgotten counts."""
    engine = engine_at(tmp_path / "a.db")
    now_us = int(START_US + 4 * DAY_US)
    fields = [
        {"said_at": format_us(START_US + n * DAY_US + 1), "prompt": "12345", "answer": "1234567890"}
        for n in range(1, 5)
    ]
    committed(
        engine, write(1, *(keep(n, **each) for n, each in enumerate(fields, 1))), write(2, DropPassage(passage(1).id))
    )

    def old(connection: Connection) -> list[str]:
        return passages.too_old(connection, now_us, days, size, limit)

    gone = engine.read(old)
    assert isinstance(gone, list)
    committed(engine, write(3, *(DropPassage(each, "expired") for each in gone)))
    assert engine.read(lambda it: [row[:8] for row in it.column("SELECT id FROM passages ORDER BY id")]) == [
        f"{each:08x}" for each in left
    ]
    assert [it.id for it in shown(engine)] == [passage(each).id for each in left if each != 1]
    engine.close()


def _in_slices(path: Path) -> Engine:
    """Open a store of which only the newest passages are loaded."""

    def opened() -> Opened:
        return open_database(path, lambda: EMBEDDER, START_US, in_slices=True)

    def unforeseen(where: str, error: BaseException) -> None:
        raise AssertionError(where) from error

    return Engine(opened(), opened, unforeseen)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with more passages than are loaded at once."""
    path = tmp_path_factory.mktemp("many") / "a.db"
    engine = engine_at(path)
    committed(engine, write(1, *map(keep, range(1, LOADED_AT_ONCE + 2 * LOADED_TOGETHER + 4))))
    committed(engine, write(2, *(embedded(it) for it in stored(engine))))
    engine.close()
    return path


def test_the_newest_are_there_at_once_and_the_others_soon(many: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(many, tmp_path / "b.db"))
    engine = _in_slices(path)
    every = stored(engine)
    found = engine.index.snapshot.parts.passages
    assert shown(engine) == every[-LOADED_AT_ONCE:]
    assert len(found.waiting) == len(every) - LOADED_AT_ONCE
    steps = 0
    while engine.index.snapshot.parts.passages.waiting:
        engine.load_passages()
        steps += 1
    assert steps == 3
    assert by_id(shown(engine)) == by_id(every)
    whole = engine.index.snapshot.parts.passages
    assert whole.without_vector() == []
    assert shown(engine)[:LOADED_AT_ONCE] == [found.passage(row) for row in range(found.rows)]
    engine.close()


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.one_of(
            st.just(("load", 0)),
            st.tuples(
                st.sampled_from(["keep", "forget", "restore", "purge", "embed", "fail"]),
                st.sampled_from([1, 2, 20, 40, 900, 901]),
            ),
        ),
        max_size=12,
    )
)
def test_what_is_written_while_passages_are_loaded_is_neither_lost_nor_doubled(
    many: Path, steps: list[tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as home:
        engine = _in_slices(Path(shutil.copy(many, Path(home) / "b.db")))
        for at, (what, number) in enumerate(steps, 10):
            if what == "load":
                engine.load_passages()
            elif what == "fail":  # the batch is rolled back, and the index loaded anew
                engine.log = _refuse
                engine.commit([write(at, change("keep", 950 + number))])
                engine.log = None
            else:
                engine.commit([write(at, change(what, number))])
            present = shown(engine)
            waiting = engine.index.snapshot.parts.passages.waiting
            assert len({it.id for it in present}) == len(present)
            unloaded = engine.read(partial(_loaded, waiting))
            together = {it.id: it for it in (*present, *unloaded)}  # type: ignore[misc]
            assert by_id(list(together.values())) == by_id(stored(engine))
        while engine.index.snapshot.parts.passages.waiting:
            engine.load_passages()
        assert by_id(shown(engine)) == by_id(stored(engine))
        lacking = engine.read(lambda it: [each.id for each, made in passages.load(it, EMBEDDER) if made is None])
        assert sorted(engine.index.snapshot.parts.passages.without_vector()) == sorted(lacking)  # type: ignore[call-overload]
        engine.close()


def _loaded(numbers: tuple[int, ...], connection: Connection) -> list[Passage]:
    return [each for each, _ in passages.load(connection, EMBEDDER, numbers)]


def _refuse(_: object) -> None:
    raise LogError(STORAGE, "refused", outcome="rejected")


def test_a_purged_memory_leaves_the_passages_of_the_index(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    said = f"The key of the safe is {SECRET}."
    committed(engine, remember(1, said), write(2, keep(1, prompt=f"Note this. {said}", answer="Done.")))
    purged = msgspec.structs.replace(write(3), changes=(PurgeInsight(insight_id(1)),), operation=None)
    committed(engine, purged)
    assert [SECRET in it.text for it in (*shown(engine), *stored(engine))] == [False, False]
    engine.close()


def test_what_an_undo_took_back_may_come_again_and_what_was_forgotten_not(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")

    def undo(number: int, op_id: str) -> ChangeSet:
        taken = engine.read(lambda it: passages.undoing(it, op_id)[0])
        return msgspec.structs.replace(write(number, *taken, operation=None), undoes=op_id)  # type: ignore[misc]

    def again(number: int) -> ChangeSet:
        return write(number, KeepPassage(passage(50 + number), "key-1"), operation=None)

    def is_known() -> bool:
        return bool(engine.read(lambda it: passages.is_known(it, "key-1")))

    committed(engine, write(1, keep(1), operation=None))
    for number in (2, 4):
        committed(engine, undo(number, f"op-{number - 1}"))
        assert (shown(engine), is_known()) == ([], False)
        committed(engine, again(number + 1))
        assert (shown(engine), stored(engine), is_known()) == ([passage(1)], [passage(1)], True)
    committed(engine, write(6, DropPassage(passage(1).id), operation=None), again(7))
    assert (shown(engine), stored(engine), is_known()) == ([], [], True)
    engine.close()
