"""`mnemonctl doctor --salvage` from outside: a new store beside the damaged one, and what was lost is said."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from mnemonctl import doctor
from mnemond.cli.admin import DoctorOptions
from mnemond.cli.grammar import Output
from mnemond.errors import INVALID_PARAMS, LOCKED, NOT_FOUND, STORAGE, MnemonError
from mnemond.store.connection import Connection, SqliteError
from mnemond.wire.listener import lock, open_data_dir
from tests.store.factories import contents, engine_at, remember
from tests.store.test_checksums import flip

LOST = b"memory number 27"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    root = tmp_path / "m"
    for part in (root, root / "data", root / "data" / "default"):
        part.mkdir(mode=0o700)
    path = root / "data" / "default" / "mnemon.db"
    engine = engine_at(path)
    engine.commit([remember(number) for number in range(1, 40)])
    engine.close()
    path.chmod(0o600)
    return root


def damage(root: Path) -> Path:
    """Flip a bit of the text where its memory stands: the history has it as well, and splitting a page may have left a
    copy in an unused part."""
    path = root / "data" / "default" / "mnemon.db"
    whole = path.read_bytes()
    for found in re.finditer(re.escape(LOST), whole):
        flip(path, found.start())
        if not is_readable(path):
            return path
        path.write_bytes(whole)
    raise AssertionError("no memory has the text")


def is_readable(path: Path) -> bool:
    connection = Connection(path, read_only=True)
    try:
        connection.rows("SELECT content FROM insights")
    except SqliteError:
        return False
    finally:
        connection.close()
    return True


def run(root: Path, **typed: Any) -> tuple[int, dict[str, Any]]:
    found = doctor.run(root, DoctorOptions(salvage=True, **typed), Output(form="json"), {})
    return found.exit_code, json.loads(found.stdout)


def test_a_damaged_store_is_salvaged_beside_itself(directory: Path) -> None:
    path = damage(directory)
    before = path.read_bytes()
    code, said = run(directory)
    assert (code, said["store"], said["of"], said["memories"], said["whole"]) == (
        1, "default-salvaged", "default", 39, False,
    )  # fmt: skip
    (memories,) = (each for each in said["tables"] if each["table"] == "insights")
    assert (memories["kept"], memories["left_out"], said["recovered"]) == (38, 1, 1)
    assert (Path(said["path"]).with_name("left-out.jsonl"), said["problems"]) == (Path(said["left_out"]), [])
    assert path.read_bytes() == before
    new = Path(said["path"])
    assert (new.stat().st_mode & 0o777, new.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    engine = engine_at(new)
    assert len(contents(engine)) == 39
    engine.close()
    assert (
        doctor.run(directory, DoctorOptions(store="default-salvaged", full=True), Output(form="json"), {}).exit_code
        == 0
    )


def test_what_people_are_told(directory: Path) -> None:
    damage(directory)
    said = doctor.run(directory, DoctorOptions(salvage=True), Output(), {}).stdout
    assert "default-salvaged: 39 memories, 0 out of recall, read from default, which is unchanged" in said
    assert "insights: 38 rows kept" in said
    assert "1 left out" in said
    assert "  1 memory taken from the history" in said
    assert "  what was left out: " in said
    assert said.endswith("mnemonctl store set default-salvaged makes it the one that is used\n")


def test_of_a_sound_store_nothing_is_lost_and_copies_come_to_an_end(directory: Path) -> None:
    names = [run(directory)[1]["store"] for _ in range(doctor.MAX_COPIES)]
    assert names == ["default-salvaged", "default-salvaged-2", "default-salvaged-3"]
    with pytest.raises(MnemonError, match="3 stores were salvaged") as refused:
        run(directory)
    assert refused.value.kind is INVALID_PARAMS
    again = doctor.run(directory, DoctorOptions(salvage=True, store="default-salvaged"), Output(), {})
    assert (again.exit_code, "nothing was lost" in again.stdout) == (0, True)


def test_not_beside_a_daemon(directory: Path) -> None:
    held = open_data_dir(directory)
    instance = lock(held)
    try:
        with pytest.raises(MnemonError, match="daemon") as refused:
            run(directory)
    finally:
        instance.close()
        held.close()
    assert refused.value.kind is LOCKED
    assert os.listdir(directory / "data") == ["default"]


@pytest.mark.parametrize("content", [b"", b"nothing of SQLite's" * 400])
def test_of_nothing_nothing_is_left(directory: Path, content: bytes) -> None:
    (directory / "data" / "default" / "mnemon.db").write_bytes(content)
    with pytest.raises(MnemonError) as refused:
        run(directory)
    assert refused.value.kind is STORAGE
    assert os.listdir(directory / "data") == ["default"]


def test_a_disk_without_room(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mnemond.store.salvage.shutil.copyfile", full)
    with pytest.raises(MnemonError, match="No space left") as refused:
        run(directory)
    assert refused.value.kind is STORAGE
    assert os.listdir(directory / "data") == ["default"]


def test_a_store_that_is_not_there(directory: Path) -> None:
    with pytest.raises(MnemonError) as refused:
        run(directory, store="other")
    assert refused.value.kind is NOT_FOUND
