"""What people read of stores, backups and settings, and the flag that lets nothing be written."""

from __future__ import annotations

import json

import msgspec
import pytest

from mnemond.api.registry import METHODS
from mnemond.api.types_daemon import CliRunParams, SettingView
from mnemond.api.types_stores import (
    BackupListResult,
    BackupRestoreResult,
    BackupVerifyResult,
    StoreRemoveResult,
    StoreSetResult,
)
from mnemond.cli.grammar import Invocation, parse
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from mnemond.errors import STORAGE, MnemonError
from mnemond.wire.params import Access
from tests.cli.store_results import MADE
from tests.tables import each_row

REMOVED = msgspec.structs.replace(MADE, name="20260218T093001.000000Z-removed", kind="removed", memories=None)


def text(command: str, result: object, *, quiet: bool = False) -> str:
    render = BY_NAME[command].render
    assert render is not None
    return render(result, Style(quiet=quiet))


def understood(*argv: str) -> Invocation:
    parsed = parse(CliRunParams(argv=list(argv)))
    assert isinstance(parsed, Invocation)
    return parsed


@each_row(
    ("result", "shown", "short"),
    [
        (BackupListResult(backups=[]), "no backups yet\n", ""),
        (
            BackupListResult(backups=[REMOVED, MADE]),
            """\
20260218T093001.000000Z-removed  shop: unknown contents, 1.9 MiB, before it was removed
20260218T093000.000000Z-asked  shop: 1,234 memories, 1.9 MiB
""",
            "20260218T093001.000000Z-removed\n20260218T093000.000000Z-asked\n",
        ),
        (
            BackupVerifyResult(backup=MADE),
            "Nothing is wrong with 20260218T093000.000000Z-asked: 1,234 memories, 1.9 MiB\n",
            "20260218T093000.000000Z-asked\n",
        ),
        (
            BackupVerifyResult(backup=msgspec.structs.replace(MADE, encrypted=True), read=False),
            (
                f"Unchanged since it was made: {MADE.name}: 1,234 memories, 1.9 MiB, encrypted\n"
                f"  to read it as well: mnemonctl backup verify {MADE.name} --identity FILE\n"
            ),
            f"{MADE.name}\n",
        ),
        (
            BackupRestoreResult(store="work", backup=MADE.name, memories=1, before=None),
            'Restored store "work": 1 memory\n',
            "work\n",
        ),
    ],
)
def test_backups_read(result: object, shown: str, short: str) -> None:
    assert text("backup", result) == shown
    assert text("backup", result, quiet=True) == short


def test_stores_read() -> None:
    purged = StoreRemoveResult(name="old", backup=None, purged=True)
    assert text("store remove", purged) == 'Removed store "old" and its backups\n'
    same = StoreSetResult(name="old", previous="old")
    assert text("store set", same) == 'The active store is "old"\n'


@each_row(
    ("argv", "method", "params"),
    [
        (["store", "path"], "store.path", {}),
        (["store", "path", "work"], "store.path", {"store": "work"}),
        (["store", "path", "--store", "work"], "store.path", {"store": "work"}),
        (["store", "remove", "old", "--yes", "--purge"], "store.remove", {"name": "old", "yes": True, "purge": True}),
        (["store", "set", "work"], "store.set", {"name": "work"}),
        (["backup"], "backup.create", {}),
        (["backup", "--store", "work", "-o", "F"], "backup.create", {"store": "work"}),
        (["backup", "--encrypt-to", "age1qqqqqq,age1zzzzzz"], "backup.create",
         {"encrypt_to": ["age1qqqqqq", "age1zzzzzz"]}),
        (["backup", "verify", "2026", "--identity", "K"], "backup.verify", {"backup": "2026"}),
        (["backup", "list", "--store", "work"], "backup.list", {"store": "work"}),
        (["backup", "verify", "2026"], "backup.verify", {"backup": "2026"}),
        (["backup", "restore", "2026", "--into", "x", "--yes"], "backup.restore",
         {"backup": "2026", "into": "x", "yes": True}),
        (["config", "show", "--origin"], "config.show", {"origin": True}),
        (["config", "show", "diff"], "config.show", {"below": "diff"}),
    ],
)  # fmt: skip
def test_requests(argv: list[str], method: str, params: dict[str, object]) -> None:
    parsed = understood(*argv)
    assert (parsed.method, parsed.params) == (method, params)


def test_what_the_client_does_by_itself_keeps_its_words() -> None:
    parsed = understood("config", "check", "draft.toml", "--store", "work")
    assert (parsed.method, parsed.words, parsed.options) == (None, ["draft.toml"], {"store": "work"})


def test_nothing_is_written_when_nothing_may_be() -> None:
    assert understood("recall", "tea", "--readonly").params == {"query": "tea", "touch": False}
    assert understood("--readonly", "list").params == {}
    for argv in (["remember", "x"], ["forget", "12345678"], ["store", "create", "x"], ["gc"], ["backup"]):
        with pytest.raises(MnemonError, match="may write, and --readonly was given") as refused:
            parse(CliRunParams(argv=["--readonly", *argv]))
        assert (refused.value.kind, refused.value.kind.exit) == (STORAGE, 5)


def test_every_question_that_counts_what_it_finds_can_leave_that() -> None:
    """A reading method that writes something later would need the same switch as recall."""
    counting = {
        name
        for name, method in METHODS.items()
        if any(f.name == "touch" for f in msgspec.structs.fields(method.params))
    }
    assert "recall" in counting
    assert {METHODS[name].access for name in counting} == {Access.READ}


def test_json_of_a_setting_has_no_origin_unless_it_was_asked_for() -> None:
    plain = json.loads(msgspec.json.encode(SettingView("diff.update", 0.65, 0.65)))
    assert plain == {"path": "diff.update", "value": 0.65, "default": 0.65}
