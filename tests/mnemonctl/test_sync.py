"""`mnemonctl sync` before anything is read: what is refused, and what is shown of a status."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyrage
import pytest

from mnemonctl import rpc, sync
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.api.types_sync import SyncDevice, SyncDeviceView, SyncStatusResult, SyncTarget, SyncUniteResult
from mnemond.cli.grammar import Invocation, Output, parse
from mnemond.cli.help import COMMANDS
from mnemond.cli.output import Style
from mnemond.errors import MnemonError
from tests.tables import each_row

SYNC = next(each for each in COMMANDS if each.name == "sync")
NOTHING = SyncUniteResult(
    added=0, changed=0, retired=0, purged=0, links=0, relations=0, names=0, conflicts=[], conflicts_found=0, held=[],
    held_purges=[], held_purges_found=0, refused=[], refused_found=0, op_id=None, knowledge_op_id=None, ahead=0,
    restamped=0, strangers=[], code=None, publish=None, lines=0, remove=[],
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


def device(number: int, files: int, **fields: Any) -> SyncDeviceView:
    values: dict[str, Any] = {"name": None, "own": False, "unread": 0, "wrote_at": None, "encrypted": False, **fields}
    return SyncDeviceView(id=f"{number:x}" * 16, files=files, **values)


def target(
    label: str, synced_at: str | None, waiting: int, *devices: SyncDeviceView, recipients: int = 0
) -> SyncTarget:
    return SyncTarget(label, synced_at, waiting, recipients, looked_at=False, devices=list(devices))


def test_a_status_says_what_is_where() -> None:
    nothing = SyncStatusResult(store="default", device=None, targets=[])
    assert rendered(nothing) == 'Store "default" is synced with nothing: mnemonctl sync DIR\n'
    targets = [
        target(
            "/srv/a", "2026-11-28T09:00:00.000000Z", 2,
            device(0, 1, own=True, name="laptop", wrote_at="2026-11-28T09:00:00.000000Z", encrypted=True),
            device(1, 3, unread=2), recipients=1,
        ),
        target("git@x:y.git", None, 0),
    ]  # fmt: skip
    found = SyncStatusResult(store="default", device="0" * 16, targets=targets, name="laptop")
    assert rendered(found) == (
        'Store "default" is laptop (0000000000000000); synced with\n'
        "  /srv/a: 2026-11-28 09:00; encrypted for 1 recipient; 2 changes wait\n"
        "    laptop (0000000000000000), this one: 1 file, encrypted, last wrote 2026-11-28 09:00\n"
        "    device 1111111111111111: 3 files, 2 not read\n"
        "  git@x:y.git: never\n"
    )
    assert rendered(found, quiet=True) == "/srv/a\ngit@x:y.git\n"


@each_row(
    ("text", "name"),
    [("laptop", "laptop"), ("Ana\x1b[31m's\n\u202eMac", "Ana31msMac"), ("x" * 99, "x" * 40), ("-rf", "rf"),
     ("  ", None), ("\x00", None), ("büro-2.lan", "büro-2.lan"), ("\ud800", None)],
)  # fmt: skip
def test_a_name_of_a_device_is_short_and_safe(text: str, name: str | None) -> None:
    assert sync.device_name(text) == name
    if name is not None:
        SyncDevice("0" * 16, name)
        msgspec.convert({"device": "0" * 16, "name": name}, SyncDevice)


def parsed(*words: str) -> Invocation:
    found = parse(
        CliRunParams(argv=["sync", *words], tty=False, tty_err=False, columns=80, color=False, env_store=None)
    )
    assert isinstance(found, Invocation), found
    return found


def test_what_is_asked_for_by_words_and_options() -> None:
    assert parsed("status", "/srv/a", "--identity", "k").method == "sync.status"
    assert parsed("/srv/a", "--name", "laptop").params["name"] == "laptop"
    for words in (("status", "--encrypt-to", "age1"), ("status", "--identity", "k"), ("status", "a", "b"),
                  ("status", "a", "--name", "x"), ("a", "b")):  # fmt: skip
        refused = parse(
            CliRunParams(argv=["sync", *words], tty=False, tty_err=False, columns=80, color=False, env_store=None)
        )
        assert isinstance(refused, CliRunResult)
        assert refused.exit_code == 2


def test_the_keys_of_a_command_line(tmp_path: Path) -> None:
    key = pyrage.x25519.Identity.generate()
    (tmp_path / "to").write_text(f"# mine\n{key.to_public()}\n")
    (tmp_path / "key").write_text(f"{key}\n")
    assert sync.check_keys(parsed("a")) == sync.Keys()
    named = sync.check_keys(parsed("a", "--encrypt-to", f"@{tmp_path / 'to'}", "--identity", str(tmp_path / "key")))
    assert named.recipients == (str(key.to_public()),)
    assert named.identities is not None
    assert sync.check_keys(parsed("a", "--encrypt-to", "none")).plain
    for words, why in (
        (("--encrypt-to", "none", "--encrypt-to", str(key.to_public())), "none excludes recipients"),
        (("--encrypt-to", str(key)), "a recipient is a secret key"),
        (("--encrypt-to", "age1x"), "is no recipient"),
        (("--identity", str(tmp_path / "to")), "cannot be used as an identity"),
        (("--identity", str(tmp_path / "none")), "cannot be read"),
    ):
        with pytest.raises(MnemonError, match=why) as caught:
            sync.check_keys(parsed("a", *words))
        assert str(key) not in str(caught.value)


def test_a_look_is_of_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    calls: list[tuple[str, dict[str, Any]]] = []

    def call(_directory: Path, method: str, params: dict[str, Any], *_: object) -> SyncStatusResult:
        calls.append((method, params))
        return SyncStatusResult(store="default", device=None, targets=[])

    monkeypatch.setattr(rpc, "call", call)
    sync.run(parsed("status", str(tmp_path / "shared")), tmp_path / "data", 1.0, "")
    assert calls[-1][1]["label"] == str(tmp_path / "shared")
    with pytest.raises(MnemonError, match="there is no such directory"):
        sync.run(parsed("status", str(tmp_path / "none")), tmp_path / "data", 1.0, "")
    assert {method for method, _ in calls} == {"sync.status"}, "that nothing is there is no failure of a sync"
    seen: list[str] = []

    def of_git(named: sync._Named, *_: object) -> SyncStatusResult:
        seen.append(named.target)
        return SyncStatusResult(store="default", device=None, targets=[])

    monkeypatch.setattr(sync, "_status_of_git", of_git)
    sync.run(parsed("status", "git@example.com:me/memory.git"), tmp_path / "data", 1.0, "")
    assert seen == ["git@example.com:me/memory.git"]


CODE = "ABCD-EFGH"


@pytest.mark.parametrize(
    ("params", "first", "typed", "joins"),
    [({"join": True}, NOTHING, f"{CODE}\n", [CODE]), ({}, NOTHING, "", [None]),
     ({}, msgspec.structs.replace(NOTHING, strangers=["0" * 16], code="X"), f"{CODE}\n", [None, CODE]),
     ({}, msgspec.structs.replace(NOTHING, strangers=["0" * 16], code="X"), "\n", [None]),
     ({}, msgspec.structs.replace(NOTHING, strangers=["0" * 16]), "", [None])],
    ids=["asked for", "no other device", "first sync", "first sync without", "later"],
)  # fmt: skip
def test_a_code_is_asked_for(
    params: dict[str, object], first: SyncUniteResult, typed: str, joins: list[str | None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    shared = tmp_path / "shared"
    shared.mkdir()
    seen: list[object] = []
    results = iter([first, NOTHING])

    def exchange(_folder: object, _directory: Path, named: Any, _deadline: float) -> SyncUniteResult:
        assert "join" not in named.params or named.params["join"] == CODE
        seen.append(named.params.get("join"))
        return next(results)

    monkeypatch.setattr(rpc, "call", lambda *_: SyncStatusResult(store="default", device=None, targets=[]))
    monkeypatch.setattr(sync, "_exchange", exchange)
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    sync.run(Invocation(SYNC, "sync.open", params, {}, Output(tty=True), [str(shared)]), tmp_path / "data", 1.0, "")
    assert seen == joins
