"""`mnemonctl store …`: named stores."""

from __future__ import annotations

import json

from mnemond.api.types_admin import (
    BackupCreateResult,
    BackupListResult,
    BackupRestoreResult,
    BackupVerifyResult,
    BackupView,
    ConfigShowResult,
    SettingView,
    StoreCreateResult,
    StoreListResult,
    StorePathResult,
    StoreRemoveResult,
    StoreSetResult,
)
from mnemond.cli import parser
from mnemond.cli.admin import size
from mnemond.cli.output import Style, lines, one_line
from mnemond.cli.parser import Arguments, Command, Parser, Request, UsageError, add_globals
from mnemond.wire.params import plural

_NAMES = 'A name is a letter or digit, then up to 63 letters, digits, "_" or "-".'


def _parser_store(command: str, *, removes: bool = False) -> Parser:
    parser = Parser(command)
    if removes:
        parser.add_argument("--yes", action="store_true", help="yes, remove it")
        parser.add_argument("--purge", action="store_true", help="make no last backup, and delete the earlier ones")
    add_globals(parser)
    return parser


def _list_request(arguments: Arguments) -> Request:
    arguments.nothing("store list")
    return Request("store.list", {})


def _list_render(result: StoreListResult, style: Style) -> str:
    if not result.stores:
        return lines("no stores yet")
    if style.quiet:
        return lines(*(one_line(store.name) for store in result.stores))
    return lines(*(f"{'*' if store.active else ' '} {one_line(store.name)}" for store in result.stores))


def _create_request(arguments: Arguments) -> Request:
    return Request("store.create", {"name": arguments.single("store create", "the name of the new store")})


def _create_render(result: StoreCreateResult, style: Style) -> str:
    name = one_line(result.name)
    if style.quiet:
        return lines(name)
    return lines(f'Created store "{name}"' if result.created else f'Store "{name}" exists already')


def _set_request(arguments: Arguments) -> Request:
    return Request("store.set", {"name": arguments.single("store set", "the name of a store")})


def _set_render(result: StoreSetResult, style: Style) -> str:
    name, previous = one_line(result.name), one_line(result.previous)
    if style.quiet:
        return lines(name)
    return lines(f'The active store is "{name}"' + (f' (it was "{previous}")' if name != previous else ""))


def _path_request(arguments: Arguments) -> Request:
    if not arguments.words:
        return Request("store.path", arguments.options)
    return Request("store.path", {"store": arguments.single("store path", "the name of a store")})


def _path_render(result: StorePathResult, style: Style) -> str:
    return lines(one_line(result.path))


def _remove_request(arguments: Arguments) -> Request:
    name = arguments.single("store remove", "the name of a store")
    given = {key: value for key, value in arguments.options.items() if key in {"yes", "purge"}}
    return Request("store.remove", {"name": name, **given})


def _remove_render(result: StoreRemoveResult, style: Style) -> str:
    name = one_line(result.name)
    if style.quiet:
        return lines(name)
    if result.backup is None:
        return lines(f'Removed store "{name}" and its backups')
    return lines(f'Removed store "{name}"', f"  to bring it back: mnemonctl backup restore {one_line(result.backup)}")


LIST = Command(
    name="store list",
    summary="Every store; * marks the active one.",
    words="",
    examples=("mnemonctl store list",),
    parser=_parser_store("store list"),
    request=_list_request,
    render=_list_render,
)

CREATE = Command(
    name="store create",
    summary="Make a new, empty store.",
    words="NAME",
    examples=("mnemonctl store create work", 'mnemonctl remember --store work "The office opens at nine"'),
    details=(_NAMES,),
    parser=_parser_store("store create"),
    request=_create_request,
    render=_create_render,
)

SET = Command(
    name="store set",
    summary="Choose the store that is used when none is named.",
    words="NAME",
    examples=("mnemonctl store set work", "mnemonctl store set default"),
    details=("--store NAME goes before it, and so does $MNEMON_STORE.",),
    parser=_parser_store("store set"),
    request=_set_request,
    render=_set_render,
)

STORE_PATH = Command(
    name="store path",
    summary="Where a store's file lies.",
    words="[NAME]",
    examples=("mnemonctl store path", "mnemonctl store path work"),
    details=("For looking, not for copying: mnemonctl backup copies a store that is in use.",),
    parser=_parser_store("store path"),
    request=_path_request,
    render=_path_render,
)

REMOVE = Command(
    name="store remove",
    summary="Delete a store, after a last backup of it; needs --yes.",
    words="NAME",
    examples=("mnemonctl store remove old --yes", "mnemonctl store remove old --purge --yes"),
    details=(
        "The active store cannot be removed; `mnemonctl store set` makes another one active.",
        "--purge leaves nothing of it: neither a last backup nor the earlier ones.",
    ),
    parser=_parser_store("store remove", removes=True),
    request=_remove_request,
    render=_remove_render,
)


# `mnemonctl backup`: copies of stores, made, listed, checked and restored.


_WHY = {
    "asked": "",
    "scheduled": ", on schedule",
    "replaced": ", before it was replaced",
    "removed": ", before it was removed",
}
"""What is said of a backup's kind."""

_SEE = "See: mnemonctl backup --help"


