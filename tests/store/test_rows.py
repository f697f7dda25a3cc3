"""What a mapper writes is what it reads, for the structs of every table, in real SQLite."""

from __future__ import annotations

from typing import NamedTuple

import apsw
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.memory import Cue, Insight, Scope
from mnemond.store.insights import ROWS
from mnemond.store.rows import TIME, Codec, Mapper


class _Part(msgspec.Struct, frozen=True):
    one: str = "a"
    two: bool = False


class _Whole(msgspec.Struct, frozen=True):
    id: int
    at_us: int
    part: _Part
    names: tuple[str, ...] = ()
    listed: list[_Part] = []
    state: _Part | None = None
    kind: str = "plain"
    size: float | None = None
    cues: tuple[Cue, ...] = ()


_MAPPER = Mapper(
    _Whole,
    names={"at_us": "said_at"},
    codecs={"at_us": TIME, "state": Codec(lambda it: None if it is None else it.one, lambda v: v and _Part(v))},
    nullable=("kind", "names"),
    computed={"cues": '\'[{"text":"x"}]\''},
)


def test_a_damaged_value_raises() -> None:
    with pytest.raises(msgspec.DecodeError):
        _MAPPER.read((1, "1970-01-01T00:00:00.000000Z", "a", 0, "[", "[]", None, "k", None, "[]"))


class _Named(NamedTuple):
    id: int
    state: _Part | None
    part: _Part = _Part()


def test_a_named_tuple_is_a_row_as_well() -> None:
    mapper = Mapper(_Named)
    it = _Named(3, _Part("s"), _Part("p", two=True))
    assert mapper.columns == ("id", "state", "one", "two")
    assert mapper.values(it) == (3, '{"one":"s","two":false}', "p", 1)
    assert mapper.read(mapper.values(it)) == it


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_WORDS = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), max_size=3)
_MAYBE = st.none() | _TEXT


@given(
    st.builds(
        Insight, id=_TEXT, content=_TEXT, created_at=_TEXT, updated_at=_TEXT, tags=_WORDS.map(tuple),
        entities=st.lists(_TEXT, max_size=3).map(tuple), scope=st.builds(Scope, _MAYBE, _MAYBE, _MAYBE, _MAYBE),
        keywords=_WORDS.map(" ".join), pinned=st.booleans(), quarantined=st.booleans(), valid_from=_MAYBE,
        metadata=st.sampled_from(["{}", '{"a":1}']), useful=st.integers(0, 9), boost_days=st.floats(0, 9),
    )
)  # fmt: skip
def test_a_memory_is_read_as_it_was_written(it: Insight) -> None:
    """SQLite gives back what it was given."""
    places = ", ".join(f"? AS {name}" for name in ROWS.columns)
    [row] = apsw.Connection(":memory:").execute(f"SELECT {places}, '[]', '[]'", ROWS.values(it))
    assert ROWS.read(row) == it
