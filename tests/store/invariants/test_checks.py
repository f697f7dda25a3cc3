"""One thing is broken, and exactly its check says so."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import format_us
from mnemond.store.verify import findings, open_reader
from mnemond.store.verify_checks import CHECKS, Evidence, Session, Tier, of_tier
from tests.store.factories import START_US, insight_id
from tests.store.invariants.seeded import SOUND, evidence
from tests.tables import each_row

DAY_US, HOUR_US = 86_400_000_000, 3_600_000_000
HOUR_OF_THREE_US = (START_US // HOUR_US // 100 * 100 + 100 + 3) * HOUR_US
"""An hour in which the vector of row 3 is looked at: 3, 103, 203 … of all hours."""
NOW = format_us(START_US)
ONE, TWO, THREE, SIX = (f"id = '{insight_id(number)}'" for number in (1, 2, 3, 6))


def fired(found: Evidence, tier: Tier) -> dict[str, str]:
    """What each check that found something says."""
    results = [finding for finding in findings(found, tier) if finding is not None]
    assert [each.check for each in results] == list(of_tier(tier))
    return {each.check.name: str(each.problems) for each in results if each.problems}


def _total(snapshot: Snapshot) -> Snapshot:
    corpus = snapshot.parts.corpus
    return Snapshot(
        snapshot.generation, snapshot.parts._replace(corpus=corpus._replace(total_length=corpus.total_length + 1))
    )


def _count(snapshot: Snapshot) -> Snapshot:
    snapshot.parts.adjacency.counts = (7, *snapshot.parts.adjacency.counts[1:])
    return snapshot


def _stretch(snapshot: Snapshot) -> Snapshot:
    row = snapshot.row_of(insight_id(3))
    snapshot.parts.dense.matrix[row] *= 2
    return snapshot


def _turn(snapshot: Snapshot) -> Snapshot:
    row = snapshot.row_of(insight_id(3))
    snapshot.parts.dense.matrix[row] *= -1
    return snapshot


def _word(snapshot: Snapshot) -> Snapshot:
    snapshot.parts.postings.add(5, {"number": 1.0})
    return snapshot


def _relate(snapshot: Snapshot) -> Snapshot:
    snapshot.columns.degree[snapshot.row_of(insight_id(3))] = 5
    return snapshot


def _widen(snapshot: Snapshot) -> Snapshot:
    dense = snapshot.parts.dense
    wide = dense._replace(matrix=dense.matrix.astype(np.float64))
    return Snapshot(snapshot.generation, snapshot.parts._replace(dense=wide))


def _lengthen(snapshot: Snapshot) -> Snapshot:
    snapshot.lengths[0] += 1
    snapshot.lengths[1] -= 1
    return snapshot


def _overlong(path: Path) -> None:
    os.truncate(path.with_name(f"{path.name}-wal"), (64 << 20) + 1)


_PASSAGE = (
    "INSERT INTO passages(id, dedupe_key, kind, said_at, host, op_id, prompt, answer)"
    " VALUES('p', 'k', 'exchange', '{}', 'codex', 'o', 'Why?', 'Because.')"
)

BROKEN: list[tuple[str, Tier, dict[str, Any]]] = [
    ("mirror_totals", "tick", {"bend": _total}),
    ("sole_writer", "tick", {"session": msgspec.structs.replace(SOUND, others_wrote=True)}),
    ("schema", "fast", {"before": ["CREATE TABLE strange(a)"]}),
    ("schema", "fast", {"session": Session({**SOUND.pragmas, "synchronous": 1}, others_wrote=False)}),
    ("schema", "fast", {"after": ["PRAGMA user_version = 99"]}),
    ("counts", "fast", {"bend": _count}),
    (
        "vectors_there", "fast",
        {"after": [
            f"UPDATE insights SET embedding = NULL WHERE {ONE}",
            f"UPDATE insights SET embedding = :vector, embedding_model = 'toy', embedding_dim = 8 WHERE {SIX}",
        ]},
    ),
    ("ranges", "fast", {"before": [f"UPDATE insights SET effective_importance = -0.1 WHERE {THREE}"]}),
    ("ranges", "fast", {"before": [f"UPDATE insights SET effective_importance = 9e999 WHERE {THREE}"]}),
    ("ranges", "fast", {"before": [f"UPDATE insights SET importance = 9 WHERE {THREE}"]}),
    ("ranges", "fast", {"before": ["UPDATE edge_rows SET weight = 1.5 WHERE kind = 2"]}),
    ("ranges", "fast", {"now_us": START_US - DAY_US - 1_000}),
    ("log", "fast", {"before": ["DELETE FROM oplog WHERE id = 3"]}),
    ("log", "fast", {"before": ["DELETE FROM oplog WHERE id = (SELECT max(id) FROM oplog)"]}),
    ("high_water", "fast", {"behind": "the store went backwards"}),
    ("vector_shapes", "fast", {"before": [f"UPDATE insights SET embedding_dim = 7 WHERE {THREE}"]}),
    (
        "unit_vectors", "fast",
        {"after": [f"UPDATE insights SET embedding = :twice WHERE {THREE}"], "bend": _stretch},
    ),
    ("mirror_ids", "fast", {"after": [f"UPDATE insights SET id = 'other' WHERE {THREE}"]}),
    ("mirror_passages", "fast", {"after": [_PASSAGE.format(NOW)]}),
    ("mirror_passages", "fast", {"before": [_PASSAGE.format(NOW)], "after": ["UPDATE passages SET gone_op = 'o'"]}),
    ("mirror_importance", "fast", {"after": [f"UPDATE insights SET effective_importance = 0.51 WHERE {THREE}"]}),
    ("some_vectors", "fast", {"bend": _turn, "now_us": HOUR_OF_THREE_US}),
    (
        "link_ends", "full",
        {"before": [f"UPDATE insights SET status = 'forgotten', deleted_at = created_at WHERE {TWO}"]},
    ),
    ("link_ends", "full", {"before": ["DELETE FROM edge_rows WHERE source = 2"]}),
    ("references", "full", {"before": [f"UPDATE insights SET superseded_by = 'nobody' WHERE {THREE}"]}),
    ("references", "full", {"before": ["INSERT INTO memory_entities VALUES('nobody', 'nothing', '')"]}),
    (
        "references", "full",
        {"before": [
            f"UPDATE insights SET superseded_by = '{insight_id(2)}' WHERE {ONE}",
            f"UPDATE insights SET superseded_by = '{insight_id(1)}' WHERE {TWO}",
        ]},
    ),
    ("words", "full", {"bend": _word}),
    ("words", "full", {"bend": _lengthen}),
    ("rows", "full", {"before": [f"UPDATE insights SET tags = 'K]' WHERE {THREE}"]}),
    ("rows", "full", {"before": [f"UPDATE insights SET metadata = CAST(x'7bff7d' AS TEXT) WHERE {TWO}"]}),
    ("rows", "full", {"before": ["UPDATE memory_operations SET after_state = '[}' WHERE id = 2"]}),
    ("rows", "full", {"before": [f"INSERT INTO operations VALUES('mine', 'remember', 'd', '{{}}', '{NOW}')"]}),
    ("rows", "full", {"before": ["INSERT INTO meta VALUES('job:prune', '[]')"]}),
    ("rows", "full", {"before": ["UPDATE edge_rows SET created_at = 'yesterday' WHERE kind = 2"]}),
    ("rows", "full", {"before": [_PASSAGE.format("yesterday")]}),
    ("mirror_links", "full", {"bend": _relate}),
    ("content_hash", "full", {"before": [f"UPDATE insights SET content = 'memory numbed 3' WHERE {THREE}"]}),
    ("mirror_links", "full", {"after": ["UPDATE edge_rows SET weight = 0.8 WHERE source = 1 AND kind = 1"]}),
    ("mirror_vectors", "full", {"bend": _turn}),
    ("checksums", "full", {"flipped": True}),
    ("pages", "full", {"flawed": "metrics"}),
]  # fmt: skip


def test_a_sound_store_has_no_problem(tmp_path: Path) -> None:
    with evidence(tmp_path / "mnemon.db") as found:
        assert fired(found, "fast") == {}
        assert fired(found, "full") == {}


def test_a_memory_of_a_day_to_come_is_sound(tmp_path: Path) -> None:
    later = f"UPDATE insights SET created_at = '2099-01-01T00:00:00.000000Z' WHERE {SIX}"
    with evidence(tmp_path / "mnemon.db", before=[later]) as found:
        assert fired(found, "full") == {}


@pytest.mark.parametrize(("name", "tier", "broken"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_exactly_the_check_of_what_is_broken_fires(
    name: str, tier: Tier, broken: dict[str, Any], tmp_path: Path
) -> None:
    with evidence(tmp_path / "mnemon.db", **broken) as found:
        assert set(fired(found, tier)) == {name}
        assert set(fired(found, "full")) <= {name, "mirror_vectors"}  # which covers what `some_vectors` samples


def test_every_check_has_something_broken_for_it() -> None:
    assert {name for name, _, _ in BROKEN} | {"files"} == {check.name for check in CHECKS}


def test_others_have_their_turn_while_pages_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with evidence(tmp_path / "mnemon.db") as found:
        plain = list(findings(found, "full")).count(None)
        monkeypatch.setattr("mnemond.store.checksums.PAGES_PER_STEP", 4)
        assert list(findings(found, "full")).count(None) > plain


def test_files_that_others_may_read(tmp_path: Path) -> None:
    path = tmp_path / "mnemon.db"
    with evidence(path) as found:
        path.chmod(0o640)
        assert set(fired(found, "full")) == {"files"}
        assert "mode 0640, 0040 too many" in fired(found, "tick")["files"]


def test_a_matrix_of_another_form(tmp_path: Path) -> None:
    with evidence(tmp_path / "mnemon.db", bend=_widen) as found:
        assert "float64, (6, 8)" in fired(found, "fast")["unit_vectors"]


@each_row("what", ["names", "directory", "log", "link", "pipe"])
def test_files_that_are_not_as_they_should_be(what: str, tmp_path: Path) -> None:
    path = tmp_path / "store" / "mnemon.db"
    path.parent.mkdir(mode=0o700)
    with evidence(path) as found:
        if what == "names":
            os.link(path, tmp_path / "another")
        elif what == "directory":
            path.parent.chmod(0o755)
        elif what == "link":
            path.with_name(f"{path.name}-shm").rename(tmp_path / "elsewhere")
            path.with_name(f"{path.name}-shm").symlink_to(tmp_path / "elsewhere")
        elif what == "pipe":
            path.with_name(f"{path.name}-shm").unlink()
            os.mkfifo(path.with_name(f"{path.name}-shm"), 0o600)
        else:
            _overlong(path)
        said = {
            "names": "2 names", "directory": "mode 0755", "log": "64 MiB", "link": "symbolic link", "pipe": "no file",
        }[what]  # fmt: skip
        assert said in fired(found, "tick")["files"]


def test_a_problem_names_the_memory_and_what_to_do(tmp_path: Path) -> None:
    broken = ["UPDATE insights SET content = content || '!' WHERE number <= 5"]
    with evidence(tmp_path / "mnemon.db", before=broken) as found:
        [finding] = [each for each in findings(found, "full") if each is not None and each.problems]
    [problem] = finding.problems
    assert problem.what == "5 texts are not the ones that were stored"
    assert problem.where == f"{insight_id(1)}, {insight_id(2)}, {insight_id(3)} and 2 more"
    assert "restore a backup" in problem.next


def test_a_table_that_cannot_be_read_is_a_problem_and_ends_nothing_else(tmp_path: Path) -> None:
    with evidence(tmp_path / "mnemon.db", after=["DROP TABLE oplog"]) as found:
        said = fired(found, "fast")
    assert set(said) == {"schema", "log"}
    assert "no such table" in said["log"]


def test_without_a_mirror_only_rows_are_looked_at(tmp_path: Path) -> None:
    with evidence(tmp_path / "mnemon.db") as found:
        bare = msgspec.structs.replace(found, mirror=None, session=None)
        results = [each for each in findings(bare, "full") if each is not None]
    skipped = {each.check.name for each in results if each.skipped}
    assert skipped == {check.name for check in of_tier("full") if check.needs != "rows"}
    assert not any(each.problems for each in results)


def _names(checks: Sequence[Any]) -> list[str]:
    return [check.name for check in checks]


def test_a_tier_has_the_checks_of_those_below_it() -> None:
    assert _names(of_tier("tick")) == ["files", "mirror_totals", "sole_writer"]
    assert set(_names(of_tier("tick"))) < set(_names(of_tier("fast")))
    assert set(_names(of_tier("fast"))) - set(_names(of_tier("full"))) == {"some_vectors"}


def test_a_library_too_old_and_files_of_somebody_else_are_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_old() -> None:
        raise MnemonError(STORAGE, "SQLite 3.1 is too old")

    with evidence(tmp_path / "mnemon.db") as found:
        monkeypatch.setattr("mnemond.store.verify_checks.check_sqlite_version", too_old)
        monkeypatch.setattr("mnemond.store.verify_checks.os.geteuid", lambda: 4711)
        said = fired(found, "fast")
    assert "too old" in said["schema"]
    assert "not to user 4711" in said["files"]


def test_vectors_stored_with_another_length_and_long_lists_are_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemond.store.verify_checks.POSTINGS", 1)
    twice = f"UPDATE insights SET embedding = :twice WHERE {THREE}"
    with evidence(tmp_path / "mnemon.db", before=[twice]) as found:
        assert "vectors in memory" not in str(fired(found, "full"))


def test_a_store_that_is_gone_cannot_be_read(tmp_path: Path) -> None:
    class Gone:
        read_only = None
        path = tmp_path / "nowhere" / "mnemon.db"

    gone: Any = Gone()
    with pytest.raises(MnemonError):
        open_reader(gone)
