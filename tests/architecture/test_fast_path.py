"""What the client's fast path imports before it has answered: modules that are compiled into the interpreter."""

from __future__ import annotations

import ast
from pathlib import Path

FAST = Path(__file__).resolve().parents[2] / "mnemonctl" / "fast.py"
COMPILED_IN = {"sys", "posix", "_socket", "_codecs"}


def imported_at_once(source: str) -> set[str]:
    """Names of the modules imported when the module itself is; imports inside functions wait until they are called."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(ast.parse(source).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or ".")
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def test_the_fast_path_imports_nothing_but_built_in_modules() -> None:
    assert imported_at_once(FAST.read_text(encoding="utf-8")) <= COMPILED_IN


def test_so_does_its_package() -> None:
    assert imported_at_once(FAST.with_name("__init__.py").read_text(encoding="utf-8")) <= COMPILED_IN


def test_an_import_is_found_wherever_it_runs_at_once() -> None:
    source = "import sys\nif sys.argv:\n    import json\nclass A:\n    import re\ndef f():\n    import os\n"
    assert imported_at_once(source) == {"sys", "json", "re"}
