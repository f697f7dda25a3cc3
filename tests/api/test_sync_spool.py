"""The lines of other devices on the disk: checked once, and read in parts of bounded size."""

from __future__ import annotations

import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.api import sync
from mnemond.api.sync import MAX_REFUSED, SyncSpool
from mnemond.api.types_sync import SyncSent
from mnemond.memory.sync.code import StrangerError
from mnemond.memory.sync.groups import MemoryValue, RecordError
from mnemond.memory.sync.kinds import KNOWLEDGE, LINKS, MEMORIES, PURGES, RECORDS_AT_ONCE
from mnemond.memory.sync.records import UnknownKindError
from mnemond.memory.sync.union import MAX_NAMED
from mnemond.model.sync import Record

STAMP = f"{1:016x}-{1:016x}"
_line = msgspec.json.Decoder(dict[str, str])


def decode(line: bytes) -> Record[MemoryValue]:
    """Read a line of the tests: the kind of a record, its key and how it is filled up."""
    try:
        fields = _line.decode(line)
    except msgspec.MsgspecError as error:
        raise RecordError("it is no record") from error
    match fields["kind"]:
        case "purge":
            return Record(kind="memory", key=fields["key"], stamp=STAMP, state="purged")
        case "edge" | "relation" | "name" | "use":
            state = "purged" if fields["fill"] else "gone"
            return Record(kind=fields["kind"], key=fields["key"], stamp=STAMP, state=state)  # type: ignore[arg-type]
        case "newer":
            raise UnknownKindError("this mnemond does not know records of that kind")
        case "stranger":
            raise StrangerError("it is signed with another code")
        case _:
            value = MemoryValue({}, op_id=fields.get("fill", ""))
            return Record(kind="memory", key=fields["key"], stamp=STAMP, value=value)


def line(kind: str, key: str, fill: str = "") -> str:
    return msgspec.json.encode({"kind": kind, "key": key, "fill": fill}).decode() + "\n"


def spool_of(*texts: str) -> SyncSpool:
    """A spool of one file for each text, checked."""
    contents = [each.encode() for each in texts]
    it = SyncSpool(io.BytesIO(b"".join(contents)), [SyncSent(at, len(each)) for at, each in enumerate(contents)])
    it.look(decode)
    return it


def read(it: SyncSpool, held: frozenset[str] = frozenset()) -> list[tuple[int, list[str]]]:
    return [(part.step, [each.key for each in part.records]) for part in it.parts(decode, held)]


def test_purges_come_first_and_links_last() -> None:
    spool = spool_of(
        line("edge", "a b causal") + line("memory", "a"), line("purge", "c") + line("memory", "a", "again")
    )
    assert spool.purges == {("memory", "purged"): {"c"}}
    assert read(spool) == [(PURGES, ["c"]), (MEMORIES, ["a", "a"]), (LINKS, ["a b causal"])]
    assert [part.files for part in spool.parts(decode, ())] == [[1], [0, 1], [0]], "in the order of the files"
    assert spool.good == {0, 1}


def test_names_that_went_with_a_purge_wait_while_purges_are_held() -> None:
    spool = spool_of(
        line("name", "gone", "purged") + line("memory", "a"), line("name", "taken back"), line("purge", "b")
    )
    assert [keys for kind, keys in read(spool, frozenset("b")) if kind == KNOWLEDGE] == [["taken back"]]
    assert spool.good == {1}
    assert [sorted(keys) for kind, keys in read(spool) if kind == KNOWLEDGE] == [["gone", "taken back"]]


def test_kinds_of_a_later_version_are_named_once_and_hide_nothing() -> None:
    spool = spool_of(line("newer", "a") * (MAX_REFUSED + 1) + line("memory", "b"), line("memory", "c"))
    assert (spool.refused_found, [number for _, number, _ in spool.refused]) == (1, [1])
    assert spool.good == {1}, "the other one is read again after an update"
    assert sorted(key for _, keys in read(spool) for key in keys) == ["b", "c"]


def test_a_file_with_a_purge_that_is_held_is_not_good() -> None:
    spool = spool_of(line("purge", "a") + line("purge", "b"), line("purge", "b"))
    assert read(spool, frozenset("a")) == [(PURGES, ["b", "b"])]
    assert spool.good == {1}
    assert read(spool, frozenset("ab")) == []
    assert spool.good == set()


def test_a_part_is_bounded_by_records_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 3 * RECORDS_AT_ONCE
    many = "".join(line("memory", f"{number}") for number in range(count))
    spool = spool_of(many + "".join(line("memory", "one", "x" * 300) for _ in range(60)))
    parts = [keys for _, keys in read(spool)]
    assert sum(len(keys) for keys in parts) == count + 60
    assert len(parts) in (4, 5)
    assert max(len(keys) for keys in parts) >= 60, "those of one memory are together"
    monkeypatch.setattr(sync, "BYTES_AT_ONCE", 1_000)
    parts = [keys for _, keys in read(spool)]
    assert sum(len(keys) for keys in parts) == count + 60
    assert all(len(keys) < 40 for keys in parts), "but not without bound"


def test_reasons_are_bounded() -> None:
    spool = spool_of(*["no record\n" * 5_000] * 3)
    assert spool.refused_found == 3 * MAX_REFUSED
    assert len(spool.refused) == MAX_NAMED


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("äbc"), st.integers(0, 40)), max_size=12), st.booleans())
def test_each_line_is_found_where_it_is(given_lines: list[tuple[int, str, int]], ended: bool) -> None:
    texts = ["".join(line("memory", f"{at}{key}", "x" * fill) for at, (of, key, fill) in enumerate(given_lines)
                     if of == file) for file in range(3)]  # fmt: skip
    it = spool_of(*(text if ended else text.removesuffix("\n") for text in texts))
    assert it.refused == []
    assert sorted(key for _, keys in read(it) for key in keys) == sorted(
        f"{at}{key}" for at, (_, key, _) in enumerate(given_lines)
    )
