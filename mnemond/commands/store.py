"""`mnemonctl store list` and `mnemonctl store create`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.daemon import StoreCreateResult, StoreListResult


def _parser(command: str) -> Parser:
    parser = Parser(command)
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
    details=('A name is a letter or digit, then up to 63 letters, digits, "_" or "-".',),
    parser=_parser("store create"),
    request=_create_request,
    render=_create_render,
)
