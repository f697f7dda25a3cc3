"""Zip files as they are downloaded, and those that are refused before anything in them is unpacked."""

from __future__ import annotations

import io
import stat
import struct
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl import transfer
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.interchange import archives
from mnemond.interchange.items import NotReadableError
from tests.tables import each_row

MOST = 1 << 20


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def read(content: bytes, most: int = MOST) -> dict[str, bytes]:
    return dict(archives.files_in(io.BytesIO(content), most))


@each_row(
    ("name", "why"),
    [("/etc/a.json", "has an absolute name"), ("C:/a.json", "has an absolute name"),
     ("\\a.json", "has an absolute name"), ("x/../../a.json", "leads out of the archive"),
     ("..\\a.json", "leads out of the archive")],
)  # fmt: skip
def test_a_name_that_leads_out_is_refused(name: str, why: str) -> None:
    with pytest.raises(NotReadableError, match=why):
        read(packed({"a.json": b"[]", name: b"[]"}))


def test_a_link_is_refused() -> None:
    link = zipfile.ZipInfo("memories.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(NotReadableError, match=r"'memories\.json' is a symbolic link"):
        read(made.getvalue())


def test_an_encrypted_file_and_another_compression_are_refused() -> None:
    plain = bytearray(packed({"a.json": b"[]"}))
    plain[plain.rfind(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(NotReadableError, match="is encrypted"):
        read(bytes(plain))
    with pytest.raises(NotReadableError, match="another way than deflate"):
        read(packed({"a.json": b"[]"}, zipfile.ZIP_LZMA))


def test_too_many_files_are_refused() -> None:
    files = {f"{number}.txt": b"" for number in range(archives.MAX_ENTRIES + 1)}
    with pytest.raises(NotReadableError, match="10,001 files; at most 10,000"):
        read(packed(files))
    files.popitem()
    assert read(packed(files)) == {}


def test_a_list_of_files_that_is_too_long_is_refused_before_it_is_read() -> None:
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, archives.MAX_DIRECTORY + 1, 0, 0)
    with pytest.raises(NotReadableError, match="more than 10,000 files, or with very long names"):
        read(b"PK\x03\x04" + bytes(200) + end)
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 1 << 40, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 204, 1)
    small = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    with pytest.raises(NotReadableError, match="more than 10,000 files, or with very long names"):
        read(b"PK\x03\x04" + bytes(200) + end64 + locator + small)


def test_a_zip_bomb_is_refused_without_unpacking_it(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    path.write_bytes(packed({"conversations.json": b"[" + b" " * (64 << 20) + b"]"}, zipfile.ZIP_DEFLATED))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(MnemonError, match="more than 100 times as large when it is unpacked") as caught:
            transfer._Content(path, None)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert caught.value.kind is INVALID_PARAMS
    assert "nothing was imported" in caught.value.message


def test_more_bytes_than_admitted_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 2 << 20)
    files = {f"{number}.bin": bytes(1 << 20) for number in range(2)}
    assert read(packed(files)) == {}
    with pytest.raises(NotReadableError, match="more than 2 MB when it is unpacked"):
        read(packed(files | {"c.json": b"[]"}))
    with pytest.raises(NotReadableError, match=r"'d\.json' has more than 9 bytes"):
        read(packed({"d.json": b"[1,2,3,4,5]"}), 9)


def test_a_file_that_is_longer_than_the_list_says_is_damaged() -> None:
    """The list is what the limits are checked against: no more bytes than it says are ever unpacked."""
    made = bytearray(packed({"a.json": b"[" + b"1," * 5000 + b"1]"}, zipfile.ZIP_DEFLATED))
    struct.pack_into("<L", made, made.rfind(b"PK\x01\x02") + 24, 10)
    with pytest.raises(NotReadableError, match="it is a damaged zip file"):
        read(bytes(made))


@given(st.binary(max_size=200), st.integers(0, 300), st.integers(0, 255))
def test_garbage_is_refused_with_a_sentence(garbage: bytes, at: int, byte: int) -> None:
    spoiled = bytearray(packed({"a.json": b"[]", "b.md": b"text"}, zipfile.ZIP_DEFLATED))
    spoiled[at % len(spoiled)] = byte
    for content in (b"PK\x03\x04" + garbage, b"PK\x05\x06" + garbage, bytes(spoiled)):
        with suppress(NotReadableError):
            assert len(read(content)) <= 2


def test_an_archive_without_memories_and_a_damaged_file_in_one(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(packed({"users.json": b"[]"}))
    with pytest.raises(MnemonError, match="no file in it that can be imported"):
        transfer._Content(path, None)
    path.write_bytes(packed({"memories.json": b"[{"}))
    with pytest.raises(MnemonError, match=r"'memories\.json' in it cannot be read: it is no JSON"):
        transfer._Content(path, None)
