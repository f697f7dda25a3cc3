"""`mnemonctl store …`, `backup`, `config …` and `prompts …`."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec

from mnemond.api import types_daemon, types_stores
from mnemond.api.types_daemon import ConfigShowResult, SettingView
from mnemond.api.types_stores import (
    BackupCreateResult,
    BackupListResult,
    BackupRestoreResult,
    BackupVerifyResult,
    StoreCreateResult,
    StoreEntry,
    StoreListResult,
    StorePathResult,
    StoreRemoveResult,
    StoreSetResult,
)
from mnemond.cli.keys import EncryptTo, IdentityFile
from mnemond.cli.output import Style, lines, one_line, size
from mnemond.cli.parser import (
    Arguments,
    Command,
    Group,
    Request,
    UsageError,
    Words,
    by_type,
    nearest_second_word,
    options_of,
)
from mnemond.model.answers import Backup, LogStanding
from mnemond.wire.params import StoreName, about, plural

# store.


def _list(result: StoreListResult, style: Style) -> str:
    if not result.stores:
        return lines("no stores yet")
    if style.quiet:
        return lines(*(one_line(store.name) for store in result.stores))
    return lines(*map(_entry, result.stores))


def _entry(it: StoreEntry) -> str:
    seen_by = f"  ({it.visibility})" if it.visibility else ""
    return f"{'*' if it.active else ' '} {one_line(it.name)}{seen_by}"


STORE_LIST = Command(
    "store list",
    Group.STORES,
    ("mnemonctl store list",),
    method=types_stores.STORE_LIST,
    summary="List every store; * marks the active one.",
    render=_list,
)


def _create(result: StoreCreateResult, style: Style) -> str:
    name = one_line(result.name)
    if style.quiet:
        return lines(name)
    return lines(
        f'Created store "{name}"' if result.created else f'Store "{name}" exists already',
        f"  {shared_log(result.shared)}" if result.shared else None,
    )


def shared_log(found: LogStanding) -> str:
    """Return where the log of a shared store is, and how far this daemon has it."""
    behind = f", {plural(found.behind, 'operation')} behind for {found.behind_s:,.1f} s" if found.behind else ""
    lost = f"; not connected: {one_line(found.error)}" if found.error else ""
    seen_by = f", {found.visibility}" if found.visibility else ""
    return (
        f"shared      {one_line(found.store)} ({found.backend}{seen_by}), as of operation {found.seq:,}{behind}{lost}"
    )


STORE_CREATE = Command(
    "store create",
    Group.STORES,
    (
        "mnemonctl store create work",
        'mnemonctl remember --store work "The office opens at nine"',
        "mnemonctl store create team --backend postgresql --dsn-env TEAM_DSN",
    ),
    method=types_stores.STORE_CREATE,
    words=Words("NAME", ("name",)),
    details=('A name is a letter or digit, then up to 63 letters, digits, "_" or "-".',),
    render=_create,
)


def _set(result: StoreSetResult, style: Style) -> str:
    name, previous = one_line(result.name), one_line(result.previous)
    if style.quiet:
        return lines(name)
    if result.visibility is not None:
        return lines(f'The shared store "{name}" has visibility {result.visibility}')
    return lines(f'The active store is "{name}"' + (f' (it was "{previous}")' if name != previous else ""))


STORE_SET = Command(
    "store set",
    Group.STORES,
    ("mnemonctl store set work", "mnemonctl store set default", "mnemonctl store set team --visibility private"),
    method=types_stores.STORE_SET,
    words=Words("NAME", ("name",)),
    details=("--store NAME goes before it, and so does $MNEMON_STORE.",),
    render=_set,
)


def _path(result: StorePathResult, style: Style) -> str:
    del style
    return lines(one_line(result.path))


STORE_PATH = Command(
    "store path",
    Group.STORES,
    ("mnemonctl store path", "mnemonctl store path work"),
    method=types_stores.STORE_PATH,
    words=Words("[NAME]", ("store",), optional=True, what="the name of a store"),
    details=("For looking, not for copying: mnemonctl backup copies a store that is in use.",),
    render=_path,
)


def _remove(result: StoreRemoveResult, style: Style) -> str:
    name = one_line(result.name)
    if style.quiet:
        return lines(name)
    if result.kept is not None:
        return lines(f'Removed store "{name}", which cannot be read', f"  it is kept in {one_line(result.kept)}")
    if result.purged:
        return lines(f'Removed store "{name}" and its backups')
    if result.backup is None:
        return lines(f'Removed store "{name}": there was no database')
    return lines(f'Removed store "{name}"', f"  to bring it back: mnemonctl backup restore {one_line(result.backup)}")


STORE_REMOVE = Command(
    "store remove",
    Group.STORES,
    ("mnemonctl store remove old --yes", "mnemonctl store remove old --purge --yes"),
    method=types_stores.STORE_REMOVE,
    summary="Delete a store, after a last backup of it; needs --yes.",
    words=Words("NAME", ("name",)),
    details=(
        "The active store cannot be removed; `mnemonctl store set` makes another one active.",
        "--purge leaves nothing of it: neither a last backup nor the earlier ones.",
    ),
    render=_remove,
)


# backup.


class BackupOptions(msgspec.Struct, frozen=True):
    """The command is for four methods; each of these is for one."""

    file: Annotated[
        str | None, about("copy the new backup into FILE as well", "-o", option="--output", metavar="FILE")
    ] = None
    encrypt_to: EncryptTo = None
    identity: IdentityFile = None
    into: Annotated[StoreName | None, about("restore into this store; it may be a new one")] = None
    yes: Annotated[bool, about("yes, replace the store that is there")] = False


def _backup_request(arguments: Arguments) -> Request:
    match arguments.words:
        case []:
            return _only(arguments, "backup.create", "file", "encrypt_to")
        case ["list"]:
            return _only(arguments, "backup.list")
        case ["verify", name]:
            return _only(arguments, "backup.verify", "identity", backup=name)
        case ["restore", name]:
            return _only(arguments, "backup.restore", "into", "yes", "identity", backup=name)
        case ["verify" | "restore" as verb, *_]:
            raise UsageError(f"backup {verb} needs the name of one backup", "`mnemonctl backup list` shows them")
        case [word, *_]:
            meant = nearest_second_word(word, ("list", "verify", "restore"))
            hint = f"Did you mean: mnemonctl backup {meant}?" if meant else "See: mnemonctl backup --help"
            raise UsageError(f'backup has no command "{one_line(word[:60])}"', hint)
    raise AssertionError(arguments.words)


def _only(arguments: Arguments, method: str, *allowed: str, **words: str) -> Request:
    """Make a request; refuse options that have no meaning for its method."""
    for option in options_of(BackupOptions):
        if option.name in arguments.options and option.name not in allowed:
            raise UsageError(f"{method.replace('.', ' ')} takes no {option.flags[0]}", "See: mnemonctl backup --help")
    return Request(method, {**arguments.options, **words})


def _created(result: BackupCreateResult, style: Style) -> str:
    made = result.backup
    if style.quiet:
        return lines(one_line(made.name))
    return lines(
        f'Backed up store "{one_line(made.store)}": {_holds(made)}',
        f"  {one_line(made.name)}",
        style.faint(f"  {one_line(made.path)}"),
        f"  took the place of {', '.join(map(one_line, result.dropped))}" if result.dropped else None,
    )


def _listed(result: BackupListResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.name) for each in result.backups))
    if not result.backups:
        return lines("no backups yet")
    return lines(*(f"{one_line(each.name)}  {one_line(each.store)}: {_holds(each)}" for each in result.backups))


def _verified(result: BackupVerifyResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.backup.name))
    if result.backup.encrypted and not result.read:
        name = one_line(result.backup.name)
        return lines(
            f"Unchanged since it was made: {name}: {_holds(result.backup)}",
            f"  to read it as well: mnemonctl backup verify {name} --identity FILE",
        )
    return lines(f"Nothing is wrong with {one_line(result.backup.name)}: {_holds(result.backup)}")


def _restored(result: BackupRestoreResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.store))
    return lines(
        f'Restored store "{one_line(result.store)}": {plural(result.memories, "memory")}',
        None if result.before is None else f"  what it was before: mnemonctl backup restore {one_line(result.before)}",
        None if result.kept is None else f"  what it was before cannot be read, and is kept in {one_line(result.kept)}",
    )


def _holds(backup: Backup) -> str:
    memories = "unknown contents" if backup.memories is None else plural(backup.memories, "memory")
    encrypted = ", encrypted" if backup.encrypted else ""
    return f"{memories}, {size(backup.bytes)}{_KINDS.get(backup.kind, '')}{encrypted}"


_KINDS = {
    "scheduled": ", on schedule", "replaced": ", before it was replaced", "removed": ", before it was removed",
}  # fmt: skip
"""Kinds of backups in words; the usual one is not mentioned."""


BACKUP = Command(
    "backup",
    Group.STORES,
    (
        "mnemonctl backup",
        "mnemonctl backup --store work -o work.db",
        "mnemonctl backup --encrypt-to @recipients.txt",
        "mnemonctl backup list",
        "mnemonctl backup verify 20260218T093000.000000Z-asked",
        "mnemonctl backup restore 20260218T093000.000000Z-asked --into work2",
    ),
    summary="Copy a store while it serves; list, check and restore the copies.",
    words=Words("[list | verify BACKUP | restore BACKUP]"),
    details=(
        "A backup holds everything acknowledged before it began, and was read through before it got its name.",
        "The newest ten of each store are kept, see backup.keep in config.toml.",
        "A store that is replaced becomes a backup first; that needs --yes. What cannot be read is kept in damaged/.",
        "The beginning of a name is enough where it means one backup.",
        "backup.encrypt_to in config.toml encrypts every backup; --identity FILE reads one, and is not sent.",
    ),
    options=BackupOptions,
    request=_backup_request,
    render=by_type(
        {
            BackupCreateResult: _created,
            BackupListResult: _listed,
            BackupVerifyResult: _verified,
            BackupRestoreResult: _restored,
        }
    ),
)


# config. The client reads files by itself: they can be checked even if no daemon would start.


_COLUMN = 44
"""Cells of a setting and its value if its origin follows."""


def _show(result: ConfigShowResult, style: Style) -> str:
    waiting = ", ".join(map(one_line, result.waiting))
    return lines(
        *(_setting(each) for each in result.settings),
        style.faint(f"# changed since, and not in force yet: {waiting}; mnemonctl daemon restart") if waiting else None,
        None if result.refused is None else f"# cannot be used as it is now: {one_line(result.refused)}",
    )


def _setting(each: SettingView) -> str:
    line = f"{one_line(each.path)} = {_shown(each.value)}"
    return line if not isinstance(each.origin, str) else f"{line:<{_COLUMN}}  # {one_line(each.origin)}"


def _shown(value: object) -> str:
    return "unset" if value is None else one_line(json.dumps(value, ensure_ascii=False))


CONFIG_SHOW = Command(
    "config show",
    Group.DAEMON,
    ("mnemonctl config show", "mnemonctl config show diff --origin", "mnemonctl config show --store work"),
    method=types_daemon.CONFIG_SHOW,
    words=Words("[TABLE]", ("below",), optional=True),
    details=(
        "The first of these counts: the command line of mnemond, the environment, the store's own config.toml,",
        "config.toml of the data directory, the profile, the default.",
    ),
    render=_show,
)

CONFIG_PATH = Command(
    "config path",
    Group.DAEMON,
    ("mnemonctl config path", "mnemonctl config path --store work"),
    summary="Show where the settings are, with --store those of one store.",
)

CONFIG_CHECK = Command(
    "config check",
    Group.DAEMON,
    ("mnemonctl config check", "mnemonctl config check draft.toml"),
    summary="Check whether the settings could be used; every mistake with its line (exit 2).",
    words=Words("[FILE]"),
    details=("Without FILE: config.toml of the data directory, of every store, and the variables that are set.",),
)

# prompts. The client reads and changes the user's file by itself.


class PromptsResetOptions(msgspec.Struct, frozen=True):
    all: Annotated[bool, about("every key")] = False


_KEY = Words("[KEY]")

PROMPTS_SHOW = Command(
    "prompts show",
    Group.DAEMON,
    ("mnemonctl prompts show", "mnemonctl prompts show extract_facts"),
    summary="Show the prompts for a language model, with their hashes; with KEY the text of one.",
    words=_KEY,
    details=("A file prompt/prompts.toml in the data directory replaces single keys, from the next question on.",),
)

PROMPTS_DIFF = Command(
    "prompts diff",
    Group.DAEMON,
    ("mnemonctl prompts diff", "mnemonctl prompts diff extract_facts"),
    summary="Show how your prompts differ from those of this release.",
    words=_KEY,
)

PROMPTS_RESET = Command(
    "prompts reset",
    Group.DAEMON,
    ("mnemonctl prompts reset extract_facts", "mnemonctl prompts reset --all"),
    summary="Use the prompt of this release again: remove KEY from your file, with --all every key.",
    words=_KEY,
    options=PromptsResetOptions,
    details=("The file before is kept as prompts.toml.bak.",),
)

PROMPTS_CHECK = Command(
    "prompts check",
    Group.DAEMON,
    ("mnemonctl prompts check",),
    summary="Check whether your prompts can be used: keys, and the texts that each gets (exit 2).",
)
