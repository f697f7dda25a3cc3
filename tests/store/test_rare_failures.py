"""Failures that no other test reaches: an encryption that fails, rows that wait, a draft that cannot be migrated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyrage
import pytest

from mnemond.encryption import recipients_of
from mnemond.errors import MnemonError
from mnemond.model.memory import Scope
from mnemond.store import backups, relations, verified_copy
from mnemond.store.connection import Connection, Insertion
from tests.store.factories import engine_at, insight_id, remember

RECIPIENTS = recipients_of([str(pyrage.x25519.Identity.generate().to_public())])
LINE = Insertion(6, "oplog", ("operation", "insight_id", "detail", "created_at"))


def no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


class OtherDigest:
    """Of a file that is read differently than it was written."""

    def digest(self) -> bytes:
        return b""


@pytest.mark.parametrize(
    ("name", "broken", "error"),
    [
        ("mnemond.encryption.encrypt", no_space, OSError),
        ("hashlib.file_digest", lambda *_: OtherDigest(), MnemonError),
    ],
)
def test_a_copy_that_cannot_be_encrypted_leaves_nothing(
    name: str,
    broken: Callable[..., object],
    error: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    monkeypatch.setattr(name, broken)
    with pytest.raises(error):
        engine.read(lambda it: verified_copy.make_of_open(it, tmp_path / "copy.age", recipients=RECIPIENTS))
    assert [each for each in tmp_path.iterdir() if "copy" in each.name] == []
    engine.close()


def test_a_name_that_was_not_made_here_is_no_backup(tmp_path: Path) -> None:
    assert backups._read(tmp_path / "holiday.db", "default") is None


def test_rows_that_wait_are_inserted_by_a_flush(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")

    def work(connection: Connection) -> int:
        connection.batches_inserts = True
        connection.add(LINE, [("note", insight_id(1), "", "2026-01-01T00:00:00Z")])
        connection.flush()
        connection.batches_inserts = False
        return connection.count("SELECT count(*) FROM oplog WHERE operation = 'note'")

    assert engine.rewrite(work) == 1
    engine.close()


def test_a_reader_of_a_session_sees_no_users_apart(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    seen = engine.read(lambda it: relations.hidden(it, ["a", "b"], Scope(session_id="s")))
    assert seen == frozenset()
    engine.close()
