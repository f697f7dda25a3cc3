"""The measures of the shape report, on small sources made up for each."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from benchmarks import shape
from benchmarks.shape import Module, parse_module
from tests.tables import each_row


def tree(**sources: str) -> dict[str, Module]:
    """Modules by dotted name; two underscores stand for a dot."""
    named = {name.replace("__", "."): dedent(source) for name, source in sources.items()}
    return {name: parse_module(name, source) for name, source in named.items()}


def test_private_helpers_used_once_are_counted() -> None:
    source = """\
        def _once(): ...
        def _twice(): ...
        def public(): ...
        class C:
            def __init__(self): self._step()
            def _step(self): return _once() + _twice() + _twice() + public()
    """
    assert shape.single_use_helpers(tree(a=source)) == 2


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


@each_row(("budget", "status"), [(4, 0), (3, 0), (2, 1)])
def test_only_lines_above_the_budget_fail(tmp_path: Path, budget: int, status: int) -> None:
    for file, lines in (("mnemond/a.py", 2), ("mnemonctl/b/c.py", 1), ("tests/d.py", 9)):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("X = 1\n" * lines)
    (tmp_path / "docs").mkdir()
    (tmp_path / shape.FILE).write_text(f'{{"lines": {budget}}}\n')
    assert shape.main(["--check", "--root", str(tmp_path)]) == status
