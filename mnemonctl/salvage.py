"""`mnemonctl doctor --salvage`: what can be read of a damaged store, in a new store beside it.

No daemon may run meanwhile: its lock is held, which also keeps two salvages apart.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl.doctor import DATABASE
from mnemond.api.types_admin import CliRunResult, SalvagedTable, SalvageResult
from mnemond.cli.admin import render_salvage
from mnemond.cli.grammar import Output
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, STORAGE, MnemonError
from mnemond.store.connection import SqliteError
from mnemond.store.files import make_directory
from mnemond.store.salvage import Salvaged, salvage
from mnemond.wire.listener import lock, open_data_dir

LOST: Final = 1
"""Exit status when something could not be read."""

MAX_COPIES: Final = 3
"""Salvaged stores that are kept of one: whoever repeats it for ever fills no disk."""

PART_OF_NAME: Final = 50
"""Characters of a store's name that its copy keeps; a name has 64 at most."""


def run(directory: Path, name: str, output: Output) -> CliRunResult:
    """Salvage a store. Raises MnemonError: NOT_FOUND, LOCKED while a daemon runs, STORAGE, INVALID_PARAMS."""
    there = directory.parent.resolve() / directory.name
    source = there / "data" / name / DATABASE
    if not source.is_file():
        raise MnemonError(NOT_FOUND, f'there is no store "{name}"', hint="`mnemonctl store list` shows all")
    with ExitStack() as held:
        data_dir = open_data_dir(there)
        held.callback(data_dir.close)
        held.callback(lock(data_dir).close)
        new = _free_name(there, name)
        made = _made(source, there / "data" / new / DATABASE)
    result = _result(made, new, name)
    text = output.json(result) if output.form == "json" else render_salvage(result, output.style)
    return CliRunResult(0 if result.whole else LOST, False, text, "")


def _free_name(directory: Path, name: str) -> str:
    """Of the new store."""
    base = f"{name[:PART_OF_NAME]}-salvaged"
    for found in (base, *(f"{base}-{number}" for number in range(2, MAX_COPIES + 1))):
        if not (directory / "data" / found).exists():
            return found
    raise MnemonError(
        INVALID_PARAMS,
        f"{MAX_COPIES} stores were salvaged of {name} already, such as {base}",
        hint=f"look at them, or remove one: mnemonctl store remove {base} --yes",
        outcome="rejected",
    )


def _made(source: Path, target: Path) -> Salvaged:
    try:
        make_directory(target.parent)
        return salvage(source, target)
    except (SqliteError, OSError) as error:
        _remove_empty(target.parent)
        raise MnemonError(
            STORAGE, f"the copy cannot be made: {error}", hint="look at the disk: space for three copies, permissions"
        ) from error
    except MnemonError:
        _remove_empty(target.parent)
        raise


def _remove_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()


def _result(made: Salvaged, new: str, name: str) -> SalvageResult:
    changed = [each for each in made.tables if each.doubtful or each.left_out or each.gaps]
    return SalvageResult(
        store=new,
        of=name,
        path=str(made.path),
        memories=made.facts.memories,
        retired=made.facts.retired,
        whole=made.is_whole,
        tables=[msgspec.convert(each, SalvagedTable, from_attributes=True) for each in changed],
    )
