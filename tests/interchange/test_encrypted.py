"""Encrypted exports and imports: the same bytes there and back, and what is refused."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyrage
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemonctl import keys, transfer
from mnemond import encryption
from mnemond.errors import INVALID_PARAMS, STORAGE, MnemonError
from tests.api.factories import bench
from tests.interchange.test_archives import packed
from tests.interchange.test_export import exported
from tests.interchange.test_import import imported, made, source
from tests.interchange.test_sources import DOCUMENTS
from tests.tables import each_row

KEY = pyrage.x25519.Identity.generate()
TO = [KEY.to_public()]


def content_of(path: Path) -> str:
    return b"".join(transfer._Content(path, None, [KEY]).parts()).decode()


async def test_there_and_back_gives_the_same_bytes(tmp_path: Path) -> None:
    text = await source(tmp_path / "a")
    file = tmp_path / "e.age"
    transfer.write_file(file, [text[:1000].encode(), text[1000:].encode()], TO)
    assert file.stat().st_mode & 0o777 == 0o600
    assert b"greet guest" not in file.read_bytes()
    content = transfer._Content(file, None, [KEY])
    assert content.kind == "mnemond"
    async with bench(made(tmp_path / "b")) as over:
        await imported(over, b"".join(content.parts()).decode(), digest=content.digest)
        assert await exported(over) == text
    transfer.write_file(tmp_path / "plain", [text.encode()])
    assert transfer._Content(tmp_path / "plain", None).digest == content.digest, "as one that is not encrypted"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=2000), max_size=30))
def test_any_portions_come_back(tmp_path: Path, texts: list[str]) -> None:
    text = '{"mnemond":1}\n' + "".join(texts).encode("utf-8", "replace").decode()
    transfer.write_file(tmp_path / "e.age", [text.encode()], TO)
    assert content_of(tmp_path / "e.age") == text


@each_row("kind", ["mem0", "chatgpt"])
def test_files_of_other_programs_may_be_encrypted_and_zipped(tmp_path: Path, kind: str) -> None:
    document = msgspec.json.encode(DOCUMENTS[kind][0])
    archive = packed({"conversations.json" if kind == "chatgpt" else "a.json": document})
    (tmp_path / "plain.json").write_bytes(document)
    expected = b"".join(transfer._Content(tmp_path / "plain.json", None).parts()).decode()
    for content in (document, archive):
        path = tmp_path / "x.json.age"
        path.write_bytes(pyrage.encrypt(content, TO))
        assert transfer._Content(path, None, [KEY]).kind == kind
        assert content_of(path) == expected


def test_what_cannot_be_imported_is_named(tmp_path: Path) -> None:
    path = tmp_path / "e.age"
    transfer.write_file(path, [b'{"mnemond":1}\n' + b"x" * 200_000], TO)
    with pytest.raises(MnemonError, match="it is encrypted; nothing was imported") as refused:
        transfer._Content(path, None)
    assert refused.value.hint == "name the file of your key: --identity FILE"
    with pytest.raises(MnemonError, match="none of the identities is one of its recipients"):
        transfer._Content(path, None, [pyrage.x25519.Identity.generate()])
    path.write_bytes(path.read_bytes()[:-70_000])
    with pytest.raises(MnemonError, match="it was cut off or changed") as cut:
        transfer._Content(path, None, [KEY])
    assert cut.value.kind is STORAGE
    path.write_bytes(pyrage.encrypt(b"SQLite format 3\0" + bytes(200), TO))
    with pytest.raises(MnemonError, match="it is an encrypted database"):
        transfer._Content(path, None, [KEY])


def test_a_file_that_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        transfer.write_file(tmp_path / "e.age", _failing(), TO)
    assert os.listdir(tmp_path) == []


def _failing() -> Iterator[bytes]:
    yield b"a" * 100_000
    raise OSError(28, "No space left on device")


def test_keys_are_read_from_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public, file = str(KEY.to_public()), tmp_path / "key.txt"
    file.write_text(f"# public key: {public}\n{KEY}\n")
    (tmp_path / "to").write_text(f"{public}\n")
    assert keys.recipients([f"@{tmp_path / 'to'}", public]) == [public, public]
    sealed = pyrage.encrypt(b"a", TO)
    assert pyrage.decrypt(sealed, keys.identities(str(file))) == b"a"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert pyrage.decrypt(sealed, keys.identities("-")) == b"a"
    for name in (tmp_path / "none", tmp_path):
        with pytest.raises(MnemonError, match="cannot be read") as refused:
            keys.identities(str(name))
        assert refused.value.kind is INVALID_PARAMS
    assert len(file.read_bytes()) < encryption.MAX_KEYS


async def test_an_export_in_several_files_or_a_zip_file_is_one(tmp_path: Path) -> None:
    text = await source(tmp_path / "a")
    cut = text.index("\n", len(text) // 2) + 1
    parts = tmp_path / "parts"
    (parts / "more").mkdir(parents=True)
    (parts / "1.jsonl").write_text(text[:cut])
    (parts / "more" / "2.jsonl").write_text(text[cut:])
    archive = tmp_path / "parts.zip"
    archive.write_bytes(packed({"1.jsonl": text[:cut].encode(), "more/2.jsonl": text[cut:].encode()}))
    sealed = tmp_path / "parts.zip.age"
    sealed.write_bytes(pyrage.encrypt(archive.read_bytes(), TO))
    for path in (parts, archive, sealed):
        content = transfer._Content(path, None, [KEY])
        assert (content.kind, b"".join(content.parts()).decode()) == ("mnemond", text)
    (parts / "other.md").write_text("A note beside it\n")
    with pytest.raises(MnemonError, match="it has files of several kinds: mnemond, notes"):
        transfer._Content(parts, None)
