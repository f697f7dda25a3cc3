"""Reading JSON with its places."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl.setup.json_edit import MAX_DEPTH, STRICT, Dialect, JsonProblem, Node, find, parse
from tests.examples import examples
from tests.setup.json_files import JSONC, OBJECTS, VALUES, written
from tests.tables import each_row


@examples(300)
@given(data=st.data(), value=VALUES)
def test_it_reads_what_was_written_however_it_was_written(data: Any, value: object) -> None:
    dialect = data.draw(st.sampled_from([STRICT, JSONC]))
    assert parse(data.draw(written(value, dialect)), dialect).plain() == value


def _nodes(node: Node) -> list[Node]:
    return [node, *(below for item in node.items for below in _nodes(item.node))]


@examples(200)
@given(data=st.data(), value=OBJECTS)
def test_each_part_stands_where_it_says(data: Any, value: dict[str, object]) -> None:
    text = data.draw(written(value, STRICT))
    for node in _nodes(parse(text)):
        assert json.loads(text[node.start : node.end]) == node.plain()
        for item in node.items:
            assert item.end == item.node.end
            if isinstance(item.key, str):
                assert json.loads("{" + text[item.start : item.end] + "}") == {item.key: item.node.plain()}


@examples(400, least=50)
@given(data=st.data(), value=VALUES)
def test_it_refuses_exactly_what_the_standard_reader_refuses(data: Any, value: object) -> None:
    text = data.draw(written(value, STRICT))
    at = data.draw(st.integers(0, len(text)))
    broken = (
        text[:at]
        + data.draw(st.sampled_from(["", "}", "{", '"', ",", "\\", "]", "1", "\x01", "/**/", "x"]))
        + text[at + 1 :]
    )
    try:
        expected = json.loads(broken, parse_constant=_no_constant)
    except ValueError:
        with pytest.raises(JsonProblem):
            parse(broken)
    else:
        assert parse(broken).plain() == expected


def _no_constant(name: str) -> object:
    raise ValueError(name)


@each_row(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        (" \n ", 2, "empty"),
        ('{"a": 1,\n "b": 2\n "c": 3}', 3, '"," or "}" was expected'),
        ('{"a": 1,\n}', 1, 'there is a comma before "}"'),
        ("{'a': 1}", 1, "a name in quotes was expected"),
        ('{"a" 1}', 1, '":" was expected'),
        ('{\n"a": 01}', 2, "was expected"),
        ('{"a": NaN}', 1, "a value was expected, not 'NaN}'"),
        ('{"a": 1}\n{"b": 2}', 2, "something follows the end"),
        ("// c\n{}", 1, "a value was expected"),
        ('{"a": "x\ny"}', 1, "a value was expected"),
        ("[" * (MAX_DEPTH + 1), 1, "more than"),
        ('{"a": ', 1, "the end of the file"),
    ],
)
def test_what_does_not_parse_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(JsonProblem) as raised:
        parse(text)
    assert raised.value.line == line
    assert words in str(raised.value)


def test_comments_and_trailing_commas_are_allowed_each_by_itself() -> None:
    with pytest.raises(JsonProblem):
        parse("[1,]", Dialect(comments=True))
    with pytest.raises(JsonProblem):
        parse("[1 /* a */]", Dialect(trailing_commas=True))
    assert parse("[1 /* a */]", Dialect(comments=True)).plain() == [1]
    with pytest.raises(JsonProblem):
        parse("[1 /* a ]", Dialect(comments=True))


def test_a_name_that_stands_twice_is_refused_only_where_it_is_looked_for() -> None:
    text = '{"a": 1,\n"a": 2, "b": {"c": 3}}'
    root = parse(text)
    assert root.plain() == {"a": 2, "b": {"c": 3}}
    found = find(text, root, ("b", "c"))
    assert found is not None
    assert found.value == 3
    assert find(text, root, ("b", 0)) is None
    with pytest.raises(JsonProblem, match="lines 1 and 2"):
        find(text, root, ("a",))
