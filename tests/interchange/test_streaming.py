"""Large files of another program that have an object a line: read line by line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import msgspec
import pytest

from mnemonctl import transfer
from mnemond.errors import MnemonError


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
    path = written(tmp_path / "memory.jsonl", 16_000)
    assert path.stat().st_size > 8 << 20
    tracemalloc.start()
    try:
        content = transfer._Content(path, None)
        sent = sum(len(text.splitlines()) for text in content.portions())
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert (content.kind, content.memories, sent) == ("server-memory", 32_000, 32_000)
    few = written(tmp_path / "few.jsonl", 3_000)
    streamed = transfer._Content(few, None)
    monkeypatch.setattr(transfer, "MAX_DOCUMENT", 64 << 20)
    whole = transfer._Content(few, None)
    assert (whole.kind, whole.digest, whole.memories) == (streamed.kind, streamed.digest, streamed.memories)
    assert "".join(whole.portions()) == "".join(streamed.portions())


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


def test_a_large_file_of_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"results": [' + b" " * (2 << 20) + b"]}\n")
    with pytest.raises(MnemonError, match="it has more than 1,048,576 bytes"):
        transfer._Content(path, None)
