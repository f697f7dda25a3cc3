"""`viz -o FILE` and `viz --format`: asks the daemon for the picture, and writes it as a file or to standard output."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import files, rpc
from mnemonctl.viz.dot import render_dot
from mnemonctl.viz.page import render_page
from mnemond.api.types_daemon import CliRunResult
from mnemond.cli.grammar import Invocation, success
from mnemond.cli.output import escape_json, one_line
from mnemond.cli.viz import Drawn, Format
from mnemond.errors import INVALID_PARAMS, STORAGE, MnemonError
from mnemond.model.graph import MADE_BY, Graph

FORMATS: Final[Mapping[Format, Callable[[Graph], str]]] = {
    "html": render_page,
    "dot": render_dot,
    "json": lambda graph: msgspec.json.encode(graph).decode() + "\n",
}

SUFFIXES: Final[Mapping[str, Format]] = {".html": "html", ".htm": "html", ".dot": "dot", ".gv": "dot", ".json": "json"}
"""Format by the suffix of a file name."""

HEAD: Final = 1_024
"""Bytes at the beginning of a file in which MADE_BY is looked for."""


def run(invocation: Invocation, directory: Path, deadline: float, store: str) -> CliRunResult:
    """Draw a store. `store` is used unless --store is given. Raises MnemonError."""
    named = invocation.options.get("file")
    target = None if named is None else _target(str(named), directory)
    wanted = invocation.options.get("format")
    form: Format = SUFFIXES.get("" if target is None else target.suffix.lower(), "html")
    if wanted is not None:
        form = msgspec.convert(wanted, Format)
    params = {"store": store, **invocation.params} if store else invocation.params
    graph = rpc.call(directory, "viz", params, Graph, deadline)
    document, output = FORMATS[form](graph), invocation.output
    if target is None:
        shown = escape_json(document) if form == "json" and output.tty else document
        return msgspec.structs.replace(success(invocation.command, graph, output), stdout=shown)
    content = document.encode("utf-8", "backslashreplace")
    files.replace_file(target, content, 0o600)
    result = Drawn(
        file=str(target), format=form, bytes=len(content), memories=len(graph.nodes), total=graph.total,
        links=len(graph.edges), total_links=graph.total_edges, degraded=graph.degraded,
        degraded_reason=graph.degraded_reason,
    )  # fmt: skip
    return success(invocation.command, result, output)


def _target(named: str, directory: Path) -> Path:
    """Return the path of the file to write. Raises MnemonError if something else is there, which would be lost."""
    target = Path(os.path.abspath(os.path.expanduser(named)))
    if directory.resolve() in target.resolve().parents:
        raise MnemonError(
            INVALID_PARAMS,
            f"{target} lies in the data directory, whose files are mnemond's own",
            hint="name a file outside of it",
            outcome="rejected",
        )
    try:
        kept = os.lstat(target)
        with open(os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            ours = stat.S_ISREG(kept.st_mode) and MADE_BY.encode() in file.read(HEAD)
    except FileNotFoundError:
        return target
    except OSError:
        ours = False
    if not ours:
        raise MnemonError(
            STORAGE,
            f"{one_line(str(target))} exists and is no file that viz wrote, so it is not replaced",
            hint="name another file, or move that one away",
            outcome="rejected",
        )
    return target
