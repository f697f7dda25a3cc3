"""The measures of the shape report, on small sources made up for each."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from benchmarks import shape
from benchmarks.shape import Module, parse_module


def tree(**sources: str) -> dict[str, Module]:
    """Modules by dotted name; two underscores stand for a dot."""
    named = {name.replace("__", "."): dedent(source) for name, source in sources.items()}
    return {name: parse_module(name, source) for name, source in named.items()}


def test_code_lines_are_those_without_comments_docstrings_and_blanks() -> None:
    module = tree(
        a='''\
        """A docstring
        of two lines."""
        # a comment

        X = """
        # no comment, but part of a string
        """
        '''
    )["a"]
    assert module.code == {5, 6, 7}
    assert len(module.lines) == 7


def test_imports_are_counted_in_lines_of_code() -> None:
    assert shape.import_percent(tree(a="import os\nfrom sys import (\n    argv,\n)\nX = argv\n")) == 80.0
    assert shape.import_percent({}) == 0.0


def test_a_tiny_module_has_one_importer_beside_it() -> None:
    modules = tree(
        p__tiny="X = 1\n", p__user="from p import tiny\n", p__shared="X = 1\n", p__other="import p.shared\n",
        q__far="import p.shared\n", p__large="X = 1\n" * 41, p__last="from p.large import X\n",
    )  # fmt: skip
    assert shape.tiny_modules(modules) == ["p.tiny: 1 lines, for p.user"]


def test_longest_modules_and_functions_are_named_with_their_length() -> None:
    modules = tree(
        a="def f():\n    pass\n\n\nclass C:\n    def g(self):\n        x = 1\n        return x\n", b="X = 1\n"
    )
    assert shape.longest_modules(modules) == ["a: 8", "b: 1"]
    assert shape.longest_functions(modules) == ["a.C.g: 3", "a.f: 2"]


@pytest.mark.parametrize(
    ("source", "forwards"),
    [
        ("def f(a, b):\n    return g(a, b)\n", True),
        ('def f(a, *rest, **named):\n    """Docs."""\n    return g(1, a, *rest, **named)\n', True),
        ("async def f(self, a):\n    await self.g(a)\n", True),
        ("def f(a, b):\n    return g(a)\n", False),
        ("def f():\n    return g()\n", False),
        ("def f(a):\n    x = a\n    return g(x)\n", False),
        ("def f(a):\n    return g(a + 1)\n", False),
    ],
)
def test_a_function_that_forwards_passes_all_it_gets(source: str, forwards: bool) -> None:
    assert shape.forwarding(tree(a=source)) == forwards


def test_functions_of_one_statement_do_something() -> None:
    assert shape.one_statement(tree(a='def f():\n    """Docs."""\n    return 1\n\n\ndef g():\n    ...\n')) == 1


STRUCTS = """\
    from typing import NamedTuple
    import msgspec

    class Base(msgspec.Struct):
        store: str
        op_id: str

    class One(Base):
        a: int
        b: int
        c: int
        d: int

    class Two(NamedTuple):
        a: int
        b: int
        c: int
        e: int

    class Three(Base):
        f: int
        g: int
"""


def test_structs_that_declare_the_same_fields_are_pairs() -> None:
    found = shape.structs(tree(a=STRUCTS))
    assert [each.name for each in found] == ["a.Base", "a.One", "a.Three", "a.Two"]
    assert shape.pairs_of_declared(found) == 0  # three of four are shared, and PAIR_FIELDS is four
    wider = shape.structs(tree(a=STRUCTS.replace("        e: int", "        e: int\n        d: int")))
    assert shape.pairs_of_declared(wider) == 1
    assert shape.pairs_with_inherited(wider) == 1  # what One and Three inherit from one class is declared once


def test_twins_are_named() -> None:
    fields = "".join(f"    f{number}: int\n" for number in range(6))
    source = f"import dataclasses\n@dataclasses.dataclass\nclass A:\n{fields}\nclass B(Struct):\n{fields}    g: int\n"
    assert shape.twins(shape.structs(tree(a=source))) == ["a.A / a.B: 6 of 6"]


def test_wording_is_counted() -> None:
    modules = tree(
        a='''\
        """Whether nobody reads it (spec 7.2)."""
        X = 1
        """What X is."""

        def f():
            """Return 1."""
            return 1  # whoever, somebody
        '''
    )
    assert shape.wording(modules) == {
        "persons": 3, "lines_with_citations": 1, "docstrings_what_whether_who": 1,
        "attribute_docstrings_what_whether_who": 1,
    }  # fmt: skip


def test_a_figure_that_is_not_as_stored_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, now = {"lines": 5, "files": {"pin": 3}, "twins": ["a / b"]}, {"lines": 6, "files": {"pin": 3}, "twins": []}
    path = tmp_path / "shape.json"
    path.write_text(shape.to_text(stored), encoding="utf-8")
    assert shape.check(path, stored) == 0
    assert capsys.readouterr() == ("", "")
    assert shape.check(path, now) == 1
    printed = capsys.readouterr()
    assert printed.out == "lines: 5 in docs/shape.json, now 6\ntwins: - a / b\n"
    assert "run `make shape`" in printed.err


@pytest.mark.parametrize("text", ["", "{", '{"lines":6}'])
def test_a_file_that_is_missing_or_broken_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "shape.json"
    if text:
        path.write_text(text, encoding="utf-8")
    assert shape.check(path, {"lines": 6}) == 1
    assert capsys.readouterr().out


def test_the_report_shows_stored_figures_beside_new_ones() -> None:
    text = shape.render({"lines": 6, "twins": ["a / b"]}, {"lines": 5})
    assert "lines" in text
    assert "a / b" in text
