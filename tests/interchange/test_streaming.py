"""Large files of another program that have an object a line: read line by line."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl import transfer
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.interchange import json_files, json_stream
from mnemond.interchange.items import NotReadableError
from tests.interchange.test_sources import DOCUMENTS


def written(path: Path, entities: int) -> Path:
    with path.open("wb") as file:
        for number in range(entities):
            entity = {"type": "entity", "name": f"Service {number}", "entityType": "service"}
            file.write(msgspec.json.encode(entity | {"observations": ["x" * 500, "Listens on a port"]}) + b"\n")
    return path


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "MAX_DOCUMENT", 1 << 20)


def test_a_large_file_is_read_line_by_line_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "memory.jsonl", 6_000)
    assert path.stat().st_size > 3 << 20
    tracemalloc.start()
    try:
        content = transfer._Content(path, None)
        sent = sum(1 for _ in content.parts())
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert (content.kind, content.memories, sent) == ("server-memory", 12_000, 12_000)
    few = written(tmp_path / "few.jsonl", 3_000)
    streamed = transfer._Content(few, None)
    monkeypatch.setattr(transfer, "MAX_DOCUMENT", 64 << 20)
    whole = transfer._Content(few, None)
    assert (whole.kind, whole.digest, whole.memories) == (streamed.kind, streamed.digest, streamed.memories)
    assert b"".join(whole.parts()) == b"".join(streamed.parts())


def test_one_that_is_damaged_or_too_large_is_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "memory.jsonl", 3_000)
    with path.open("ab") as file:
        file.write(b"{broken\n")
    with pytest.raises(MnemonError, match="line 3,001 is no JSON; nothing was imported"):
        transfer._Content(path, None)
    with written(path, 3_000).open("ab") as file:
        file.write(b" " * 1000 + b"\n")
    monkeypatch.setattr(transfer, "MAX_LINE", 999)
    with pytest.raises(MnemonError, match="line 3,001 has more than 999 bytes; nothing was imported"):
        transfer._Content(path, None)
    monkeypatch.setattr(transfer, "MAX_STREAMED", 1 << 20)
    with pytest.raises(MnemonError, match="it has more than 1,048,576 bytes"):
        transfer._Content(path, None)


@pytest.mark.check_all
def test_a_large_file_of_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content, why in (
        (b'{"results": [' + b" " * (2 << 20) + b"]}\n", "it has no memories in a list"),
        (b'[{"title": "a"}' + b" " * (2 << 20) + b"]\n", "and no memories in a list"),
        (b'{"schema_version": "1", "insights": [' + b" " * (2 << 20) + b"]}\n", "it has no memories in a list"),
        (b'[{"id": 1, "memory": "a"}' + b" " * (2 << 20), "it is no JSON"),
        (b'[{"id": 1, "memory": "a"}]' + b" " * (2 << 20) + b"x", "it is no JSON"),
        (b'[{"id": 1, "memory": "a"}, {"id": 2, "memory": "\xff"}]' + b" " * (2 << 20), "it is no UTF-8"),
        (b'[{"id": 1, "memory": ' + b"[" * (2 << 20), "it is nested too deeply"),
        (b"\0" * (2 << 20), "it is no JSON"),
    ):
        path.write_bytes(content)
        with pytest.raises(MnemonError, match=why) as refused:
            transfer._Content(path, None)
        assert refused.value.kind is INVALID_PARAMS
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * (2 << 20))
    with pytest.raises(MnemonError, match="it has more than 1,048,576 bytes"):
        transfer._Content(path, None)


def filled(kind: str, size: int) -> bytes:
    """A document of a kind as it is exported, with so many memories before those of the example."""
    document: Any = msgspec.json.decode(msgspec.json.encode(DOCUMENTS[kind][0]))
    array = document if isinstance(document, list) else next(v for v in document.values() if isinstance(v, list))
    array[:0] = [{**array[0], "padding": "x" * size}]
    return msgspec.json.format(msgspec.json.encode(document))


@pytest.mark.parametrize("kind", sorted(json_files.STREAMED))
def test_a_large_array_gives_the_same_as_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(filled(kind, 2 << 20))
    streamed = transfer._Content(path, None)
    assert isinstance(streamed._items, Iterator)
    monkeypatch.setattr(transfer, "MAX_DOCUMENT", 64 << 20)
    whole = transfer._Content(path, None)
    assert (streamed.kind, streamed.memories, streamed.digest) == (kind, whole.memories, whole.digest)
    assert b"".join(streamed.parts()) == b"".join(whole.parts())


def test_an_array_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "MAX_LINE", 1 << 20)  # the first line is the whole file
    path = tmp_path / "mem0.json"
    with path.open("wb") as file:
        file.write(b'{"results": [')
        for number in range(20_000):
            file.write(msgspec.json.encode({"id": number, "memory": f"Fact {number} " + "x" * 700}) + b",")
        file.write(b'{"id": "z", "memory": "The last one"}]}')
    assert path.stat().st_size > 14 << 20
    tracemalloc.start()
    try:
        content = transfer._Content(path, None)
        sent = sum(1 for _ in content.parts())
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()
    assert (content.kind, content.memories, sent) == ("mem0", 20_001, 20_001)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**50), 2**50)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=8), st.integers(1, 40), st.sampled_from([None, *json_stream.ARRAYS]))
def test_elements_are_the_same_whatever_the_portions(found: list[Any], chunk: int, name: str | None) -> None:
    content = msgspec.json.encode(found if name is None else {"a": {"b": [1]}, name: found, "c": "]"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_CHUNK", chunk)
        if not found:
            with pytest.raises(NotReadableError):
                json_stream.streamed_document(lambda: io.BytesIO(content))
            return
        document = json_stream.streamed_document(lambda: io.BytesIO(content))
    elements: Any = document
    if isinstance(document, Mapping):
        elements = document[name or ""]
    assert list(elements) == msgspec.json.decode(msgspec.json.encode(found))


@given(st.binary(max_size=200) | st.text(alphabet='[]{}:,"\\ a1', max_size=60).map(str.encode), st.integers(1, 20))
def test_garbage_is_refused_in_words(content: bytes, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch, suppress(NotReadableError):
        patch.setattr(json_stream, "_CHUNK", chunk)
        document = json_stream.streamed_document(lambda: io.BytesIO(content))
        for elements in (document,) if isinstance(document, json_stream.Elements) else document.values():
            assert elements is None or isinstance(elements, json_stream.Elements)
            list(elements or ())


def test_a_value_that_never_ends_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_ELEMENT", 1000)
    monkeypatch.setattr(json_stream, "_CHUNK", 100)
    with pytest.raises(NotReadableError, match="a value in it has more than 1,000 characters"):
        json_stream.streamed_document(lambda: io.BytesIO(b'[{"a": "' + b"x" * 100_000 + b'"}]'))


@pytest.mark.check_all
def test_a_value_of_many_small_parts_is_in_memory_once() -> None:
    lists = 200_000
    content = b"[[" + b"[]," * lists + b"[]], 1]"
    tracemalloc.start()
    try:
        value = msgspec.json.decode(content)
        once = tracemalloc.get_traced_memory()[1]
        del value
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        assert sum(1 for _ in json_stream.Elements(lambda: io.BytesIO(content))) == 2
        assert tracemalloc.get_traced_memory()[1] - before < 1.5 * once
    finally:
        tracemalloc.stop()
