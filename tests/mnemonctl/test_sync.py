"""`mnemonctl sync` before anything is read: what is refused, and what is shown of a status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemonctl import rpc, sync
from mnemond.api.types_sync import SyncStatusResult, SyncTarget, SyncUniteResult
from mnemond.cli.grammar import Invocation, Output
from mnemond.cli.help import COMMANDS
from mnemond.cli.output import Style
from mnemond.errors import MnemonError

SYNC = next(each for each in COMMANDS if each.name == "sync")
NOTHING = SyncUniteResult(
    added=0, changed=0, retired=0, purged=0, links=0, relations=0, names=0, conflicts=[],
    conflicts_found=0, held=[], refused=[], refused_found=0, publish=None, lines=0, remove=[],
)  # fmt: skip


def run(named: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch, store: str = "default") -> str:
    status = SyncStatusResult(store=store, device=None, targets=[])
    monkeypatch.setattr(rpc, "call", lambda *_: status)
    monkeypatch.setattr(sync, "_exchange", lambda *_: NOTHING)
    return sync.run(Invocation(SYNC, "sync.open", {}, {}, Output(), [named]), data_dir, 1.0, "").stdout


def test_a_directory_is_used_and_gets_one_for_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    found = run(str(tmp_path / "shared"), tmp_path / "data", monkeypatch)
    assert found == "From other devices: nothing new\nTo other devices: nothing new\n"
    assert (tmp_path / "shared" / sync.FOLDER / "default").is_dir()


def test_nothing_is_made_behind_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("shared", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "shared" / sync.FOLDER).symlink_to(tmp_path / "outside")
    with pytest.raises(MnemonError, match="cannot be used: Not a directory"):
        run(str(tmp_path / "shared"), tmp_path / "data", monkeypatch)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize(
    ("below", "store", "why"),
    [("data/x", "default", "it lies in the data directory"), ("none", "default", "there is no such directory"),
     ("shared", "../x", "cannot be that of a directory")],
)  # fmt: skip
def test_what_cannot_be_synced_with(
    below: str, store: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared").mkdir()
    with pytest.raises(MnemonError, match=why):
        run(str(tmp_path / below), tmp_path / "data", monkeypatch, store)


def rendered(result: Any, **fields: Any) -> str:
    assert SYNC.render is not None
    return SYNC.render(result, Style(**fields))


def test_a_status_says_what_is_where() -> None:
    nothing = SyncStatusResult(store="default", device=None, targets=[])
    assert rendered(nothing) == 'Store "default" is synced with nothing: mnemonctl sync DIR\n'
    targets = [
        SyncTarget("/srv/a", "2026-11-28T09:00:00.000000Z", 2, {"0" * 16: 1, "1" * 16: 3}),
        SyncTarget("git@x:y.git", None, 0, {}),
    ]
    found = SyncStatusResult(store="default", device="0" * 16, targets=targets)
    assert rendered(found) == (
        'Store "default" is device 0000000000000000; synced with\n'
        "  /srv/a: 2026-11-28 09:00; 2 changes wait\n"
        "    device 0000000000000000: 1 file\n"
        "    device 1111111111111111: 3 files\n"
        "  git@x:y.git: never\n"
    )
    assert rendered(found, quiet=True) == "/srv/a\ngit@x:y.git\n"