def _parser_backup() -> Parser:
    parser = Parser("backup")
    parser.add_argument("-o", "--output", dest="file", metavar="FILE", help="copy the new backup into FILE as well")
    parser.add_argument("--into", metavar="NAME", help="restore into this store; it may be a new one")
    parser.add_argument("--yes", action="store_true", help="yes, replace the store that is there")
    add_globals(parser)
    return parser


def _request_backup(arguments: Arguments) -> Request:
    match arguments.words:
        case []:
            return _only(arguments, "backup.create", "file")
        case ["list"]:
            return _only(arguments, "backup.list")
        case ["verify", name]:
            return _only(arguments, "backup.verify", backup=name)
        case ["restore", name]:
            return _only(arguments, "backup.restore", "into", "yes", backup=name)
        case ["verify" | "restore" as verb, *_]:
            raise UsageError(f"backup {verb} needs the name of one backup", "`mnemonctl backup list` shows them")
        case [word, *_]:
            meant = parser.second(word, ("list", "verify", "restore"))
            hint = f"Did you mean: mnemonctl backup {meant}?" if meant else _SEE
            raise UsageError(f'backup has no command "{one_line(word[:60])}"', hint)
    raise AssertionError(arguments.words)


def _only(arguments: Arguments, method: str, *allowed: str, **words: str) -> Request:
    """The request, unless an option was given that means nothing to it."""
    for name, option in (("file", "--output"), ("into", "--into"), ("yes", "--yes")):
        if name in arguments.options and name not in allowed:
            raise UsageError(f"{method.replace('.', ' ')} takes no {option}", _SEE)
    return Request(method, {**arguments.options, **words})


def _render_backup(
    result: BackupCreateResult | BackupListResult | BackupVerifyResult | BackupRestoreResult, style: Style
) -> str:
    match result:
        case BackupCreateResult():
            return _created(result, style)
        case BackupListResult():
            return _listed(result, style)
        case BackupVerifyResult():
            return _verified(result, style)
        case _:
            return _restored(result, style)


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
    return lines(f"Nothing is wrong with {one_line(result.backup.name)}: {_holds(result.backup)}")


def _restored(result: BackupRestoreResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.store))
    return lines(
        f'Restored store "{one_line(result.store)}": {plural(result.memories, "memory")}',
        None if result.before is None else f"  what it was before: mnemonctl backup restore {one_line(result.before)}",
    )


def _holds(backup: BackupView) -> str:
    memories = "unknown contents" if backup.memories is None else plural(backup.memories, "memory")
    return f"{memories}, {size(backup.bytes)}{_WHY.get(backup.kind, '')}"


COMMAND = Command(
    name="backup",
    summary="Copy a store while it serves; list, check and restore the copies.",
    words="[list | verify BACKUP | restore BACKUP]",
    examples=(
        "mnemonctl backup",
        "mnemonctl backup --store work -o work.db",
        "mnemonctl backup list",
        "mnemonctl backup verify 20260218T093000.000000Z-asked",
        "mnemonctl backup restore 20260218T093000.000000Z-asked --into work2",
    ),
    details=(
        "A backup holds everything acknowledged before it began, and was read through before it got its name.",
        "The newest ten of each store are kept, see backup.keep in config.toml.",
        "A store that is replaced becomes a backup first; that needs --yes.",
        "The beginning of a name is enough where it means one backup.",
    ),
    parser=_parser_backup(),
    request=_request_backup,
    render=_render_backup,
)


# `mnemonctl config …`. Files are read by the client itself: they can be checked when no daemon would start.


_COLUMN = 44
"""Cells of a setting and its value where its origin follows."""


def _parser_config(command: str, *, shows: bool = False) -> Parser:
    parser = Parser(command)
    if shows:
        parser.add_argument("--origin", action="store_true", help="say where each value came from")
    add_globals(parser)
    return parser


def _request_config(arguments: Arguments) -> Request:
    if not arguments.words:
        return Request("config.show", arguments.options)
    below = arguments.single("config show", "one table or setting, such as diff")
    return Request("config.show", {**arguments.options, "below": below})


def _render_config(result: ConfigShowResult, style: Style) -> str:
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


SHOW = Command(
    name="config show",
    summary="Every setting with the value that counts.",
    words="[TABLE]",
    examples=("mnemonctl config show", "mnemonctl config show diff --origin", "mnemonctl config show --store work"),
    details=(
        "What goes before what: the command line of mnemond, the environment, the store's own config.toml,",
        "config.toml of the data directory, the profile, the default.",
    ),
    parser=_parser_config("config show", shows=True),
    request=_request_config,
    render=_render_config,
)

CONFIG_PATH = Command(
    name="config path",
    summary="Where the settings stand, with --store those of one store.",
    words="",
    examples=("mnemonctl config path", "mnemonctl config path --store work"),
    parser=_parser_config("config path"),
)

CHECK = Command(
    name="config check",
    summary="Whether the settings could be used; every mistake with its line (exit 2).",
    words="[FILE]",
    examples=("mnemonctl config check", "mnemonctl config check draft.toml"),
    details=("Without FILE: config.toml of the data directory, of every store, and the variables that are set.",),
    parser=_parser_config("config check"),
)
