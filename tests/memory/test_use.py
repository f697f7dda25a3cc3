"""Which results count as used, and the write that counts them."""

from __future__ import annotations

from mnemond.api.uses import is_used, propose
from mnemond.index.writer import MemoryIndex
from mnemond.memory.write import WriteContext
from mnemond.model.changes import CountUse, PurgeInsight
from mnemond.model.memory import format_us
from mnemond.model.outcomes import Used
from tests.index.worlds import DIMENSION, insight
from tests.tables import each_row

NOW_US = 1_771_405_200_000_000
WHO = WriteContext(
    id="id", op_id="op", client_op_id=False, now_us=NOW_US, store="default", request_digest="",
    triggered_by="system:recall",
)  # fmt: skip


@each_row(
    ("score", "via", "used"),
    [
        (0.25, ("keyword",), True),
        (1.0, ("keyword", "vector"), True),
        (1.0, ("recency", "keyword"), True),
        (0.2499, ("keyword", "vector"), False),
        (0.0, ("basic",), False),
        (1.0, ("recency",), False),
    ],
)
def test_what_speaks_for_itself_counts_and_what_is_only_new_does_not(
    score: float, via: tuple[str, ...], used: bool
) -> None:
    assert is_used(score, via, "medium") is used
    assert not is_used(score, via, "low")


def test_one_write_counts_them_all() -> None:
    made = propose({"a": 3, "b": 1}, WHO)
    assert made.changes == (CountUse("a", 3, format_us(NOW_US)), CountUse("b", 1, format_us(NOW_US)))
    assert made.outcome == Used(op_id="op")
    assert made.operation == ""  # nothing that a history tells of
    assert (made.subject, made.detail) == (None, "")


def test_who_is_gone_meanwhile_is_left_alone() -> None:
    rows = [(insight(name, name, access_count=2), None) for name in ("a", "b")]
    index = MemoryIndex.build(rows, [], DIMENSION)
    index.apply([PurgeInsight("b")])
    index.apply(propose({"a": 3, "b": 1, "never": 1}, WHO).changes)
    row = index.snapshot.row_of("a")
    assert row is not None
    assert int(index.snapshot.columns.accesses[row]) == 5
    assert index.snapshot.insight(row).last_accessed_at == format_us(NOW_US)
    assert index.snapshot.row_of("b") is None
