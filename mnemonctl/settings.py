"""`mnemonctl config path` and `config check`: about files, so no daemon is needed, and none has to be able to start."""

from __future__ import annotations

import os
from pathlib import Path

from mnemond import config_sources
from mnemond.commands.grammar import Invocation
from mnemond.commands.terminal import one_line
from mnemond.config_sources import FILE, Sources
from mnemond.errors import CONFIG, INVALID_PARAMS, MnemonError
from mnemond.protocol.daemon import CliRunResult
from mnemond.store.names import check as checked
from mnemond.store.names import is_valid


def carry_out(invocation: Invocation, directory: Path) -> CliRunResult:
    """Raises MnemonError."""
    store = invocation.options.get("store")
    name = None if store is None else checked(str(store))
    if invocation.command.name == "config path":
        path = _file(directory, name)
        return _answer(invocation, {"path": str(path), "exists": path.exists()}, one_line(str(path)))
    return _check(invocation, directory, name)


def _check(invocation: Invocation, directory: Path, store: str | None) -> CliRunResult:
    if len(invocation.words) > 1:
        raise MnemonError(INVALID_PARAMS, f"config check takes one file ({len(invocation.words)} were given)")
    if invocation.words:
        file = Path(os.path.abspath(os.path.expanduser(invocation.words[0])))
        if not file.is_file():
            raise MnemonError(CONFIG, f"there is no file {file}", hint="without FILE, config.toml is checked")
        config_sources.load(file)
        return _fine(invocation, [file])
    layers = config_sources.read(Sources(_file(directory, None), os.environ))
    config_sources.resolve(layers)
    own = [_file(directory, store)] if store is not None else _files_of_stores(directory)
    for path in own:
        config_sources.resolve(layers, path)
    return _fine(invocation, [path for path in (_file(directory, None), *own) if path.exists()])


def _files_of_stores(directory: Path) -> list[Path]:
    found = directory.glob(f"data/*/{FILE}")
    return sorted(path for path in found if is_valid(path.parent.name))


def _file(directory: Path, store: str | None) -> Path:
    return directory / FILE if store is None else directory / "data" / store / FILE


def _fine(invocation: Invocation, checked_files: list[Path]) -> CliRunResult:
    names = [str(path) for path in checked_files]
    text = "\n".join(f"fine: {one_line(name)}" for name in names) or "fine: there is no file, and every default counts"
    return _answer(invocation, {"ok": True, "files": names}, text)


def _answer(invocation: Invocation, facts: dict[str, object], text: str) -> CliRunResult:
    output = invocation.output
    return CliRunResult(0, False, output.json(facts) if output.form == "json" else f"{text}\n", "")
