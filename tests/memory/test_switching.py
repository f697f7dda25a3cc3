"""What a switch and a calibration come to inside their transactions, where everything is looked at once more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.calibration import Calibration
from mnemond.embed.registry import Embedders
from mnemond.errors import BUSY, CONFIG, INVALID_PARAMS, NOT_FOUND, UNAVAILABLE, MnemonError
from mnemond.memory import embedding
from mnemond.memory.embedding import wanted_by
from mnemond.model.changes import ChangeSet
from mnemond.model.outcomes import EMBEDDER_KEPT, EmbedCalibrateResult, EmbedSwitchResult, Outcome
from mnemond.store.connection import Connection
from mnemond.store.embedder_switch import SwitchRecord, read_switch
from mnemond.store.meta import EmbedderRecord, read_embedder
from tests.api.factories import ToySupply
from tests.outcomes import made
from tests.store.factories import EMBEDDER, open_at

NOW = "2026-02-17T09:30:00.000000Z"
OTHER = SwitchRecord("ollama", EmbedderRecord("other", 4, "other-1"), NOW)
MEASURED = Calibration(0.3, 0.8)


def asked(outcome: Outcome, op_id: str = "mine", method: str = "embed.switch") -> ChangeSet:
    return ChangeSet(op_id, True, method, NOW, (), outcome)


STARTED = asked(made(EmbedSwitchResult, "mine", model="other", total=0))
DROPPED = EmbedSwitchResult("aborted", "other", EMBEDDER_KEPT, dropped=0, op_id="stop", replayed=False)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    connection = open_at(tmp_path / "a.db").connection
    connection.run("BEGIN IMMEDIATE")
    yield connection
    connection.run("ROLLBACK")
    connection.close()


def log(db: Connection) -> list[tuple[str, str]]:
    return db.rows("SELECT operation, detail FROM oplog ORDER BY id")


def test_a_store_that_has_an_embedder_adopts_no_other(db: Connection) -> None:
    assert embedding.adopt(db, OTHER.to, NOW) is False
    assert read_embedder(db) == EMBEDDER
    db.run("DELETE FROM meta")
    assert embedding.adopt(db, OTHER.to, NOW) is True
    assert read_embedder(db) == OTHER.to
    assert log(db) == [("embed.adopt", "other")]


def test_a_repeat_that_comes_in_between_gets_the_first_answer(db: Connection) -> None:
    first = embedding.begin(db, STARTED, OTHER)
    again = embedding.begin(db, STARTED, OTHER)
    assert (first, getattr(again, "replayed", None)) == (STARTED.outcome, True)
    with pytest.raises(MnemonError, match="a switch to other is under way") as caught:
        embedding.begin(db, asked(STARTED.outcome, "another"), OTHER)
    assert caught.value.kind is BUSY
    stop = asked(STARTED.outcome, "stop")
    assert embedding.drop(db, stop) == DROPPED
    assert read_switch(db) is None
    assert embedding.drop(db, stop) == msgspec.structs.replace(DROPPED, replayed=True)
    with pytest.raises(MnemonError) as caught:
        embedding.drop(db, asked(STARTED.outcome, "stop again"))
    assert caught.value.kind is NOT_FOUND
    assert log(db) == [("embed.switch", "to other"), ("embed.switch", "aborted, 0 vectors dropped")]


def test_the_embedder_the_store_has_is_no_change(db: Connection) -> None:
    with pytest.raises(MnemonError) as caught:
        embedding.begin(db, STARTED, SwitchRecord("builtin", EMBEDDER, NOW))
    assert caught.value.kind is INVALID_PARAMS


def test_what_was_measured_of_another_embedder_is_not_kept(db: Connection) -> None:
    request = asked(
        made(EmbedCalibrateResult, "mine", model="toy", unrelated=0.3, paraphrase=0.8), method="embed.calibrate"
    )
    with pytest.raises(MnemonError, match="another embedder") as caught:
        embedding.save_calibration(db, request, "other-1", MEASURED)
    assert caught.value.kind is BUSY
    assert embedding.save_calibration(db, request, EMBEDDER.fingerprint, MEASURED) == request.outcome
    record = read_embedder(db)
    assert record is not None
    assert (record.unrelated, record.paraphrase) == (0.3, 0.8)
    again = embedding.save_calibration(db, request, "other-1", MEASURED)
    assert getattr(again, "replayed", None) is True


def test_a_new_store_gets_the_configured_embedder_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wanted_by(Embedders(EmbeddingSettings(provider="none"), {}, lambda: 0.0))() is None
    found = wanted_by(Embedders(EmbeddingSettings(), {}, lambda: 0.0))()
    assert found is not None
    assert found.name == "minilm_static_256_int8"
    toys = ToySupply(None)

    def refuse(error: MnemonError) -> None:
        def fail() -> None:
            raise error

        monkeypatch.setattr(toys, "preferred", fail)

    refuse(MnemonError(UNAVAILABLE, "nobody is there"))
    assert wanted_by(toys)() is None
    refuse(MnemonError(CONFIG, "nonsense"))
    with pytest.raises(MnemonError, match="nonsense"):
        wanted_by(toys)()
