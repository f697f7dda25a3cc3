"""Expressions and lists are built by the first use, or by `warm_up`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mnemond.text import resources
from mnemond.text.resources import on_first_use, regex, warm_up

COUNTED = """
import msgspec.toml, mnemond.config.settings, mnemond.model.memory, numpy.typing, pathlib, re, Stemmer, tomllib
mnemond.config.settings.config_from({})  # whose patterns msgspec compiles
compiled = []
original = re._compiler.compile
re._compiler.compile = lambda *args: compiled.append(args) or original(*args)
import mnemond.text.resources as resources
files = []
read = resources.read
resources.read = lambda name, kind: files.append(name) or read(name, kind)
import mnemond.extract.quotes, mnemond.text.hypothetical, mnemond.text.query_window, mnemond.text.project_name
import mnemond.text.causes, mnemond.text.generality, mnemond.text.secrets, mnemond.text.statements
import mnemond.memory.wordings, mnemond.text.frames, mnemond.text.proposed_triggers, mnemond.text.triggers
import mnemond.extract.acceptance, mnemond.recall.unasked
import mnemond.recall.session_outline, mnemond.recall.standing
at_import = len(compiled), len(files)
resources.warm_up()
print(*at_import, len(compiled), len(set(files)))
"""


@pytest.fixture(autouse=True)
def _own_builders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_BUILDERS", [])


def test_an_expression_is_compiled_by_its_first_use() -> None:
    built: list[str] = []

    def source() -> str:
        built.append("built")
        return "(?P<letter>[a-z])[0-9]"

    lazy = regex(source, re.IGNORECASE)
    assert built == []
    assert [found[0] for found in lazy.finditer("a1 B2 3")] == ["a1", "B2"]
    assert lazy.sub("x", "a1 b") == "x b"
    assert lazy.pattern == "(?P<letter>[a-z])[0-9]"
    assert lazy.flags & re.IGNORECASE
    assert dict(lazy.groupindex) == {"letter": 1}
    assert built == ["built"]


def test_a_wrong_name_is_an_error_before_and_after() -> None:
    lazy = regex("a")
    for _ in range(2):
        with pytest.raises(AttributeError):
            _ = lazy.serch  # type: ignore[attr-defined]


def test_warming_up_builds_everything_once() -> None:
    built: list[str] = []

    def source() -> str:
        built.append("built")
        return "a b"

    listed = on_first_use(source)
    lazy = regex(source)
    warm_up()
    warm_up()
    assert listed() == lazy.pattern == "a b"
    assert built == ["built", "built"]


def test_importing_the_rules_compiles_no_expression_and_reads_no_file() -> None:
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True)
    compiled_at_import, read_at_import, compiled, files = map(int, done.stdout.split())
    assert compiled_at_import == read_at_import == 0
    assert compiled > 250
    assert files == len(list((Path(resources.__file__).parent / "data").glob("*.toml")))
