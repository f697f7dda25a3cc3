"""`mnemonctl store …`: named stores."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.stores import (
    StoreCreateResult,
    StoreListResult,
    StorePathResult,
    StoreRemoveResult,
    StoreSetResult,
)

_NAMES = 'A name is a letter or digit, then up to 63 letters, digits, "_" or "-".'


def _parser(command: str, *, removes: bool = False) -> Parser:
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
    parser=_parser("store list"),
    request=_list_request,
    render=_list_render,
)

CREATE = Command(
    name="store create",
    summary="Make a new, empty store.",
    words="NAME",
    examples=("mnemonctl store create work", 'mnemonctl remember --store work "The office opens at nine"'),
    details=(_NAMES,),
    parser=_parser("store create"),
    request=_create_request,
    render=_create_render,
)

SET = Command(
    name="store set",
    summary="Choose the store that is used when none is named.",
    words="NAME",
    examples=("mnemonctl store set work", "mnemonctl store set default"),
    details=("--store NAME goes before it, and so does $MNEMON_STORE.",),
    parser=_parser("store set"),
    request=_set_request,
    render=_set_render,
)

PATH = Command(
    name="store path",
    summary="Where a store's file lies.",
    words="[NAME]",
    examples=("mnemonctl store path", "mnemonctl store path work"),
    details=("For looking, not for copying: mnemonctl backup copies a store that is in use.",),
    parser=_parser("store path"),
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
    parser=_parser("store remove", removes=True),
    request=_remove_request,
    render=_remove_render,
)
