"""Changing JSON without touching the rest of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl.setup.json_edit import (
    STRICT,
    Dialect,
    Node,
    Pointer,
    append_item,
    parse,
    remove_item,
    replace_value,
    source_of,
)
from tests.examples import examples
from tests.setup.json_files import JSONC, OBJECTS, VALUES, laid_out, written
from tests.tables import each_row


def containers(node: Node, path: Pointer = ()) -> list[tuple[Pointer, Node]]:
    if node.kind == "scalar":
        return []
    return [(path, node), *(found for item in node.items for found in containers(item.node, (*path, item.key)))]


def put_in(value: Any, pointer: Pointer, key: str | None, new: object) -> Any:
    changed = json.loads(json.dumps(value))
    place = changed
    for step in pointer:
        place = place[step]
    if key is None:
        place.append(new)
    else:
        place[key] = new
    return changed


@st.composite
def places(draw: Any, value: object) -> tuple[str, Dialect, Pointer, str | None]:
    dialect = draw(st.sampled_from([STRICT, JSONC]))
    text = draw(st.one_of(laid_out(value), written(value, dialect), written(value, dialect, "\r\n")))
    pointer, node = draw(st.sampled_from(containers(parse(text, dialect))))
    return text, dialect, pointer, "the new one" if node.kind == "object" else None


@examples(240, least=40)
@given(data=st.data(), value=OBJECTS, new=VALUES)
def test_what_is_appended_is_there_and_taking_it_out_leaves_the_text_as_it_was(
    data: Any, value: dict[str, object], new: object
) -> None:
    text, dialect, pointer, key = data.draw(places(value))
    before = source_of(text, pointer, dialect)
    after = append_item(text, pointer, key, new, dialect)
    assert parse(after, dialect).plain() == put_in(value, pointer, key, new)
    node = next(node for path, node in containers(parse(after, dialect)) if path == pointer)
    empty = before if len(node.items) == 1 else None
    assert remove_item(after, (*pointer, node.items[-1].key), dialect, empty) == text


@examples(160, least=30)
@given(data=st.data(), value=OBJECTS, new=VALUES, later=VALUES)
def test_it_can_be_taken_out_also_when_something_was_appended_behind_it(
    data: Any, value: dict[str, object], new: object, later: object
) -> None:
    text, dialect, pointer, key = data.draw(places(value))
    ours = append_item(text, pointer, key, new, dialect)
    after = append_item(ours, pointer, key and "later", later, dialect)
    node = next(node for path, node in containers(parse(after, dialect)) if path == pointer)
    left = remove_item(after, (*pointer, node.items[-2].key), dialect)
    assert parse(left, dialect).plain() == put_in(value, pointer, key and "later", later)


@examples(80)
@given(data=st.data(), value=OBJECTS.filter(bool), new=VALUES)
def test_replacing_changes_nothing_but_the_value(data: Any, value: dict[str, object], new: object) -> None:
    text, dialect, pointer, _ = data.draw(places(value))
    items = next(node for path, node in containers(parse(text, dialect)) if path == pointer).items
    if not items:
        return
    key = data.draw(st.sampled_from([item.key for item in items]))
    old = next(item for item in items if item.key == key)
    after = replace_value(text, (*pointer, key), new, dialect)
    assert after.startswith(text[: old.node.start])
    assert after.endswith(text[old.node.end :])
    found = next(node for path, node in containers(parse(after, dialect)) if path == pointer)
    assert next(item.node.plain() for item in found.items if item.key == key) == new


@each_row(
    ("before", "after"),
    [
        ('{\n  "a": {"b": [], "c": 1}\n}', '{\n  "a": {"b": [], "c": 1},\n  "k": [\n    1\n  ]\n}'),
        ("{}\n", '{\n  "k": [\n    1\n  ]\n}\n'),
        ('{"a":1,"b":2}', '{"a":1,"b":2,"k":[1]}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2, "k": [1]}'),
        ('{\r\n\t"a": 1\r\n}\r\n', '{\r\n\t"a": 1,\r\n\t"k": [\r\n\t\t1\r\n\t]\r\n}\r\n'),
        (
            '{\n    "a": {\n        "b": 1\n    }\n}',
            '{\n    "a": {\n        "b": 1\n    },\n    "k": [\n        1\n    ]\n}',
        ),
    ],
)
def test_what_is_put_in_looks_like_its_neighbours(before: str, after: str) -> None:
    assert append_item(before, (), "k", [1]) == after


def test_what_shares_a_line_goes_on_sharing_it() -> None:
    assert append_item('{\n  "a": {"b": []}\n}', ("a", "b"), None, {"c": [1, 2]}) == (
        '{\n  "a": {"b": [{"c": [1, 2]}]}\n}'
    )


def test_a_comment_stays_with_what_it_is_about() -> None:
    text = '{\n  "a": 1, // one\n  "b": 2 // two\n  // none\n}\n'
    after = append_item(text, (), "k", 3, JSONC)
    assert after == '{\n  "a": 1, // one\n  "b": 2, // two\n  // none\n  "k": 3\n}\n'
    assert remove_item(after, ("k",), JSONC) == text


def test_a_trailing_comma_stays_one() -> None:
    text = "[\n  1, // one\n]"
    after = append_item(text, (), None, 2, JSONC)
    assert after == "[\n  1, // one\n  2,\n]"
    assert remove_item(after, (1,), JSONC) == text


def test_what_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(LookupError):
        append_item("{}", ("a",), "k", 1)
