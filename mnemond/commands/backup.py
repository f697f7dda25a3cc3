"""`mnemonctl backup`: copies of stores, made, listed, checked and restored."""

from __future__ import annotations

from mnemond.commands import suggestions
from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser, UsageError
from mnemond.commands.status import size
from mnemond.commands.terminal import one_line
from mnemond.protocol.backups import (
    BackupCreateResult,
    BackupListResult,
    BackupRestoreResult,
    BackupVerifyResult,
    BackupView,
)

_WHY = {
    "asked": "",
    "scheduled": ", on schedule",
    "replaced": ", before it was replaced",
    "removed": ", before it was removed",
}
"""What is said of a backup's kind."""

_SEE = "See: mnemonctl backup --help"


def _parser() -> Parser:
    parser = Parser("backup")
    parser.add_argument("-o", "--output", dest="file", metavar="FILE", help="copy the new backup into FILE as well")
    parser.add_argument("--into", metavar="NAME", help="restore into this store; it may be a new one")
    parser.add_argument("--yes", action="store_true", help="yes, replace the store that is there")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
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
            meant = suggestions.second(word, ("list", "verify", "restore"))
            hint = f"Did you mean: mnemonctl backup {meant}?" if meant else _SEE
            raise UsageError(f'backup has no command "{one_line(word[:60])}"', hint)
    raise AssertionError(arguments.words)


def _only(arguments: Arguments, method: str, *allowed: str, **words: str) -> Request:
    """The request, unless an option was given that means nothing to it."""
    for name, option in (("file", "--output"), ("into", "--into"), ("yes", "--yes")):
        if name in arguments.options and name not in allowed:
            raise UsageError(f"{method.replace('.', ' ')} takes no {option}", _SEE)
    return Request(method, {**arguments.options, **words})


def _render(
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
    parser=_parser(),
    request=_request,
    render=_render,
)
